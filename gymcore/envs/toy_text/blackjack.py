"""Blackjack: get closer to 21 than the dealer without exceeding it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gymcore import spaces
from gymcore.core import Info, Options
from gymcore.envs.toy_text.figures import Pen
from gymcore.envs.toy_text.tabular import FixedList
from gymcore.envs.toy_text.utils import check_render_mode
from gymcore.error import InvalidArgument
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import flag
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.frames import drawing_object
from gymcore.rendering.shapes import Color, Point, blank
from gymcore.rendering.text import render_text

if TYPE_CHECKING:
    import pygame

SUITS = ("C", "D", "H", "S")
FACES = ("J", "Q", "K")


class Hand(FixedList[int]):
    """The cards of `player` or `dealer`, which compiled code holds."""

    reason = "player and dealer: append a card or assign a new hand; other changes have no effect"

    def __init__(self, env: BlackjackEnv, name: str) -> None:
        super().__init__(unpacked(env._columns(name)[f"{name}_cards"]))
        self._env, self._name = env, name

    def append(self, card: int, /) -> None:
        """Add a card to the hand."""
        self._env._take(self._name, [card])
        list.append(self, card)


def _hand(name: str) -> property:
    """Return the property `player` or `dealer`."""
    empty = dict.fromkeys((f"{name}_sum", f"{name}_ace", f"{name}_cards"), 0)

    def write(env: BlackjackEnv, cards: Sequence[int]) -> None:
        if not cards:
            raise InvalidArgument(f"{name}: expected at least one card")
        top = {"open_card": cards[0], "face": 0} if name == "dealer" else {}
        env._take(name, cards, **empty, **top)

    doc = f"The first twelve cards of the {name}, a new list; cards can be appended to it."
    return property(lambda env: Hand(env, name), write, doc=doc)


class BlackjackEnv(NativeDiscreteEnv[tuple[int, int, int]]):
    """A hand of blackjack against a dealer, from an endless deck.

    R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1.

    - Observation: a tuple of ints: the player's sum (4 to 31), the dealer's open card (1 to 10, 1
      is an ace), and whether the player has an ace that counts 11.
    - Actions: 0 stick, 1 hit. After a stick the dealer draws until reaching at least 17.
    - Reward: 1 for a win, 0 for a draw or an unfinished hand, -1 for a loss. With `sab` (the book's
      rules) an ace and a ten as the first two cards win against everything but the same; otherwise,
      with `natural`, they win 1.5.
    - Terminates when the player sticks or exceeds 21.

    Attributes: `natural`, `sab` (can be set at any time); after the first reset `player` and
    `dealer` (lists of cards), `dealer_top_card_suit`, `dealer_top_card_value_str`.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("Blackjack-v1")
        >>> env.reset(seed=3)
        ((7, 10, 0), {})
        >>> env.step(1)
        ((17, 10, 0), 0.0, False, False, {})
        >>> env.unwrapped.player
        [3, 4, 10]
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.blackjack"
    observation_method = "_get_obs"
    frame_size = (600, 500)
    screen = drawing_object("screen", "surface", absent=True)
    clock = drawing_object("clock", "clock", absent=True)

    natural = flag()
    sab = flag()

    def __init__(
        self, render_mode: str | None = None, natural: bool = False, sab: bool = False
    ) -> None:
        """Create a Blackjack table.

        Args:
            render_mode: Render mode: None, "human" or "rgb_array".
            natural: Whether an ace and a ten as the first two cards win 1.5.
            sab: Whether to use the rules of Sutton and Barto's book; `natural` then has no effect.
        """
        check_render_mode(self.metadata, render_mode)
        super().__init__(render_mode, natural=natural, sab=sab)
        self.observation_space = spaces.Tuple(
            (spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2))
        )
        self.action_space = spaces.Discrete(2)

    def reset(
        self, seed: int | None = None, options: Options = None
    ) -> tuple[tuple[int, int, int], Info]:
        """Deal a hand; see `Env.reset`. Arguments can be positional, as in Gymnasium."""
        return super().reset(seed=seed, options=options)

    def state_bounds(self) -> dict[str, tuple[float, float]]:
        """Return bounds of sums, aces, the first twelve cards of each hand, and the open card."""
        return {
            **dict.fromkeys(("player_sum", "dealer_sum"), (2, math.inf)),
            **dict.fromkeys(("player_ace", "dealer_ace"), (0, 1)),
            **dict.fromkeys(("player_cards", "dealer_cards"), (0x11, 16**12)),
            "open_card": (1, 10),
            "suit": (0, 3),
            "face": (0, 2),
        }

    def _columns(self, name: str) -> dict[str, int]:
        """Return the lane's state as a dict with the column names as keys."""
        state = self.state
        if state is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r} before reset()"
            )
        names = self._batch.spec["state_names"]
        return dict(zip(names, state.astype(np.int64).tolist(), strict=True))

    player, dealer = _hand("player"), _hand("dealer")

    def _take(self, name: str, cards: Sequence[int], **columns: int) -> None:
        """Add cards to a hand, after changing columns of the state."""
        columns = {**self._columns(name), **columns}
        for card in cards:
            if card not in deck:
                raise InvalidArgument(f"{name}: expected cards from 1 to 10, got {card!r}")
            columns[f"{name}_sum"] += card
            columns[f"{name}_ace"] |= card == 1
            if columns[f"{name}_cards"] < 16**11:
                columns[f"{name}_cards"] = 16 * columns[f"{name}_cards"] + card
        self.state = list(columns.values())

    def _set_top_card(self, column: str, choices: Sequence[str], value: str) -> None:
        if value not in choices:
            raise InvalidArgument(f"dealer_top_card: expected one of {choices}, got {value!r}")
        self._take("dealer", (), **{column: choices.index(value)})

    @property
    def dealer_top_card_suit(self) -> str:
        """Suit of the dealer's open card: C, D, H or S."""
        return SUITS[self._columns("dealer_top_card_suit")["suit"] % 4]

    @dealer_top_card_suit.setter
    def dealer_top_card_suit(self, value: str) -> None:
        self._set_top_card("suit", SUITS, value)

    @property
    def dealer_top_card_value_str(self) -> str:
        """Text on the dealer's open card: A, 2 to 9, J, Q or K."""
        columns = self._columns("dealer_top_card_value_str")
        return _card_texts(columns["open_card"])[columns["face"] % 3]

    @dealer_top_card_value_str.setter
    def dealer_top_card_value_str(self, value: str) -> None:
        self._set_top_card("face", _card_texts(self.dealer[0]), value)

    @staticmethod
    def draw(
        surface: pygame.Surface,
        state: Sequence[float],
        *,
        player: Sequence[int],
        dealer: Sequence[int],
        suit: str,
        value: str,
    ) -> None:
        """Draw one table on a surface with an aspect ratio of 6:5; every pixel is overwritten.

        The dealer's second card is face down until the dealer draws. `suit` (C, D, H or S) and
        `value` describe the dealer's first card; `state` is not used.
        """
        size = surface.get_size()
        surface.blit(_background(size), (0, 0))
        pen, height = Pen(surface, (0.0, 0.0), size[0]), size[1] / size[0]
        shown = [card_name(card) if len(dealer) > 2 else None for card in dealer[1:]]
        _write(pen, "Dealer", LABEL, (0.5, 0.085), 0.055)
        _draw_hand(pen, [value, *shown], suit, 0.13)
        total = sum(player)
        usable = 1 in player and total + 10 <= 21
        total += 10 * usable
        verdict = " (soft)" if usable else " (bust)" if total > 21 else ""
        _draw_hand(pen, [card_name(card) for card in player], None, height / 2 + 0.07)
        _write(pen, f"Player  {total}{verdict}", LABEL, (0.5, height - 0.075), 0.055)

    def draw_arguments(self) -> dict[str, object]:
        """Return the hands and the dealer's open card for drawing."""
        return {
            "player": self.player,
            "dealer": self.dealer,
            "suit": self.dealer_top_card_suit,
            "value": self.dealer_top_card_value_str,
        }


