"""The picture of FrozenLake: ice, holes of dark water, a start, a flag, and a walker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gymcore.envs.classic_control.drawing.shapes import Color, blank
from gymcore.envs.toy_text.drawing.figures import Pen, draw_flag, draw_head, draw_walker

if TYPE_CHECKING:
    import pygame

ICE: Color = (223, 238, 246)
ICE_LINE: Color = (198, 221, 234)
GLINT: Color = (241, 248, 252)
RIM: Color = (178, 208, 225)
WATER: Color = (74, 124, 160)
DEEP: Color = (52, 96, 134)
WOOD: Color = (190, 158, 122)
PLANK: Color = (166, 134, 101)
# Where the walker looks after each action: left, down, right, up.
LOOKS = ((-1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, -1.0))


def _draw_tile(pen: Pen, letter: str, odd: bool) -> None:
    pen.fill(ICE)
    pen.line(GLINT, (0.18, 0.34), (0.34, 0.18), 0.035)
    if odd:
        pen.line(GLINT, (0.66, 0.84), (0.84, 0.66), 0.03)
    else:
        pen.line(GLINT, (0.72, 0.42), (0.82, 0.32), 0.03)
    if letter == "H":
        pen.dot(RIM, (0.5, 0.5), 0.40)
        pen.dot(WATER, (0.5, 0.52), 0.35)
        pen.dot(DEEP, (0.5, 0.56), 0.28)
    elif letter == "S":
        for row in range(3):
            top = 0.26 + 0.17 * row
            pen.box(PLANK if row % 2 else WOOD, (0.16, top), (0.84, top + 0.15), 0.03)
    elif letter == "G":
        draw_flag(pen)
    for start, end in (((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0))):
        pen.line(ICE_LINE, start, end, 0.024)


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], rows: tuple[str, ...]) -> pygame.Surface:
    """Return the lake without a walker; shared between calls, never drawn on again."""
    surface = blank(size)
    tile = size[0] / len(rows[0])
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            _draw_tile(Pen(surface, (c * tile, r * tile), tile), letter, (r + c) % 2 == 1)
    return surface


def draw_frozen_lake(surface: pygame.Surface, state: Sequence[float], *, desc: Any) -> None:
    """Draw one lake.

    Args:
        surface: what to draw on; overwritten entirely.
        state: `(s, lastaction, ...)`; -1 is no action.
        desc: the map, bytes [rows, columns].
    """
    rows = tuple("".join(chr(letter[0]) for letter in row) for row in desc.tolist())
    size = surface.get_size()
    surface.blit(_background(size, rows), (0, 0))
    row, col = divmod(int(state[0]), len(rows[0]))
    tile = size[0] / len(rows[0])
    pen = Pen(surface, (col * tile, row * tile), tile)
    look = LOOKS[int(state[1])] if 0 <= state[1] < 4 else (0.0, 1.0)
    if rows[row][col] == "H":
        pen.dot(WATER, (0.5, 0.58), 0.22)
        draw_head(pen, (0.5, 0.48), (0.0, 1.0))
        pen.box(DEEP, (0.30, 0.60), (0.70, 0.70), 0.05)
    else:
        draw_walker(pen, look)
