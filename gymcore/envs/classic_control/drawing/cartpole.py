"""The picture of CartPole: a cart on a track, a pole on its axle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gymcore.envs.classic_control.drawing.shapes import BLACK, Color, bar, blank, disc, sin_cos

if TYPE_CHECKING:
    import pygame

POLE: Color = (202, 152, 101)
AXLE: Color = (129, 132, 203)

# Pixels, from the picture's lower edge where vertical.
TRACK_HEIGHT = 100.5
AXLE_HEIGHT = 107.5
CART_HALF_LENGTH = 25.0
CART_HALF_HEIGHT = 15.5
POLE_HALF_WIDTH = 5.5


@lru_cache(maxsize=16)
def _background(size: tuple[int, int]) -> pygame.Surface:
    """Return the empty track; shared between calls, never drawn on again."""
    width, height = size
    surface = blank(size)
    track = height - TRACK_HEIGHT
    # The ends lie outside the picture, so that the line's round corners do not show.
    bar(surface, BLACK, (-2.0, track), (width + 2.0, track), 0.5, 0.5)
    return surface


def draw_cartpole(
    surface: pygame.Surface, state: Sequence[float], *, length: float, x_threshold: float
) -> None:
    """Draw one CartPole.

    Args:
        surface: what to draw on, usually 600 x 400 pixels; overwritten entirely.
        state: `(x, x_dot, theta, theta_dot)`; x in metres from the middle, theta in radians
            from the vertical, positive to the right.
        length: half the length of the pole in metres.
        x_threshold: the picture shows the track from `-x_threshold` to `x_threshold`, in metres.
    """
    x, _, theta, _ = map(float, state)
    width, height = surface.get_size()
    surface.blit(_background((width, height)), (0, 0))

    scale = width / (2.0 * x_threshold)
    cart_x = width / 2.0 + x * scale
    cart_y = height - TRACK_HEIGHT
    bar(
        surface,
        BLACK,
        (cart_x - CART_HALF_LENGTH, cart_y),
        (cart_x + CART_HALF_LENGTH, cart_y),
        CART_HALF_HEIGHT,
        3.0,
    )

    axle = (cart_x, height - AXLE_HEIGHT)
    sine, cosine = sin_cos(theta)
    toward_tip = (sine, -cosine)
    # The pole sticks out below its axle by half its width and is that much shorter above.
    below, above = -POLE_HALF_WIDTH, 2.0 * length * scale - POLE_HALF_WIDTH
    bar(
        surface,
        POLE,
        (axle[0] + below * toward_tip[0], axle[1] + below * toward_tip[1]),
        (axle[0] + above * toward_tip[0], axle[1] + above * toward_tip[1]),
        POLE_HALF_WIDTH,
        2.0,
    )
    disc(surface, AXLE, axle, POLE_HALF_WIDTH)
