"""Pictures of warehouses with shelves, robots and goals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pygame

CELL = 31
"""Side of a cell with one of its lines, in pixels."""

_BLACK, _WHITE, _GRAY = (0, 0, 0), (255, 255, 255), (60, 60, 60)
_SHELF, _REQUESTED = (72, 61, 139), (0, 128, 128)
_ROBOT, _LOADED = (255, 140, 0), (255, 0, 0)
# Steps in x and y of a robot's directions: up, down, left, right.
_STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))
_RADIUS = 10
_PADDING = 2


def draw_warehouse(surface: pygame.Surface, goals: npt.NDArray[np.intp], lane: np.void) -> None:
    """Draw lines between cells, goals, shelves and robots.

    Args:
        surface: A surface of `columns * CELL + 1` times `rows * CELL + 1` pixels.
        goals: Cells of goals.
        lane: The state of the world: its fields are those of `lane_t` in warehouse.pyx.
    """
    import pygame
    import pygame.freetype

    pygame.freetype.init()
    font = pygame.freetype.Font(None, 24)
    width, height = surface.get_size()
    surface.fill(_WHITE)
    for x in range(0, width, CELL):
        pygame.draw.line(surface, _BLACK, (x, 0), (x, height))
    for y in range(0, height, CELL):
        pygame.draw.line(surface, _BLACK, (0, y), (width, y))
    columns = lane["shelf_in"].shape[1]
    for cell in goals.tolist():
        left, top = cell % columns * CELL + 1, cell // columns * CELL + 1
        surface.fill(_GRAY, (left, top, CELL - 1, CELL - 1))
        box = font.get_rect("G")
        place = (left + (CELL - 1 - box.width) / 2, top + (CELL - 1 - box.height) / 2)
        font.render_to(surface, place, "G", _WHITE)
    side = CELL - 1 - 2 * _PADDING
    for row, column in np.argwhere(lane["shelf_in"]).tolist():
        requested = lane["requested"][lane["shelf_in"][row, column] - 1]
        corner = (column * CELL + 1 + _PADDING, row * CELL + 1 + _PADDING)
        surface.fill(_REQUESTED if requested else _SHELF, (*corner, side, side))
    for cell, direction, loaded, *_ in lane["robots"].tolist():
        x, y = cell % columns * CELL + CELL // 2 + 1, cell // columns * CELL + CELL // 2 + 1
        corners = [
            (x + _RADIUS * math.cos(k * math.pi / 3), y + _RADIUS * math.sin(k * math.pi / 3))
            for k in range(6)
        ]
        pygame.draw.polygon(surface, _LOADED if loaded else _ROBOT, corners)
        right, down = _STEPS[direction]
        pygame.draw.line(surface, _BLACK, (x, y), (x + _RADIUS * right, y + _RADIUS * down))
