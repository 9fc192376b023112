"""The picture of LunarLander: a craft above moonlit hills, under stars."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gymcore.rendering.shapes import (
    Color,
    Pixels,
    Point,
    bar,
    blank,
    convex_polygon,
    disc,
    paint,
)

if TYPE_CHECKING:
    import pygame

SKY_TOP, SKY_BOTTOM = (9, 11, 28), (44, 46, 88)
GROUND: Color = (92, 94, 110)
GROUND_RIM: Color = (186, 188, 204)
PAD: Color = (240, 240, 246)
FLAG: Color = (250, 204, 64)
HULL: Color = (226, 226, 240)
HULL_EDGE: Color = (110, 104, 160)
WINDOW: Color = (96, 178, 232)
LEG: Color = (176, 172, 204)
LEG_EDGE: Color = (84, 80, 124)
# From the nozzle to where the smoke is gone.
FLAME_HOT, FLAME_COLD = (255, 236, 160), (226, 92, 40)

STARS = 90
RIM = 3.0  # pixels
FLAGPOLE = 36.0
FLAG_LENGTH, FLAG_HALF_HEIGHT = 19.0, 5.0


@lru_cache(maxsize=16)
def _background(
    size: tuple[int, int], ground: tuple[Point, ...], pad: tuple[float, float, float]
) -> pygame.Surface:
    """Return sky, ground and flags; shared between calls, never drawn on again.

    Args:
        size: of the picture.
        ground: corners of the ground from left to right, in pixels.
        pad: x of its two ends, and its y, in pixels.
    """
    import pygame

    width, height = size
    surface = blank(size)
    share = np.linspace(0.0, 1.0, height)[:, None, None]
    sky = np.asarray(SKY_TOP) + share * (np.asarray(SKY_BOTTOM) - np.asarray(SKY_TOP))
    pixels = np.ascontiguousarray(np.broadcast_to(np.rint(sky), (height, width, 3)), np.uint8)
    surface.blit(pygame.image.frombuffer(pixels.data, size, "RGB"), (0, 0))
    # The same sky in every picture.
    random = np.random.default_rng(7)
    for x, y, size_of, light in random.random((STARS, 4)).tolist():
        shade = 120 + int(130 * light)
        disc(surface, (shade, shade, min(shade + 15, 255)), (x * width, y * height), 0.4 + size_of)

    xs, ys = np.array(ground).T
    slopes = np.diff(ys) / np.diff(xs)
    center, reach = (width / 2.0, height / 2.0), (width / 2.0, height / 2.0)
    for depth, color in ((0.0, GROUND_RIM), (RIM, GROUND)):

        def above_ground(x: Pixels, y: Pixels, depth: float = depth) -> Pixels:
            columns = x[0] + center[0]
            rows = np.interp(columns, xs, ys) - center[1]
            piece = np.clip(np.searchsorted(xs, columns) - 1, 0, len(slopes) - 1)
            steepness = np.sqrt(1.0 + slopes[piece] ** 2)
            return ((rows - y) / steepness + depth).astype(np.float32)

        paint(surface, color, center, reach, above_ground)

    left, right, pad_y = pad
    bar(surface, PAD, (left, pad_y + 1.0), (right, pad_y + 1.0), 2.0, 1.0)
    for x in (left, right):
        # In the middle of a pixel column, where a line two pixels thick is sharp.
        x = float(round(x))
        top = pad_y - FLAGPOLE
        bar(surface, PAD, (x, pad_y), (x, top), 1.0, 0.5)
        pennant = [
            (x + 1.0, top),
            (x + FLAG_LENGTH, top + FLAG_HALF_HEIGHT),
            (x + 1.0, top + 2.0 * FLAG_HALF_HEIGHT),
        ]
        convex_polygon(surface, FLAG, pennant)
    return surface


def outlined(
    surface: pygame.Surface, fill: Color, edge: Color, points: Sequence[Point], width: float
) -> None:
    """Draw a convex polygon with an edge, `width` pixels thick, in another color."""
    convex_polygon(surface, fill, points)
    for start, end in zip(points, (*points[1:], points[0]), strict=True):
        bar(surface, edge, start, end, width / 2, 0.5)


def draw_lunar_lander(
    surface: pygame.Surface,
    *,
    ground: tuple[Point, ...],
    pad: tuple[float, float, float],
    hull: Sequence[Point],
    window: Point,
    legs: Sequence[tuple[Point, Sequence[Point]]],
    smoke: Sequence[tuple[float, float, float]],
) -> None:
    """Draw one lander; everything is in pixels, y down.

    Args:
        surface: what to draw on, usually 600 x 400 pixels; overwritten entirely.
        ground: the corners of the ground from left to right.
        pad: x of its two ends, and its y.
        hull: corners of the hull.
        window: the middle of its window.
        legs: of each leg, where its strut begins and its corners.
        smoke: x, y and age, 0 to 1, of each puff.
    """
    surface.blit(_background(surface.get_size(), ground, pad), (0, 0))
    for x, y, age in smoke:
        hot, cold = np.asarray(FLAME_HOT), np.asarray(FLAME_COLD)
        red, green, blue = np.rint(hot + age * (cold - hot)).astype(int).tolist()
        disc(surface, (red, green, blue), (x, y), 0.6 + 3.4 * (1.0 - age))
    for shoulder, leg in legs:
        foot_x = (leg[2][0] + leg[3][0]) / 2
        foot_y = (leg[2][1] + leg[3][1]) / 2
        bar(surface, LEG_EDGE, shoulder, (foot_x, foot_y), 1.2)
        outlined(surface, LEG, LEG_EDGE, leg, 1.0)
    outlined(surface, HULL, HULL_EDGE, hull, 1.6)
    disc(surface, HULL_EDGE, window, 5.0)
    disc(surface, WINDOW, window, 3.6)
