"""The picture of Acrobot: two links, their joints, and the height to swing up to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.envs.classic_control.drawing.shapes import BLACK, Color, bar, blank, disc, sin_cos

if TYPE_CHECKING:
    import pygame

LINK: Color = (0, 204, 204)
JOINT: Color = (204, 204, 0)

# Metres.
MARGIN = 0.2
HALF_WIDTH = 0.1
TARGET_HEIGHT = 1.0


@lru_cache(maxsize=16)
def _background(size: tuple[int, int], scale: float) -> pygame.Surface:
    """Return the target line; shared between calls, never drawn on again."""
    width, height = size
    surface = blank(size)
    # In the middle of a pixel row, where a line one pixel thick is sharp.
    target = math.floor(height / 2.0 - TARGET_HEIGHT * scale) + 0.5
    bar(surface, BLACK, (-2.0, target), (width + 2.0, target), 0.5, 0.5)
    return surface


def draw_acrobot(
    surface: pygame.Surface,
    state: Sequence[float],
    *,
    link_length_1: float,
    link_length_2: float,
) -> None:
    """Draw one acrobot.

    Args:
        surface: what to draw on, usually 500 x 500 pixels; overwritten entirely.
        state: `(theta1, theta2, dtheta1, dtheta2)`; theta1 in radians from hanging down,
            theta2 from the direction of the first link, both positive counter-clockwise.
        link_length_1: length of the upper link in metres.
        link_length_2: length of the lower link in metres.
    """
    theta1, theta2, _, _ = map(float, state)
    width, height = surface.get_size()
    scale = min(width, height) / (2.0 * (link_length_1 + link_length_2 + MARGIN))
    surface.blit(_background((width, height), scale), (0, 0))

    shoulder = (width / 2.0, height / 2.0)
    sine, cosine = sin_cos(theta1)
    reach = link_length_1 * scale
    elbow = (shoulder[0] + reach * sine, shoulder[1] + reach * cosine)
    sine, cosine = sin_cos(theta1 + theta2)
    reach = link_length_2 * scale
    hand = (elbow[0] + reach * sine, elbow[1] + reach * cosine)
    bar(surface, LINK, shoulder, elbow, HALF_WIDTH * scale, 2.0)
    bar(surface, LINK, elbow, hand, HALF_WIDTH * scale, 2.0)
    disc(surface, JOINT, shoulder, HALF_WIDTH * scale)
    disc(surface, JOINT, elbow, HALF_WIDTH * scale)
