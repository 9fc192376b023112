"""Pictures of fields with players and food."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pygame

CELL = 51
"""Side of a cell with one of its lines, in pixels."""

_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_RED, _GREEN, _BLUE = (205, 35, 35), (60, 130, 40), (50, 90, 160)


def draw_field(surface: pygame.Surface, rows: int, columns: int, lane: np.void) -> None:
    """Draw the lines of a field, apples, players, and their levels.

    Args:
        surface: A surface of `columns * CELL + 1` times `rows * CELL + 1` pixels.
        rows: Number of rows.
        columns: Number of columns.
        lane: The state of the world, whose fields are those of `lane_t` in foraging.pyx.
    """
    import pygame
    import pygame.freetype

    pygame.freetype.init()
    font = pygame.freetype.Font(None, 16)
    surface.fill(_WHITE)
    for k in range(rows + 1):
        pygame.draw.line(surface, _BLACK, (0, k * CELL), (columns * CELL, k * CELL))
    for k in range(columns + 1):
        pygame.draw.line(surface, _BLACK, (k * CELL, 0), (k * CELL, rows * CELL))
    for kind, draw in (("foods", _draw_apple), ("players", _draw_player)):
        for row, column, level in lane[kind].tolist():
            if level:
                left, top = column * CELL, row * CELL
                draw(surface, left + CELL // 2, top + CELL // 2)
                _draw_badge(surface, font, left + 0.75 * CELL, top + 0.75 * CELL, str(level))


def _draw_apple(surface: pygame.Surface, x: int, y: int) -> None:
    import pygame

    pygame.draw.circle(surface, _RED, (x - 6, y + 3), 13)
    pygame.draw.circle(surface, _RED, (x + 6, y + 3), 13)
    pygame.draw.line(surface, _BLACK, (x, y - 7), (x + 2, y - 18), 3)
    pygame.draw.ellipse(surface, _GREEN, (x + 3, y - 19, 14, 8))


def _draw_player(surface: pygame.Surface, x: int, y: int) -> None:
    import pygame

    pygame.draw.circle(surface, _BLUE, (x, y - 10), 9)
    pygame.draw.circle(surface, _BLUE, (x, y + 18), 16, draw_top_left=True, draw_top_right=True)


def _draw_badge(
    surface: pygame.Surface, font: pygame.freetype.Font, x: float, y: float, text: str
) -> None:
    import pygame

    corners = [
        (x + 10 * math.cos(k * math.pi / 3), y + 10 * math.sin(k * math.pi / 3)) for k in range(6)
    ]
    pygame.draw.polygon(surface, _WHITE, corners)
    pygame.draw.polygon(surface, _BLACK, corners, 1)
    box = font.get_rect(text)
    font.render_to(surface, (x - box.width / 2, y - box.height / 2), text, _BLACK)
