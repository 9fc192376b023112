"""The instruments of CarRacing: score, speed, wheels, steering and turning, as bars on black."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gymcore.envs.box2d.drawing.car_racing import WINDOW_H, WINDOW_W, Color, Point
from gymcore.rendering.text import render_text
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

    from gymcore.envs.box2d.car_dynamics import Car

_S, _H = WINDOW_W / 40.0, WINDOW_H / 40.0
_WHITE: Color = (255, 255, 255)
_BLACK: Color = (0, 0, 0)
_DASH_ROWS = 5
_ABS: tuple[Color, ...] = ((0, 0, 255), (0, 0, 255), (51, 0, 255), (51, 0, 255))
_STEERING: Color = (0, 255, 0)
_TURNING: Color = (255, 0, 0)
_LEAST = 1e-4
_FONT_SIZE = 42
_SCORE_AT = 60, WINDOW_H - WINDOW_H // 16
_GROUND = (
    (WINDOW_W, WINDOW_H),
    (WINDOW_W, WINDOW_H - 5 * _H),
    (0, WINDOW_H - 5 * _H),
    (0, WINDOW_H),
)


class Dashboard:
    """Draws the instruments."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._polygon = load_pygame().draw.polygon

    def draw(self, surface: pygame.Surface, car: Car, score: float) -> bool:
        """Draw the instruments into the lowest eighth of a picture of 1000 x 800 pixels.

        Returns:
            Whether they stay within it; the bar of a wheel that spins fast is higher.
        """
        polygon = self._polygon
        polygon(surface, _BLACK, _GROUND)
        speed_x, speed_y = car.hull.linearVelocity.tuple
        speed = math.sqrt(speed_x * speed_x + speed_y * speed_y)
        heights = [0.02 * speed]
        if abs(speed) > _LEAST:
            polygon(surface, _WHITE, _upright(5, heights[0]))
        for index, wheel in enumerate(car.wheels):
            omega = wheel.omega
            if abs(omega) > _LEAST:
                heights.append(0.01 * omega)
                polygon(surface, _ABS[index], _upright(7 + index, 0.01 * omega))
        steering = car.wheels[0].joint.angle
        if abs(steering) > _LEAST:
            polygon(surface, _STEERING, _lying(20, -10.0 * steering))
        turning = car.hull.angularVelocity
        if abs(turning) > _LEAST:
            polygon(surface, _TURNING, _lying(30, -0.8 * turning))

        picture = render_text(f"{score:04.0f}", _FONT_SIZE, _WHITE, _BLACK, scaled=False)
        place = picture.get_rect()
        place.center = _SCORE_AT
        surface.blit(picture, place)
        return max(heights) < _DASH_ROWS - 1.0


def _upright(place: int, value: float) -> list[Point]:
    top, bottom = WINDOW_H - (_H + _H * value), WINDOW_H - _H
    left, right = place * _S, (place + 1) * _S
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _lying(place: int, value: float) -> list[Point]:
    left, right = (place + 0) * _S, (place + value) * _S
    return [
        (left, WINDOW_H - 4 * _H),
        (right, WINDOW_H - 4 * _H),
        (right, WINDOW_H - 2 * _H),
        (left, WINDOW_H - 2 * _H),
    ]