def _card_texts(card: int) -> tuple[str, str, str]:
    """Return the possible texts on the dealer's open card."""
    return FACES if card == 10 else (card_name(card),) * 3


def unpacked(cards: int) -> list[int]:
    """Return the cards encoded in a hexadecimal number, one per digit."""
    return [int(digit, 16) for digit in f"{max(0, cards):x}"]


BlackjackVectorEnv = NativeVectorEnv.of(BlackjackEnv)


# --- rendering -----------------------------------------------------------------------------------

WOOD: Color = (150, 112, 82)
FELT: Color = (88, 148, 116)
FELT_LINE: Color = (118, 172, 142)
PAPER: Color = (250, 248, 242)
EDGE: Color = (68, 122, 94)
BACK: Color = (92, 116, 162)
BACK_LINE: Color = (132, 154, 194)
RED: Color = (202, 84, 72)
INK: Color = (56, 62, 76)
LABEL: Color = (232, 244, 236)

CARD_WIDTH, CARD_HEIGHT = 0.155, 0.225  # as fractions of the image's width


@lru_cache(maxsize=4)
def _background(size: tuple[int, int]) -> pygame.Surface:
    """Return the empty table; cached, so callers must not draw on it."""
    surface = blank(size)
    surface.fill(WOOD)
    pen, height = Pen(surface, (0.0, 0.0), size[0]), size[1] / size[0]
    pen.box(EDGE, (0.022, 0.022), (0.978, height - 0.022), 0.06)
    pen.box(FELT, (0.03, 0.03), (0.97, height - 0.03), 0.055)
    pen.line(FELT_LINE, (0.14, height / 2), (0.86, height / 2), 0.006)
    return surface


