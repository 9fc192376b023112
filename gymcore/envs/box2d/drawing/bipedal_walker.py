"""The picture of BipedalWalker: a walker on a meadow, seen from the side, clouds behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gymcore.envs.box2d.drawing.lunar_lander import outlined
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

SKY_TOP, SKY_BOTTOM = (176, 205, 238), (236, 243, 250)
CLOUD: Color = (226, 236, 247)
GRASS: Color = (108, 158, 84)
EARTH: Color = (134, 112, 84)
STONE: Color = (206, 204, 196)
STONE_EDGE: Color = (138, 136, 130)
HULL: Color = (134, 104, 190)
HULL_EDGE: Color = (82, 58, 132)
# The leg behind, darker, and the one in front.
LEGS: tuple[tuple[Color, Color], ...] = (
    ((166, 108, 146), (110, 62, 98)),
    ((202, 142, 178), (128, 78, 114)),
)
RAY: Color = (226, 66, 66)
FLAG: Color = (230, 72, 60)
POLE: Color = (70, 70, 76)

TURF = 9.0  # pixels of grass
FLAGPOLE = 50.0


@lru_cache(maxsize=4)
def _sky(size: tuple[int, int]) -> pygame.Surface:
    """Return the sky; shared between calls, never drawn on again."""
    import pygame

    width, height = size
    surface = blank(size)
    share = np.linspace(0.0, 1.0, height)[:, None, None]
    sky = np.asarray(SKY_TOP) + share * (np.asarray(SKY_BOTTOM) - np.asarray(SKY_TOP))
    pixels = np.ascontiguousarray(np.broadcast_to(np.rint(sky), (height, width, 3)), np.uint8)
    surface.blit(pygame.image.frombuffer(pixels.data, size, "RGB"), (0, 0))
    return surface


def _draw_ground(surface: pygame.Surface, ground: Sequence[Point]) -> None:
    """Draw earth under turf; `ground` is its outline from left to right, in pixels."""
    width, height = surface.get_size()
    seen = [point for point in ground if -60.0 < point[0] < width + 60.0]
    if len(seen) < 2:
        return
    xs, ys = np.array(seen).T
    steepness = np.sqrt(1.0 + (np.diff(ys) / np.diff(xs)) ** 2)
    # Nothing is painted before the first point and behind the last one.
    left, right = max(0.0, xs[0]), min(float(width), xs[-1])
    top = max(0.0, float(ys.min()) - 1.0)
    center = ((left + right) / 2.0, (top + height) / 2.0)
    reach = ((right - left) / 2.0 - 1.0, (height - top) / 2.0)
    for depth, color in ((0.0, GRASS), (TURF, EARTH)):

        def above_ground(x: Pixels, y: Pixels, depth: float = depth) -> Pixels:
            columns = x[0] + center[0]
            piece = np.clip(np.searchsorted(xs, columns) - 1, 0, len(steepness) - 1)
            rows = (np.interp(columns, xs, ys) - center[1]).astype(np.float32)
            slant = (1.0 / steepness[piece]).astype(np.float32)
            return (rows - y) * slant + np.float32(depth)

        paint(surface, color, center, reach, above_ground)


def draw_bipedal_walker(
    surface: pygame.Surface,
    *,
    ground: Sequence[Point],
    boxes: Sequence[Sequence[Point]],
    clouds: Sequence[Sequence[Point]],
    flag: Point,
    hull: Sequence[Point],
    legs: Sequence[Sequence[Point]],
    ray: tuple[Point, Point],
) -> None:
    """Draw one walker; everything is in pixels, y down.

    Args:
        surface: what to draw on, usually 600 x 400 pixels; overwritten entirely.
        ground: the outline of the ground from left to right.
        boxes: corners of each obstacle.
        clouds: corners of each cloud.
        flag: the foot of the flagpole at the start.
        hull: corners of the hull.
        legs: corners of upper and lower leg, of the one behind and of the one in front.
        ray: one of the lidar's rays, from the hull to where it ends.
    """
    size = surface.get_size()
    surface.blit(_sky(size), (0, 0))

    def in_sight(points: Sequence[Point]) -> bool:
        return max(x for x, _ in points) > 0 and min(x for x, _ in points) < size[0]

    for cloud in clouds:
        if in_sight(cloud):
            convex_polygon(surface, CLOUD, cloud)
    if flag[0] > -40.0:
        foot = (round(flag[0]) + 0.5, flag[1])
        top = foot[1] - FLAGPOLE
        bar(surface, POLE, foot, (foot[0], top), 1.0, 0.5)
        pennant = [(foot[0] + 1.0, top), (foot[0] + 25.0, top + 6.0), (foot[0] + 1.0, top + 12.0)]
        convex_polygon(surface, FLAG, pennant)
    _draw_ground(surface, ground)
    for box in boxes:
        if in_sight(box):
            outlined(surface, STONE, STONE_EDGE, box, 1.5)
    start, end = ray
    bar(surface, RAY, start, end, 0.6, 0.5)
    disc(surface, RAY, end, 2.4)
    for leg in legs[:2]:
        outlined(surface, *LEGS[0], leg, 1.2)
    outlined(surface, HULL, HULL_EDGE, hull, 1.6)
    for leg in legs[2:]:
        outlined(surface, *LEGS[1], leg, 1.2)
