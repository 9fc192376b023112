"""The picture of Taxi: streets, walls, four stops, a taxi, a passenger, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.envs.classic_control.drawing.shapes import Color, Point, blank
from gymcore.envs.toy_text.drawing.figures import DARK, SKIN, Pen, draw_flag, draw_walker

if TYPE_CHECKING:
    import pygame

STREET: Color = (221, 224, 229)
STREET_LINE: Color = (207, 211, 217)
WALL: Color = (98, 106, 122)
CAR: Color = (242, 190, 66)
ROOF: Color = (250, 212, 112)
GLASS: Color = (96, 124, 150)
TIRE: Color = (58, 62, 72)
LIGHT: Color = (255, 244, 196)
RAIN: Color = (158, 184, 208)
# Red, green, yellow, blue: the stop, and what belongs to it.
STOPS: tuple[Color, ...] = ((238, 188, 180), (188, 220, 190), (244, 226, 168), (182, 204, 234))
GOALS: tuple[Color, ...] = ((202, 84, 72), (70, 146, 92), (206, 160, 40), (66, 112, 186))
PLACES = ((0, 0), (0, 4), (4, 0), (4, 3))
# Walls stand to the right of these places.
WALLS = ((0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2))
SIDE = 5
IN_TAXI = 4
# Forward for each orientation: south, north, east, west.
FORWARD: tuple[Point, ...] = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0))


@lru_cache(maxsize=8)
def _background(size: tuple[int, int], is_rainy: bool) -> pygame.Surface:
    """Return the empty town; shared between calls, never drawn on again."""
    surface = blank(size)
    tile = size[0] / SIDE
    for row in range(SIDE):
        for col in range(SIDE):
            pen = Pen(surface, (col * tile, row * tile), tile)
            pen.fill(STREET)
            for start, end in (((0.0, 0.0), (1.0, 0.0)), ((0.0, 0.0), (0.0, 1.0))):
                pen.line(STREET_LINE, start, end, 0.02)
    for color, (row, col) in zip(STOPS, PLACES, strict=True):
        Pen(surface, (col * tile, row * tile), tile).box(color, (0.08, 0.08), (0.92, 0.92), 0.12)
    for row, col in WALLS:
        pen = Pen(surface, (col * tile, row * tile), tile)
        pen.line(WALL, (1.0, 0.03), (1.0, 0.97), 0.08)
    frame = Pen(surface, (0.0, 0.0), size[0])
    corners = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        frame.line(WALL, start, end, 0.016)
    if is_rainy:
        for drop in range(60):
            x, y = (drop * 0.618034) % 1.0, (drop * 0.381966 * 1.7) % 1.0
            frame.line(RAIN, (x, y), (x - 0.008, y + 0.026), 0.004)
    return surface


def _draw_taxi(pen: Pen, orientation: int, occupied: bool) -> None:
    """A car from above; the front is where it drives."""
    ahead = FORWARD[orientation % 4]
    aside = (-ahead[1], ahead[0])

    def at(along: float, across: float) -> Point:
        return (
            0.5 + along * ahead[0] + across * aside[0],
            0.5 + along * ahead[1] + across * aside[1],
        )

    for along in (-0.19, 0.19):
        for across in (-0.19, 0.19):
            pen.slab(TIRE, at(along - 0.07, across), at(along + 0.07, across), 0.10, 0.03)
    pen.slab(CAR, at(-0.32, 0.0), at(0.32, 0.0), 0.38, 0.10)
    pen.slab(GLASS, at(0.09, 0.0), at(0.19, 0.0), 0.30, 0.03)
    pen.slab(GLASS, at(-0.24, 0.0), at(-0.17, 0.0), 0.28, 0.03)
    pen.slab(ROOF, at(-0.17, 0.0), at(0.09, 0.0), 0.30, 0.04)
    for across in (-0.13, 0.13):
        pen.dot(LIGHT, at(0.30, across), 0.028)
    if occupied:
        pen.dot(DARK, at(-0.04, 0.0), 0.105)
        pen.dot(SKIN, at(-0.04, 0.0), 0.085)
    else:
        pen.slab(DARK, at(-0.06, 0.0), at(-0.02, 0.0), 0.16, 0.01)


def draw_taxi(
    surface: pygame.Surface, state: Sequence[float], *, orientation: int, is_rainy: bool
) -> None:
    """Draw one town.

    Args:
        surface: what to draw on, a square; overwritten entirely.
        state: `(s, ...)`.
        orientation: where the taxi looks: 0 south, 1 north, 2 east, 3 west.
        is_rainy: whether it rains.
    """
    size = surface.get_size()
    surface.blit(_background(size, is_rainy), (0, 0))
    tile = size[0] / SIDE
    rest, goal = divmod(int(state[0]), 4)
    rest, passenger = divmod(rest, 5)
    row, col = divmod(rest, SIDE)

    def pen(place: tuple[int, int]) -> Pen:
        return Pen(surface, (place[1] * tile, place[0] * tile), tile)

    draw_flag(pen(PLACES[goal]), GOALS[goal])
    if passenger != IN_TAXI:
        stop = PLACES[passenger]
        beside = Pen(surface, ((stop[1] + 0.34) * tile, (stop[0] + 0.30) * tile), tile * 0.62)
        draw_walker(beside, coat=GOALS[passenger])
    _draw_taxi(pen((row, col)), orientation, passenger == IN_TAXI)
