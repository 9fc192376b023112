"""The picture of both mountain cars: a hill, a flag at the goal, and the car."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gymcore.envs.classic_control.drawing.shapes import (
    BLACK,
    Color,
    Pixels,
    Point,
    bar,
    blank,
    convex_polygon,
    disc,
    paint,
    sin_cos,
)

if TYPE_CHECKING:
    import pygame

WHEEL: Color = (128, 128, 128)
FLAG: Color = (204, 204, 0)

# Pixels.
CAR_HALF_LENGTH = 20.0
CAR_HALF_HEIGHT = 10.0
CAR_CLEARANCE = 10.0
WHEEL_RADIUS = 8.0
WHEEL_HEIGHT = 9.0
WHEEL_OFFSET = 10.0
FLAGPOLE_HEIGHT = 50.0
FLAG_LENGTH = 26.0
FLAG_HALF_HEIGHT = 5.5
HILL_HALF_THICKNESS = 0.6


def _on_hill(size: tuple[int, int], position: float, low: float, high: float) -> Point:
    """Return the pixel on the hill at `position`, in a picture that spans [low, high]."""
    width, height = size
    scale = width / (high - low)
    sine, _ = sin_cos(3.0 * position)
    return (position - low) * scale, height - 0.5 - (0.45 * sine + 0.55) * scale


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], goal: float, low: float, high: float) -> pygame.Surface:
    """Return the hill and the flag; shared between calls, never drawn on again."""
    width, height = size
    scale = width / (high - low)
    surface = blank(size)

    def distance_from_hill(x: Pixels, y: Pixels) -> Pixels:
        # The vertical distance, shortened by the slope: exact enough within a pixel of the line.
        position = x / scale + low
        rows = height - 0.5 - (0.45 * np.sin(3.0 * position) + 0.55) * scale
        steepness = np.sqrt(1.0 + (1.35 * np.cos(3.0 * position)) ** 2)
        vertical = np.abs(y - rows) / steepness - HILL_HALF_THICKNESS
        return vertical.astype(np.float32, copy=False)

    paint(surface, BLACK, (0.0, 0.0), (float(width), float(height)), distance_from_hill)

    foot_x, foot_y = _on_hill(size, goal, low, high)
    # In the middle of a pixel column, where a line one pixel thick is sharp.
    foot_x = math.floor(foot_x) + 0.5
    top_y = foot_y - FLAGPOLE_HEIGHT
    bar(surface, BLACK, (foot_x, foot_y), (foot_x, top_y), 0.5, 0.5)
    pennant = [
        (foot_x, top_y),
        (foot_x + FLAG_LENGTH, top_y + FLAG_HALF_HEIGHT),
        (foot_x, top_y + 2.0 * FLAG_HALF_HEIGHT),
    ]
    convex_polygon(surface, FLAG, pennant)
    return surface


def draw_mountain_car(
    surface: pygame.Surface,
    state: Sequence[float],
    *,
    goal_position: float,
    min_position: float,
    max_position: float,
) -> None:
    """Draw one mountain car, of either kind.

    Args:
        surface: what to draw on, usually 600 x 400 pixels; overwritten entirely.
        state: `(position, velocity)`.
        goal_position: where the flag stands.
        min_position: the position at the picture's left edge.
        max_position: the position at the picture's right edge.
    """
    position, _ = map(float, state)
    size = surface.get_size()
    surface.blit(_background(size, goal_position, min_position, max_position), (0, 0))

    foot_x, foot_y = _on_hill(size, position, min_position, max_position)
    slope = 1.35 * sin_cos(3.0 * position)[1]
    tilt_sine, tilt_cosine = sin_cos(math.atan(slope))
    forward = (tilt_cosine, -tilt_sine)
    upward = (-tilt_sine, -tilt_cosine)

    def from_foot(along: float, above: float) -> Point:
        """Return the pixel `along` and `above` the slope, seen from under the car's middle."""
        return (
            foot_x + along * forward[0] + above * upward[0],
            foot_y + along * forward[1] + above * upward[1],
        )

    middle = CAR_CLEARANCE + CAR_HALF_HEIGHT
    bar(
        surface,
        BLACK,
        from_foot(-CAR_HALF_LENGTH, middle),
        from_foot(CAR_HALF_LENGTH, middle),
        CAR_HALF_HEIGHT,
        3.0,
    )
    for along in (-WHEEL_OFFSET, WHEEL_OFFSET):
        disc(surface, WHEEL, from_foot(along, WHEEL_HEIGHT), WHEEL_RADIUS)
