"""Blackjack: get closer to 21 than the dealer without going beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gymcore import error, spaces
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Parameter
from gymcore.envs.toy_text.blackjack_hands import (
    cmp,
    deck,
    draw_card,
    draw_hand,
    is_bust,
    is_natural,
    score,
    sum_hand,
    usable_ace,
)
from gymcore.native.vector_env import NativeVectorEnv

__all__ = [
    "BlackjackEnv",
    "BlackjackVectorEnv",
    "cmp",
    "deck",
    "draw_card",
    "draw_hand",
    "is_bust",
    "is_natural",
    "score",
    "sum_hand",
    "usable_ace",
]

SUITS = ("C", "D", "H", "S")
FACES = ("J", "Q", "K")


def _flag() -> Parameter:
    return Parameter(
        encode=lambda value: (float(bool(value)),), decode=lambda columns: bool(columns[0])
    )


class BlackjackEnv(NativeDiscreteEnv):
    """A hand of blackjack against a dealer, from an endless deck.

    R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1.

    - Observation: a tuple of ints: the player's sum (4 to 31), the dealer's open card (1 to 10, 1
      is an ace), and whether the player has an ace that counts 11.
    - Actions: 0 stick, 1 hit. The dealer then draws up to 17.
    - Reward: 1 won, 0 drawn or not over, -1 lost. With `sab` (the book's rules) an ace and a ten
      of two cards wins against all but the same; else, with `natural`, it wins 1.5.
    - Terminates when the player sticks or goes beyond 21.

    Attributes: `natural`, `sab` (may be set at any time); after the first reset `player` and
    `dealer` (lists of cards), `dealer_top_card_suit`, `dealer_top_card_value_str`.

    Example:
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
    picture_size = (600, 500)

    natural = _flag()
    sab = _flag()

    def __init__(
        self, render_mode: str | None = None, natural: bool = False, sab: bool = False
    ) -> None:
        """Sit down at a table.

        Args:
            render_mode: None, "human" or "rgb_array".
            natural: whether an ace and a ten of two cards wins 1.5.
            sab: the rules of Sutton and Barto's book; `natural` is then without effect.
        """
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise error.UnsupportedMode(
                f"render_mode: expected None or one of {modes}, got {render_mode!r}"
            )
        super().__init__(render_mode, natural=natural, sab=sab)
        self.observation_space = spaces.Tuple(
            (spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2))
        )
        self.action_space = spaces.Discrete(2)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Deal; see `Env.reset`. By position too, as in Gymnasium's Blackjack."""
        return super().reset(seed=seed, options=options)

    def _columns(self, name: str) -> dict[str, int]:
        """The lane's state by the names of its columns, and the dealer's open card."""
        state = self.state
        if state is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r} before reset()"
            )
        names = self.kernel_facts()["state_names"]
        columns = dict(zip(names, state.astype(np.int64).tolist(), strict=True))
        # The dealer's open card: the lowest bits of the table (gymcore_ext/physics/blackjack.pyx).
        table = columns["table"]
        return {**columns, "suit": table & 3, "face": table >> 2 & 3, "top": table >> 4 & 15}

    @property
    def player(self) -> list[int]:
        """The player's cards, a new list; of a hand of more than twelve the first twelve."""
        return unpacked(self._columns("player")["player_cards"])

    @property
    def dealer(self) -> list[int]:
        """The dealer's cards, the open one first; a new list."""
        return unpacked(self._columns("dealer")["dealer_cards"])

    @property
    def dealer_top_card_suit(self) -> str:
        """Suit of the dealer's open card: C, D, H or S."""
        return SUITS[self._columns("dealer_top_card_suit")["suit"]]

    @property
    def dealer_top_card_value_str(self) -> str:
        """What is printed on the dealer's open card: A, 2 to 9, J, Q or K."""
        columns = self._columns("dealer_top_card_value_str")
        card = columns["top"]
        return "A" if card == 1 else FACES[columns["face"] % 3] if card == 10 else str(card)

    @classmethod
    def draw(cls) -> Callable[..., None]:
        """The function that draws a table."""
        from gymcore.envs.toy_text.drawing import draw_blackjack

        return draw_blackjack

    def scene(self) -> dict[str, Any]:
        """The hands, and the dealer's open card."""
        return {
            "player": self.player,
            "dealer": self.dealer,
            "suit": self.dealer_top_card_suit,
            "value": self.dealer_top_card_value_str,
        }


def unpacked(cards: int) -> list[int]:
    """Cards of four bits each, from the highest bits on."""
    return [int(digit, 16) for digit in f"{max(0, cards):x}"]


class BlackjackVectorEnv(NativeVectorEnv):
    """Many hands of blackjack in one batch; see `NativeVectorEnv`."""

    env_class = BlackjackEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        natural: Any = False,
        sab: Any = False,
        **options: Any,
    ) -> None:
        """Make the batch; `options` are those of `NativeVectorEnv`."""
        super().__init__(
            num_envs, max_episode_steps, render_mode, natural=natural, sab=sab, **options
        )
