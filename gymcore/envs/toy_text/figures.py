"""Shapes for drawing grids: tiles, the walker, a flag. Lengths are in tiles."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymcore.rendering.shapes import Color, Point, bar, convex_polygon, disc

if TYPE_CHECKING:
    import pygame

COAT: Color = (206, 92, 74)
SKIN: Color = (244, 208, 176)
HAT: Color = (62, 76, 106)
DARK: Color = (48, 54, 66)
SHADOW: Color = (150, 168, 178)
POLE: Color = (112, 92, 76)
FLAG: Color = (72, 150, 106)


# Letters as one stroke each, through points (x to the right, y down) of a 4 x 6 field.
STROKES: dict[str, tuple[Point, ...]] = {
    "B": ((0, 3), (3, 3), (4, 4), (4, 5), (3, 6), (0, 6), (0, 0), (3, 0), (4, 1), (4, 2), (3, 3)),
    "G": ((4, 1), (3, 0), (1, 0), (0, 1), (0, 5), (1, 6), (3, 6), (4, 5), (4, 3), (2.4, 3)),
    "R": ((0, 6), (0, 0), (3, 0), (4, 1), (4, 2), (3, 3), (0, 3), (1.4, 3), (4, 6)),
    "S": (
        (4, 1),
        (3, 0),
        (1, 0),
        (0, 1),
        (0, 2),
        (1, 3),
        (3, 3),
        (4, 4),
        (4, 5),
        (3, 6),
        (1, 6),
        (0, 5),
    ),
    "Y": ((0, 0), (2, 2.8), (4, 0), (2, 2.8), (2, 6)),
}


class Pen:
    """Draws in units of a tile, with the origin at its upper left corner."""

    def __init__(self, surface: pygame.Surface, corner: Point, tile: float) -> None:
        self.surface = surface
        self.corner = corner
        self.tile = tile

    def at(self, point: Point) -> Point:
        """Convert a point of the tile to pixels."""
        return (self.corner[0] + point[0] * self.tile, self.corner[1] + point[1] * self.tile)

    def fill(self, color: Color) -> None:
        """Color the whole tile."""
        left, top = (round(value) for value in self.corner)
        right, bottom = (round(value + self.tile) for value in self.corner)
        self.surface.fill(color, (left, top, right - left, bottom - top))

    def line(self, color: Color, start: Point, end: Point, width: float) -> None:
        """Draw a line with round ends."""
        self.slab(color, start, end, width, width / 2)

    def box(self, color: Color, low: Point, high: Point, radius: float = 0.0) -> None:
        """Draw a box with round corners."""
        middle = (low[1] + high[1]) / 2
        self.slab(color, (low[0], middle), (high[0], middle), high[1] - low[1], radius)

    def slab(self, color: Color, start: Point, end: Point, width: float, radius: float) -> None:
        """Draw a box with round corners, given the ends of its middle line."""
        half = width * self.tile / 2
        bar(self.surface, color, self.at(start), self.at(end), half, radius * self.tile)

    def dot(self, color: Color, center: Point, radius: float) -> None:
        """Draw a disc."""
        disc(self.surface, color, self.at(center), radius * self.tile)

    def letter(self, color: Color, letter: str, corner: Point, height: float) -> None:
        """Draw a letter of `STROKES`, given its upper left corner."""
        scale = height / 6
        points = [(corner[0] + scale * x, corner[1] + scale * y) for x, y in STROKES[letter]]
        for start, end in itertools.pairwise(points):
            self.line(color, start, end, 1.2 * scale)

    def shape(self, color: Color, *points: Point) -> None:
        """Draw a convex polygon."""
        convex_polygon(self.surface, color, [self.at(point) for point in points])


def facing_after(action: float, steps: Sequence[tuple[int, int]]) -> Point:
    """Return the direction (x, y) in which the walker looks after an action.

    Without an action (negative) it faces the viewer. `steps` has the (rows, columns) per action.
    """
    if action < 0:
        return (0.0, 1.0)
    down, right = steps[int(action)]
    return (float(right), float(down))


def draw_flag(pen: Pen, color: Color = FLAG) -> None:
    """Draw a flag on a small mound."""
    pen.box(SHADOW, (0.30, 0.82), (0.70, 0.90), 0.04)
    pen.line(POLE, (0.40, 0.18), (0.40, 0.84), 0.05)
    pen.shape(color, (0.425, 0.17), (0.80, 0.31), (0.425, 0.45))


def draw_head(pen: Pen, center: Point, facing: Point) -> None:
    """Draw the walker's head with a cap; the face is hidden if the walker looks away."""
    x, y = center

    def near(dx: float, dy: float) -> Point:
        return (x + dx, y + dy)

    pen.dot(SKIN, center, 0.15)
    pen.box(HAT, near(-0.15, -0.15), near(0.15, -0.03), 0.06)
    pen.dot(COAT, near(0.0, -0.17), 0.05)
    if facing[1] < 0:
        pen.box(HAT, near(-0.15, -0.12), near(0.15, 0.05), 0.07)
        return
    for side in (-0.055, 0.055):
        pen.dot(DARK, near(side + 0.05 * facing[0], 0.04), 0.022)


def draw_walker(pen: Pen, facing: Point = (0.0, 1.0), coat: Color = COAT) -> None:
    """Draw a person in a coat and a cap who looks right, left, at the viewer, or away."""
    pen.box(SHADOW, (0.28, 0.86), (0.72, 0.94), 0.04)
    for side in (0.42, 0.58):
        pen.line(HAT, (side, 0.64), (side, 0.84), 0.10)
        pen.line(DARK, (side, 0.89), (side + 0.05 * facing[0], 0.89), 0.11)
    for side in (-1, 1):
        pen.line(coat, (0.5 + 0.13 * side, 0.47), (0.5 + 0.21 * side, 0.62), 0.09)
        pen.dot(SKIN, (0.5 + 0.22 * side, 0.66), 0.045)
    pen.box(coat, (0.34, 0.40), (0.66, 0.70), 0.10)
    if facing[1] >= 0:
        pen.line(DARK, (0.5, 0.50), (0.5, 0.67), 0.015)
    draw_head(pen, (0.5, 0.29), facing)
