"""The picture of Pendulum: a rod on an axle, and an arrow round the axle for the torque."""

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

ROD: Color = (204, 77, 77)

# Metres. The picture shows a square of 4.4 m around the axle.
VIEW = 4.4
ROD_LENGTH = 1.0
ROD_HALF_WIDTH = 0.1
AXLE_RADIUS = 0.05
# The torque arrow at full torque; it shrinks in proportion.
ARROW_RADIUS = 0.46
ARROW_HALF_THICKNESS = 0.014
ARROW_HEAD_HALF_WIDTH = 0.065
ARROW_HEAD_LENGTH = 0.17


@lru_cache(maxsize=16)
def _background(size: tuple[int, int]) -> pygame.Surface:
    """Return the empty picture; shared between calls, never drawn on again."""
    return blank(size)


def _draw_torque(surface: pygame.Surface, axle: Point, scale: float, share: float) -> None:
    """Draw three quarters of a ring from above the axle round to its side, ending in an arrow head.

    Args:
        surface: what to draw on.
        axle: the ring's middle in pixels.
        scale: pixels a metre.
        share: torque over its maximum, -1 to 1; positive turns counter-clockwise.
    """
    size = abs(share) * scale
    radius = ARROW_RADIUS * size
    # Thinner than this and the arrow of a small torque would fade away instead of shrinking.
    half_thickness = max(ARROW_HALF_THICKNESS * size, 0.6)
    if radius <= 2.0 * half_thickness:
        return
    # The ring's open quarter is the upper one on the side of the arrow head.
    side = math.copysign(1.0, share)

    def distance(x: Pixels, y: Pixels) -> Pixels:
        from_ring = np.abs(np.sqrt(x * x + y * y) - np.float32(radius))
        into_open_quarter = np.minimum(np.float32(side) * x, -y)
        return np.maximum(from_ring - np.float32(half_thickness), into_open_quarter)

    reach = radius + half_thickness
    paint(surface, BLACK, axle, (reach, reach), distance)

    tip_x = axle[0] + side * radius
    half_width = max(ARROW_HEAD_HALF_WIDTH * size, 2.0)
    length = max(ARROW_HEAD_LENGTH * size, 4.0)
    head = [
        (tip_x - half_width, axle[1] + 0.25 * length),
        (tip_x + half_width, axle[1] + 0.25 * length),
        (tip_x, axle[1] - 0.75 * length),
    ]
    convex_polygon(surface, BLACK, head)


def draw_pendulum(
    surface: pygame.Surface,
    state: Sequence[float],
    *,
    last_torque: float | None,
    max_torque: float,
) -> None:
    """Draw one pendulum.

    Args:
        surface: what to draw on, usually 500 x 500 pixels; overwritten entirely.
        state: `(theta, theta_dot)`; theta in radians from upright, positive counter-clockwise.
        last_torque: the torque of the last step in newton metres, positive counter-clockwise; None
            draws no arrow.
        max_torque: the torque that gets the largest arrow.
    """
    theta, _ = map(float, state)
    width, height = surface.get_size()
    surface.blit(_background((width, height)), (0, 0))

    scale = min(width, height) / VIEW
    axle = (width / 2.0, height / 2.0)
    sine, cosine = sin_cos(theta)
    toward_tip = (-sine, -cosine)
    # The round ends lie beyond the axle and beyond the tip.
    near, far = -ROD_HALF_WIDTH * scale, (ROD_LENGTH + ROD_HALF_WIDTH) * scale
    half_width = ROD_HALF_WIDTH * scale
    bar(
        surface,
        ROD,
        (axle[0] + near * toward_tip[0], axle[1] + near * toward_tip[1]),
        (axle[0] + far * toward_tip[0], axle[1] + far * toward_tip[1]),
        half_width,
        half_width,
    )
    if last_torque is not None:
        share = float(last_torque) / max_torque
        _draw_torque(surface, axle, scale, min(max(share, -1.0), 1.0))
    disc(surface, BLACK, axle, AXLE_RADIUS * scale)
