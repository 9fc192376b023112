"""Pictures of cells, as MiniGrid draws them: three times as large, and then averaged.

Shapes are those of minigrid 3.2, in fractions of a cell, so that every pixel is equal.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
_RGB = np.array(
    [(255, 0, 0), (0, 255, 0), (0, 0, 255), (112, 39, 195), (255, 255, 0), (100, 100, 100)]
)
_BLACK, _LINES, _LAVA, _AGENT = (0, 0, 0), (100, 100, 100), (255, 128, 0), (255, 0, 0)

# Cells are drawn so many times as large.
_OVERSAMPLING = 3
# What compiled code knows of the look of a cell: kind, color << 4, state << 7.
LOOKS = 512

Pixels = npt.NDArray[np.uint8]
# Says which points of a cell belong to a shape: x and y, 0 to 1, to bools.
Inside = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _rectangle(left: float, right: float, top: float, bottom: float) -> Inside:
    return lambda x, y: (x >= left) & (x <= right) & (y >= top) & (y <= bottom)


def _circle(center_x: float, center_y: float, radius: float) -> Inside:
    return lambda x, y: (
        (x - center_x) * (x - center_x) + (y - center_y) * (y - center_y) <= radius * radius
    )


def _line(x0: float, y0: float, x1: float, y1: float, radius: float) -> Inside:
    begin, end = (np.array(point, np.float32) for point in ((x0, y0), (x1, y1)))
    length = np.linalg.norm(end - begin)
    direction = (end - begin) / length

    def inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        points = np.stack([x, y], axis=-1)
        along = np.clip((points - begin) @ direction.astype(np.float64), 0, length)
        nearest = begin + along[..., None] * direction
        distance = np.linalg.norm(points - nearest, axis=-1)
        around = _rectangle(
            *(min(x0, x1) - radius, max(x0, x1) + radius),
            *(min(y0, y1) - radius, max(y0, y1) + radius),
        )
        return around(x, y) & (distance <= radius)

    return inside


def _agent(direction: int) -> Inside:
    """Return a triangle that points to the right, turned."""
    corners = np.array([(0.12, 0.19), (0.87, 0.50), (0.12, 0.81)], np.float32)
    sides = corners[2] - corners[0], corners[1] - corners[0]
    turn = -0.5 * math.pi * direction

    def inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = x - 0.5, y - 0.5
        points = np.stack(
            [
                0.5 + x * math.cos(turn) - y * math.sin(turn),
                0.5 + y * math.cos(turn) + x * math.sin(turn),
            ],
            axis=-1,
        )
        from_corner = points - corners[0]
        # Barycentric coordinates of the points.
        dots = [[np.dot(one, other) for other in sides] for one in sides]
        along = [from_corner @ side.astype(np.float64) for side in sides]
        scale = 1 / (dots[0][0] * dots[1][1] - dots[0][1] * dots[0][1])
        u = (dots[1][1] * along[0] - dots[0][1] * along[1]) * scale
        v = (dots[0][0] * along[1] - dots[0][1] * along[0]) * scale
        return (u >= 0) & (v >= 0) & (u + v < 1)

    return inside


def _shapes(kind: int, rgb: np.ndarray, state: int) -> list[tuple[Inside, object]]:
    """Return the shapes of what a cell holds, with their colors, the lowest first."""
    whole = _rectangle(0, 1, 0, 1)
    if kind in (2, 8):  # wall, goal
        return [(whole, rgb)]
    if kind == 3:  # floor
        return [(_rectangle(0.031, 1, 0.031, 1), rgb / 2)]
    if kind == 4 and state == 0:  # an open door
        return [
            (_rectangle(0.88, 1.00, 0.00, 1.00), rgb),
            (_rectangle(0.92, 0.96, 0.04, 0.96), _BLACK),
        ]
    if kind == 4 and state == 2:  # a locked one
        inner = _rectangle(0.06, 0.94, 0.06, 0.94)
        return [(whole, rgb), (inner, 0.45 * rgb), (_rectangle(0.52, 0.75, 0.50, 0.56), rgb)]
    if kind == 4:
        frames = [(0.00, rgb), (0.04, _BLACK), (0.08, rgb), (0.12, _BLACK)]
        door = [(_rectangle(edge, 1 - edge, edge, 1 - edge), color) for edge, color in frames]
        return [*door, (_circle(0.75, 0.50, 0.08), rgb)]
    if kind == 5:  # key
        bars = [(0.50, 0.63, 0.31, 0.88), (0.38, 0.50, 0.59, 0.66), (0.38, 0.50, 0.81, 0.88)]
        ring = [(_circle(0.56, 0.28, 0.190), rgb), (_circle(0.56, 0.28, 0.064), _BLACK)]
        return [*((_rectangle(*bar), rgb) for bar in bars), *ring]
    if kind == 6:  # ball
        return [(_circle(0.5, 0.5, 0.31), rgb)]
    if kind == 7:  # box
        return [
            (_rectangle(0.12, 0.88, 0.12, 0.88), rgb),
            (_rectangle(0.18, 0.82, 0.18, 0.82), _BLACK),
            (_rectangle(0.16, 0.84, 0.47, 0.53), rgb),
        ]
    if kind == 9:  # lava, with waves
        waves = []
        for low, high in ((0.3 + 0.2 * k, 0.4 + 0.2 * k) for k in range(3)):
            ends = [(0.1, low), (0.3, high), (0.5, low), (0.7, high), (0.9, low)]
            waves += [
                (_line(*one, *other, 0.03), _BLACK) for one, other in itertools.pairwise(ends)
            ]
        return [(whole, _LAVA), *waves]
    return []


def draw_tile(
    kind: int, color: int, state: int, direction: int | None, highlight: bool, size: int
) -> Pixels:
    """Return the picture of a cell, uint8 [size, size, 3].

    Args:
        kind: MiniGrid's number of what it holds.
        color: MiniGrid's number of its color.
        state: Of a door: 0 open, 1 closed, 2 locked.
        direction: Where an agent in the cell looks: 0 right, 1 down, 2 left, 3 up; or None.
        highlight: Whether the cell is shown in a lighter color.
        size: Pixels of a side.
    """
    side = size * _OVERSAMPLING
    y, x = (np.indices((side, side)) + 0.5) / side
    pixels = np.zeros((side, side, 3), np.uint8)
    shapes: list[tuple[Inside, object]] = [
        (_rectangle(0, 0.031, 0, 1), _LINES),
        (_rectangle(0, 1, 0, 0.031), _LINES),
    ]
    shapes += _shapes(kind, _RGB[color], state)
    if direction is not None:
        shapes.append((_agent(direction), _AGENT))
    for inside, rgb in shapes:
        pixels[inside(x, y)] = np.asarray(rgb).astype(np.uint8)
    if highlight:
        lighter = pixels + 0.30 * (np.array((255, 255, 255), np.uint8) - pixels)
        pixels = lighter.clip(0, 255).astype(np.uint8)
    blocks = pixels.reshape(size, _OVERSAMPLING, size, _OVERSAMPLING, 3)
    return blocks.mean(axis=3).mean(axis=1).astype(np.uint8)


@functools.lru_cache(maxsize=16)
def tiles_of(size: int) -> tuple[Pixels, npt.NDArray[np.int32]]:
    """Return the pictures of all cells, and where those of each look begin.

    Args:
        size: Pixels of a side.

    Returns:
        uint8 [n, size, size, 3], and int32 [512]: of a look (kind, color << 4, state << 7) the
        first of ten tiles, without an agent and with one of each direction, each of them not
        highlighted and highlighted. Both are shared: do not write to them.
    """
    tiles: list[Pixels] = []
    first = np.zeros(LOOKS, np.int32)
    for kind in range(1, 10):
        for color in range(1 if kind == 1 else len(COLORS)):
            for state in range(3 if kind == 4 else 1):
                first[kind | color << 4 | state << 7] = len(tiles)
                for direction in (None, 0, 1, 2, 3):
                    for highlight in (False, True):
                        tiles.append(draw_tile(kind, color, state, direction, highlight, size))
    return np.array(tiles), first
