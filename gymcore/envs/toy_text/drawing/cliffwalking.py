"""The picture of CliffWalking: a meadow, a cliff below it, a path at each end, and a walker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.envs.classic_control.drawing.shapes import Color, blank
from gymcore.envs.toy_text.drawing.figures import Pen, draw_flag, draw_walker

if TYPE_CHECKING:
    import pygame

GRASS: Color = (196, 217, 163)
GRASS_LINE: Color = (180, 203, 146)
BLADE: Color = (158, 186, 122)
SAND: Color = (230, 214, 176)
SAND_LINE: Color = (214, 195, 153)
ROCK: Color = (134, 116, 104)
STRATA: Color = (114, 97, 87)
ABYSS: Color = (82, 70, 66)
EDGE: Color = (160, 184, 122)
ROWS, COLUMNS = 4, 12
START, GOAL = 36, 47
# Where the walker looks after each action: up, right, down, left.
LOOKS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))


def _draw_tile(pen: Pen, state: int) -> None:
    if START < state < GOAL:
        pen.fill(ROCK)
        pen.box(EDGE, (0.0, -0.02), (1.0, 0.10))
        shift = 0.12 * (state % 3)
        pen.line(STRATA, (0.08 + shift, 0.30), (0.52 + shift, 0.30), 0.05)
        pen.line(STRATA, (0.30 - shift / 2, 0.48), (0.86 - shift, 0.48), 0.05)
        pen.box(ABYSS, (0.0, 0.72), (1.0, 1.0))
        pen.line(ABYSS, (0.12 + shift, 0.66), (0.44 + shift, 0.66), 0.07)
        return
    on_path = state in (START, GOAL)
    pen.fill(SAND if on_path else GRASS)
    if not on_path:
        x = 0.24 + 0.17 * (state * 7 % 4)
        y = 0.34 + 0.13 * (state * 5 % 4)
        for lean in (-0.05, 0.0, 0.05):
            pen.line(BLADE, (x + lean / 2, y), (x + lean, y - 0.10), 0.022)
    if state == GOAL:
        draw_flag(pen)
    line = SAND_LINE if on_path else GRASS_LINE
    for start, end in (((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0))):
        pen.line(line, start, end, 0.02)


@lru_cache(maxsize=4)
def _background(size: tuple[int, int]) -> pygame.Surface:
    """Return the place without a walker; shared between calls, never drawn on again."""
    surface = blank(size)
    tile = size[0] / COLUMNS
    for state in range(ROWS * COLUMNS):
        row, col = divmod(state, COLUMNS)
        _draw_tile(Pen(surface, (col * tile, row * tile), tile), state)
    return surface


def draw_cliff_walking(surface: pygame.Surface, state: Sequence[float]) -> None:
    """Draw one cliff.

    Args:
        surface: what to draw on, three times as wide as high; overwritten entirely.
        state: `(s, lastaction, ...)`; -1 is no action.
    """
    size = surface.get_size()
    surface.blit(_background(size), (0, 0))
    row, col = divmod(int(state[0]), COLUMNS)
    tile = size[0] / COLUMNS
    look = LOOKS[int(state[1])] if 0 <= state[1] < 4 else (0.0, 1.0)
    draw_walker(Pen(surface, (col * tile, row * tile), tile), look)
