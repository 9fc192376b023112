"""The picture of Blackjack: a table of green felt with the dealer's hand above the player's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.envs.classic_control.drawing.shapes import Color, Point, blank
from gymcore.envs.toy_text.drawing.figures import Pen
from gymcore.rendering.text import render_text

if TYPE_CHECKING:
    import pygame

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

CARD_WIDTH, CARD_HEIGHT = 0.155, 0.225  # of the picture's width


@lru_cache(maxsize=4)
def _background(size: tuple[int, int]) -> pygame.Surface:
    """Return the empty table; shared between calls, never drawn on again."""
    surface = blank(size)
    surface.fill(WOOD)
    pen, height = Pen(surface, (0.0, 0.0), size[0]), size[1] / size[0]
    pen.box(EDGE, (0.022, 0.022), (0.978, height - 0.022), 0.06)
    pen.box(FELT, (0.03, 0.03), (0.97, height - 0.03), 0.055)
    pen.line(FELT_LINE, (0.14, height / 2), (0.86, height / 2), 0.006)
    return surface


def _write(pen: Pen, text: str, color: Color, center: Point, height: float) -> None:
    """Write with the middle at a point; `height` is that of a line."""
    picture = render_text(text, max(8, round(height * pen.tile)), color)
    x, y = pen.at(center)
    pen.surface.blit(picture, picture.get_rect(center=(round(x), round(y))))


def _draw_suit(pen: Pen, suit: str, center: Point, size: float) -> None:
    """A club, diamond, heart or spade."""
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
    """A card; one without a value lies face down, one without a suit shows its value alone."""
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


def draw_blackjack(
    surface: pygame.Surface,
    state: Sequence[float],
    *,
    player: Sequence[int],
    dealer: Sequence[int],
    suit: str,
    value: str,
) -> None:
    """Draw one table.

    Args:
        surface: what to draw on, six wide and five high; overwritten entirely.
        state: not looked at: the hands say it all.
        player: the player's cards, 1 to 10.
        dealer: the dealer's cards; the second one lies face down until the dealer draws.
        suit: of the dealer's first card: C, D, H or S.
        value: what is printed on it.
    """
    size = surface.get_size()
    surface.blit(_background(size), (0, 0))
    pen, height = Pen(surface, (0.0, 0.0), size[0]), size[1] / size[0]
    shown = [name(card) if len(dealer) > 2 else None for card in dealer[1:]]
    _write(pen, "Dealer", LABEL, (0.5, 0.085), 0.055)
    _draw_hand(pen, [value, *shown], suit, 0.13)
    total = sum(player)
    usable = 1 in player and total + 10 <= 21
    total += 10 * usable
    verdict = " (soft)" if usable else " (bust)" if total > 21 else ""
    _draw_hand(pen, [name(card) for card in player], None, height / 2 + 0.07)
    _write(pen, f"Player  {total}{verdict}", LABEL, (0.5, height - 0.075), 0.055)


def name(card: int) -> str:
    """What is printed on a card."""
    return "A" if card == 1 else str(card)


def _draw_hand(pen: Pen, values: Sequence[str | None], suit: str | None, top: float) -> None:
    """Cards in a row, overlapping where there are many; only the first one has a suit."""
    step = min(CARD_WIDTH + 0.02, (0.86 - CARD_WIDTH) / max(1, len(values) - 1))
    left = 0.5 - (step * (len(values) - 1) + CARD_WIDTH) / 2
    for k, value in enumerate(values):
        _draw_card(pen, left + k * step, top, value, suit if k == 0 else None)