def _write(pen: Pen, text: str, color: Color, center: Point, height: float) -> None:
    """Write text centered at a point; `height` is the height of a line."""
    line = render_text(text, max(8, round(height * pen.tile)), color)
    x, y = pen.at(center)
    pen.surface.blit(line, line.get_rect(center=(round(x), round(y))))


def _draw_suit(pen: Pen, suit: str, center: Point, size: float) -> None:
    """Draw a club, diamond, heart or spade."""
    x, y = center
    color = RED if suit in "DH" else INK

    def at(dx: float, dy: float) -> Point:
        return (x + dx * size, y + dy * size)

    if suit == "D":
        pen.shape(color, at(0.0, -0.5), at(0.38, 0.0), at(0.0, 0.5), at(-0.38, 0.0))
        return
    if suit == "H":
        for side in (-0.21, 0.21):
            pen.dot(color, at(side, -0.16), 0.25 * size)
        pen.shape(color, at(-0.42, -0.03), at(0.0, 0.48), at(0.42, -0.03), at(0.0, -0.2))
        return
    pen.shape(color, at(0.0, 0.05), at(0.16, 0.5), at(-0.16, 0.5))
    if suit == "C":
        for place in ((0.0, -0.25), (-0.25, 0.1), (0.25, 0.1)):
            pen.dot(color, at(*place), 0.23 * size)
        return
    for side in (-0.21, 0.21):
        pen.dot(color, at(side, 0.12), 0.24 * size)
    pen.shape(color, at(0.0, -0.5), at(0.43, 0.04), at(0.0, 0.2), at(-0.43, 0.04))


def _draw_card(pen: Pen, left: float, top: float, value: str | None, suit: str | None) -> None:
    """Draw a card: face down without a value, or only the value without a suit."""
    right, bottom = left + CARD_WIDTH, top + CARD_HEIGHT
    pen.box(EDGE, (left + 0.004, top + 0.006), (right + 0.006, bottom + 0.008), 0.018)
    pen.box(PAPER, (left, top), (right, bottom), 0.018)
    middle = ((left + right) / 2, (top + bottom) / 2)
    if value is None:
        pen.box(BACK, (left + 0.012, top + 0.012), (right - 0.012, bottom - 0.012), 0.012)
        for k in range(4):
            y = top + 0.045 + 0.045 * k
            pen.line(BACK_LINE, (left + 0.035, y), (right - 0.035, y), 0.008)
        return
    color = RED if suit is not None and suit in "DH" else INK
    if suit is None:
        _write(pen, value, color, middle, 0.12)
        return
    _write(pen, value, color, (left + 0.033, top + 0.036), 0.06)
    _draw_suit(pen, suit, (middle[0], middle[1] + 0.02), 0.085)


def card_name(card: int) -> str:
    """Return the text on a card: A or a number."""
    return "A" if card == 1 else str(card)


def _draw_hand(pen: Pen, values: Sequence[str | None], suit: str | None, top: float) -> None:
    """Draw cards in a row, overlapping if there are many; only the first one has a suit."""
    step = min(CARD_WIDTH + 0.02, (0.86 - CARD_WIDTH) / max(1, len(values) - 1))
    left = 0.5 - (step * (len(values) - 1) + CARD_WIDTH) / 2
    for k, value in enumerate(values):
        _draw_card(pen, left + k * step, top, value, suit if k == 0 else None)


# --- functions kept for programs that import them -------------------------------------------------

# One card of each rank; jack, queen and king count 10.
deck = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]


def cmp(a: float, b: float) -> float:
    """Return 1.0 if `a` is more than `b`, -1.0 if it is less, 0.0 if they are equal."""
    return float(a > b) - float(a < b)


def draw_card(np_random: np.random.Generator) -> int:
    """Return a card from an endless deck.

    Examples:
        >>> draw_card(np.random.default_rng(1))
        7
    """
    return int(np_random.choice(deck))


def draw_hand(np_random: np.random.Generator) -> list[int]:
    """Return two cards from an endless deck."""
    return [draw_card(np_random), draw_card(np_random)]


def usable_ace(hand: Sequence[int]) -> int:
    """Return 1 if the hand has an ace that can count 11 without exceeding 21, otherwise 0."""
    return int(1 in hand and sum(hand) + 10 <= 21)


def sum_hand(hand: Sequence[int]) -> int:
    """Return the points of the hand, with an ace as 11 if that does not exceed 21.

    Examples:
        >>> sum_hand([1, 5]), sum_hand([1, 5, 10])
        (16, 16)
    """
    return sum(hand) + 10 * usable_ace(hand)


def is_bust(hand: Sequence[int]) -> bool:
    """Return whether the hand has more than 21 points."""
    return sum_hand(hand) > 21


def score(hand: Sequence[int]) -> int:
    """Return the points of the hand, or 0 if they exceed 21."""
    return 0 if is_bust(hand) else sum_hand(hand)


def is_natural(hand: Sequence[int]) -> bool:
    """Return whether the hand consists of an ace and a ten."""
    return sorted(hand) == [1, 10]
