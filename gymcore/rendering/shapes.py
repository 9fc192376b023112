"""Anti-aliased shapes at sub-pixel positions.

A shape is a signed distance function in pixels, negative inside. The coverage of a pixel depends on
the distance of its center from the edge: 0 half a pixel outside, 1 half a pixel inside. pygame's
anti-aliased polygons round corners to whole pixels, so a slowly turning pole would jitter.

Coordinates are screen coordinates: x to the right, y down, pixel (i, j) covers [i, i+1) x [j, j+1).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]
Point = tuple[float, float]
Pixels = NDArray[np.float32]
Distance = Callable[[Pixels, Pixels], Pixels]

WHITE: Color = (255, 255, 255)
BLACK: Color = (0, 0, 0)


def sin_cos(angle: float) -> tuple[float, float]:
    """Return sine and cosine of `angle` in radians; NaN, which draws nothing, if infinite."""
    if not math.isfinite(angle):
        return math.nan, math.nan
    return math.sin(angle), math.cos(angle)


def blank(size: tuple[int, int]) -> pygame.Surface:
    """Return a new white surface of `size` (width, height) with the pixel layout of an RGB array.

    Renderers draw on surfaces of this layout, so blitting a background is a plain memory copy.
    """
    import pygame

    width, height = size
    pixels = np.full((height, width, 3), WHITE, dtype=np.uint8)
    return pygame.image.frombuffer(pixels.data, (width, height), "RGB")


def vertical_gradient(size: tuple[int, int], top: Color, bottom: Color) -> pygame.Surface:
    """Return a new surface of `size` (width, height) whose color changes from `top` to `bottom`."""
    import pygame

    width, height = size
    share = np.linspace(0.0, 1.0, height)[:, None, None]
    rows = np.rint(np.asarray(top) + share * (np.asarray(bottom) - np.asarray(top)))
    pixels = np.ascontiguousarray(np.broadcast_to(rows, (height, width, 3)), np.uint8)
    return pygame.image.frombuffer(pixels.data, size, "RGB")


def paint(
    surface: pygame.Surface, color: Color, center: Point, reach: Point, distance: Distance
) -> None:
    """Blend the shape with signed distance `distance` onto `surface`.

    Args:
        surface: Surface to draw on, in any pixel format.
        color: Red, green and blue, 0 to 255.
        center: Origin of the coordinates passed to `distance`, in pixels; may be off the surface.
        reach: Half width and half height of a box around `center` that contains the shape; nothing
            is drawn outside it. A box that is off the surface or NaN is skipped.
        distance: Called once with x [1, w] and y [h, 1], float32 pixel centers relative to
            `center`; returns the signed distances [h, w] in a new float32 array, which is changed.
    """
    import pygame

    width, height = surface.get_size()
    center_x, center_y = center
    # One pixel more than the shape, because its soft edge extends by half a pixel.
    reach_x, reach_y = reach[0] + 1.0, reach[1] + 1.0
    on_surface_x = -reach_x < center_x < width + reach_x
    on_surface_y = -reach_y < center_y < height + reach_y
    if not (on_surface_x and on_surface_y):
        return
    left, right = max(0, math.floor(center_x - reach_x)), min(width, math.ceil(center_x + reach_x))
    top, bottom = max(0, math.floor(center_y - reach_y)), min(height, math.ceil(center_y + reach_y))
    if left >= right or top >= bottom:
        return

    x = (np.arange(left, right) + (0.5 - center_x)).astype(np.float32)[np.newaxis, :]
    y = (np.arange(top, bottom) + (0.5 - center_y)).astype(np.float32)[:, np.newaxis]
    coverage = distance(x, y)
    np.subtract(0.5, coverage, out=coverage)
    coverage *= 255.0
    np.clip(coverage, 0.0, 255.0, out=coverage)

    # Four bytes at once: writing three separate color bytes per pixel costs more than the blending.
    rgba = int.from_bytes(bytes((*color, 255)), sys.byteorder)
    layer = np.full(coverage.shape, rgba, dtype=np.uint32).view(np.uint8)
    np.rint(coverage, out=layer[:, 3::4], casting="unsafe")
    source = pygame.image.frombuffer(layer.data, (right - left, bottom - top), "RGBA")
    surface.blit(source, (left, top))


def bar(
    surface: pygame.Surface,
    color: Color,
    start: Point,
    end: Point,
    half_width: float,
    corner_radius: float = 1.0,
) -> None:
    """Draw a straight bar from `start` to `end`, the midpoints of its ends, in pixels.

    `corner_radius` is between 0.5 (sharp corners) and `half_width` (round ends); the corners do
    not extend beyond `start` and `end`.
    """
    center = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    half_length = math.dist(start, end) / 2
    if half_length > 0:
        along_x = (end[0] - center[0]) / half_length
        along_y = (end[1] - center[1]) / half_length
    else:
        along_x, along_y = 1.0, 0.0
    reach_x = abs(along_x) * half_length + abs(along_y) * half_width
    reach_y = abs(along_y) * half_length + abs(along_x) * half_width
    core_length, core_width = half_length - corner_radius, half_width - corner_radius

    def distance(x: Pixels, y: Pixels) -> Pixels:
        along = x * along_x + y * along_y
        across = y * along_x - x * along_y
        for offset, core in ((along, core_length), (across, core_width)):
            np.abs(offset, out=offset)
            offset -= core
            np.maximum(offset, 0.0, out=offset)
            offset *= offset
        along += across
        np.sqrt(along, out=along)
        along -= corner_radius
        return along

    paint(surface, color, center, (reach_x, reach_y), distance)


def disc(surface: pygame.Surface, color: Color, center: Point, radius: float) -> None:
    """Draw a filled circle of `radius` pixels."""

    def distance(x: Pixels, y: Pixels) -> Pixels:
        return np.sqrt(x * x + y * y) - np.float32(radius)

    paint(surface, color, center, (radius, radius), distance)


def convex_polygon(surface: pygame.Surface, color: Color, points: Sequence[Point]) -> None:
    """Fill the convex polygon with corners `points` (three or more, in either orientation)."""
    xs, ys = zip(*points, strict=True)
    center = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    middle = (math.fsum(xs) / len(xs), math.fsum(ys) / len(ys))
    # Each edge as a half plane: outward unit normal, and its distance from `center`.
    edges: list[tuple[float, float, float]] = []
    for index, (x0, y0) in enumerate(points):
        x1, y1 = points[(index + 1) % len(points)]
        length = math.dist((x0, y0), (x1, y1))
        if length == 0:
            continue
        normal_x, normal_y = (y1 - y0) / length, (x0 - x1) / length
        if (middle[0] - x0) * normal_x + (middle[1] - y0) * normal_y > 0:
            normal_x, normal_y = -normal_x, -normal_y
        offset = (x0 - center[0]) * normal_x + (y0 - center[1]) * normal_y
        edges.append((normal_x, normal_y, offset))
    if not edges:
        return

    def distance(x: Pixels, y: Pixels) -> Pixels:
        planes = [x * normal_x + (y * normal_y - offset) for normal_x, normal_y, offset in edges]
        outermost = planes[0]
        for plane in planes[1:]:
            np.maximum(outermost, plane, out=outermost)
        return outermost

    paint(surface, color, center, ((max(xs) - min(xs)) / 2, (max(ys) - min(ys)) / 2), distance)


def outlined_polygon(
    surface: pygame.Surface, fill: Color, edge: Color, points: Sequence[Point], width: float
) -> None:
    """Draw a convex polygon with an edge in another color, `width` pixels thick."""
    convex_polygon(surface, fill, points)
    for start, end in zip(points, (*points[1:], points[0]), strict=True):
        bar(surface, edge, start, end, width / 2, 0.5)
