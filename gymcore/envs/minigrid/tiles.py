"""Pictures of cells, drawn as MiniGrid does: at three times the size, and then averaged.

Shapes, in fractions of a cell, are those of minigrid 3.2, so that every pixel is equal.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gymcore.envs.minigrid.levels import COLORS
from gymcore.error import InvalidArgument

_RGB = np.array(
    [(255, 0, 0), (0, 255, 0), (0, 0, 255), (112, 39, 195), (255, 255, 0), (100, 100, 100)]
)
_LAVA = np.array((255, 128, 0))
_RED, _GREY = _RGB[0], _RGB[5]

# Factor of the size at which cells are drawn.
_OVERSAMPLING = 3
# Number of values of kind | color << 4 | state << 7, which select the picture of a cell.
APPEARANCES = 512

Pixels = npt.NDArray[np.uint8]
# Returns which points of a cell, x and y from 0 to 1, belong to a shape.
Inside = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _rectangle(left: float, right: float, top: float, bottom: float) -> Inside:
    return lambda x, y: (x >= left) & (x <= right) & (y >= top) & (y <= bottom)


def _inset(edge: float) -> Inside:
    return _rectangle(edge, 1 - edge, edge, 1 - edge)


def _circle(x0: float, y0: float, radius: float) -> Inside:
    return lambda x, y: (x - x0) * (x - x0) + (y - y0) * (y - y0) <= radius * radius


def _line(x0: float, y0: float, x1: float, y1: float) -> Inside:
    begin, end = (np.array(point, np.float32) for point in ((x0, y0), (x1, y1)))
    length = np.linalg.norm(end - begin)
    direction = (end - begin) / length

    def inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        points = np.stack([x, y], axis=-1)
        along = np.clip((points - begin) @ direction.astype(np.float64), 0, length)
        nearest = begin + along[..., None] * direction
        return np.linalg.norm(points - nearest, axis=-1) <= 0.03

    return inside


def _agent(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return which points belong to the triangle of an agent that faces right."""
    corners = np.array([(0.12, 0.19), (0.87, 0.50), (0.12, 0.81)], np.float32)
    sides = corners[2] - corners[0], corners[1] - corners[0]
    from_corner = np.stack([x, y], axis=-1) - corners[0]
    # Barycentric coordinates of the points.
    dots = [[np.dot(one, other) for other in sides] for one in sides]
    along = [from_corner @ side.astype(np.float64) for side in sides]
    scale = 1 / (dots[0][0] * dots[1][1] - dots[0][1] * dots[0][1])
    u = (dots[1][1] * along[0] - dots[0][1] * along[1]) * scale
    v = (dots[0][0] * along[1] - dots[0][1] * along[0]) * scale
    return (u >= 0) & (v >= 0) & (u + v < 1)


_WAVES = [
    (_line(*one, *other), 0.0)
    for low, high in ((0.3 + 0.2 * k, 0.4 + 0.2 * k) for k in range(3))
    for one, other in itertools.pairwise(
        [(0.1, low), (0.3, high), (0.5, low), (0.7, high), (0.9, low)]
    )
]
_GRID_LINES = (_rectangle(0, 0.031, 0, 1), _rectangle(0, 1, 0, 0.031))
# Shapes by kind and state, from bottom to top, each with the brightness of its color.
_SHAPES: dict[tuple[int, int], list[tuple[Inside, float]]] = {
    (1, 0): [],
    (2, 0): [(_inset(0), 1)],  # wall
    (3, 0): [(_rectangle(0.031, 1, 0.031, 1), 0.5)],  # floor
    (4, 0): [(_rectangle(0.88, 1, 0, 1), 1), (_rectangle(0.92, 0.96, 0.04, 0.96), 0)],  # open door
    (4, 1): [
        *((_inset(0.04 * k), 1 - k % 2) for k in range(4)),
        (_circle(0.75, 0.50, 0.08), 1),
    ],
    (4, 2): [  # locked door
        (_inset(0), 1),
        (_rectangle(0.06, 0.94, 0.06, 0.94), 0.45),
        (_rectangle(0.52, 0.75, 0.50, 0.56), 1),
    ],
    (5, 0): [  # key
        (_rectangle(0.50, 0.63, 0.31, 0.88), 1),
        (_rectangle(0.38, 0.50, 0.59, 0.66), 1),
        (_rectangle(0.38, 0.50, 0.81, 0.88), 1),
        (_circle(0.56, 0.28, 0.190), 1),
        (_circle(0.56, 0.28, 0.064), 0),
    ],
    (6, 0): [(_circle(0.5, 0.5, 0.31), 1)],  # ball
    (7, 0): [  # box
        (_rectangle(0.12, 0.88, 0.12, 0.88), 1),
        (_rectangle(0.18, 0.82, 0.18, 0.82), 0),
        (_rectangle(0.16, 0.84, 0.47, 0.53), 1),
    ],
    (8, 0): [(_inset(0), 1)],  # goal
    (9, 0): [(_inset(0), 1), *_WAVES],  # lava
}


def draw_tile(
    kind: int, color: int, state: int, direction: int | None, highlight: bool, size: int
) -> Pixels:
    """Return the picture of a cell, uint8 [size, size, 3].

    Args:
        kind: MiniGrid's number of the object in it.
        color: MiniGrid's number of the color.
        state: State of a door: 0 open, 1 closed, 2 locked.
        direction: Direction of an agent in the cell, 0 right, 1 down, 2 left, 3 up; or None.
        highlight: Whether to lighten the colors.
        size: Side in pixels.
    """
    side = size * _OVERSAMPLING
    y, x = (np.indices((side, side)) + 0.5) / side
    rgb = _LAVA if kind == 9 else _RGB[color]
    pixels = np.zeros((side, side, 3), np.uint8)
    for line in _GRID_LINES:
        pixels[line(x, y)] = _GREY
    for inside, brightness in _SHAPES[kind, state]:
        pixels[inside(x, y)] = (brightness * rgb).astype(np.uint8)
    if direction is not None:
        pixels[np.rot90(_agent(x, y), -direction)] = _RED
    if highlight:
        lighter = pixels + 0.30 * (np.array((255, 255, 255), np.uint8) - pixels)
        pixels = lighter.clip(0, 255).astype(np.uint8)
    blocks = pixels.reshape(size, _OVERSAMPLING, size, _OVERSAMPLING, 3)
    return blocks.mean(axis=3).mean(axis=1).astype(np.uint8)


@functools.lru_cache(maxsize=16)
def tiles_of(size: int) -> tuple[Pixels, npt.NDArray[np.int32]]:
    """Return the pictures of all cells, and the index of the first picture of each cell.

    Args:
        size: Side in pixels.

    Returns:
        Pictures, uint8 [n, size, size, 3], and indices, int32 [512], by kind | color << 4 |
        state << 7. A cell has ten pictures: without an agent and with one in each direction, each
        first without and then with highlighting. Both arrays are shared: do not write to them.

    Raises:
        InvalidArgument: If the size is not 1 to 256.
    """
    if not 1 <= size <= 256:
        raise InvalidArgument(f"obs_tile_size, tile_size: expected 1 to 256 pixels, got {size}")
    tiles: list[Pixels] = []
    first = np.zeros(APPEARANCES, np.int32)
    for (kind, state), color in itertools.product(_SHAPES, range(len(COLORS))):
        first[kind | color << 4 | state << 7] = len(tiles)
        for direction, highlight in itertools.product((None, 0, 1, 2, 3), (False, True)):
            tiles.append(draw_tile(kind, color, state, direction, highlight, size))
    return np.array(tiles), first
