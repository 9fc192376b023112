"""Rendering of CarRacing: grass, road and car from above, and the instruments below them.

The compiled environment draws its observations itself (gymcore_ext/box2d/picture.pyx); this is for
frames, and for the environment in Python. The image is Gymnasium's bit for bit: 1000 x 800 pixels,
drawn upside down (the y axis of the world points up), flipped, and scaled to the wanted size. What
makes it fast:

* Polygons that are not in the window are left out, by arithmetic over all of them at once.
* Where the grass fills the window, it is filled, not drawn as a polygon.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gymcore.base import process_wide
from gymcore.envs.box2d.box2d_env import Body
from gymcore.envs.box2d.car_dynamics import Car, View
from gymcore.rendering.shapes import Color, Point
from gymcore.rendering.text import render_text
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame
    from pygame import Surface

__all__ = [
    "GRASS_DIM",
    "PLAYFIELD",
    "SCALE",
    "STATE_H",
    "STATE_W",
    "WINDOW_H",
    "WINDOW_W",
    "ZOOM",
]

STATE_W, STATE_H = 96, 96
WINDOW_W, WINDOW_H = 1000, 800
SCALE = 6.0
PLAYFIELD = 2000 / SCALE
ZOOM = 2.7
GRASS_DIM = PLAYFIELD / 20.0

# The car is in the middle, a quarter of the height above the lower edge.
_CAR_X, _CAR_Y = WINDOW_W / 2, WINDOW_H / 4
# The corners of the window, and two pixels around them.
_WINDOW = np.array([(x, y) for x in (-2, WINDOW_W + 2) for y in (-2, WINDOW_H + 2)])
_BLACK: Color = (0, 0, 0)
_S, _H = WINDOW_W / 40.0, WINDOW_H / 40.0
_WHITE: Color = (255, 255, 255)
_ABS: tuple[Color, ...] = ((0, 0, 255), (0, 0, 255), (51, 0, 255), (51, 0, 255))
_STEERING: Color = (0, 255, 0)
_TURNING: Color = (255, 0, 0)
_MIN_BAR = 1e-4
_FONT_SIZE = 42
_SCORE_AT = 60, WINDOW_H - WINDOW_H // 16
_GROUND = (
    (WINDOW_W, WINDOW_H),
    (WINDOW_W, WINDOW_H - 5 * _H),
    (0, WINDOW_H - 5 * _H),
    (0, WINDOW_H),
)


def paint(env: Any, score: float, marks: bool) -> pygame.Surface:
    """Return the image of a CarRacing, 1000 x 800, with marks of skidding wheels if `marks`."""
    module = load_pygame()
    # Pixels are the bytes red, green, blue, unused; upside down, as the world is drawn.
    pixels = np.zeros((WINDOW_H, WINDOW_W), np.uint32)
    env.surf = module.image.frombuffer(pixels, (WINDOW_W, WINDOW_H), "RGBX")
    view = view_behind(env.car.hull, env.t)
    place = view.zoom, view.translation, -env.car.hull.angle
    with process_wide.drawing_lock:
        env._render_road(*place)
        env.car.draw(env.surf, *place, marks)
    env.surf = module.transform.flip(env.surf, False, True)
    env._render_indicators(WINDOW_W, WINDOW_H)
    text = score_text(score)
    image: Surface = env.surf
    image.blit(text, text.get_rect(center=_SCORE_AT))
    return image


def scaled(image: pygame.Surface, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return an image rescaled to (width, height): uint8 [height, width, 3], a new array."""
    pygame = load_pygame()
    pixels = pygame.surfarray.array3d(pygame.transform.smoothscale(image, size))
    return np.ascontiguousarray(pixels.swapaxes(0, 1))


def view_behind(hull: Body, t: float) -> View:
    """Return the view that follows the car: from far away at first, near after a second."""
    zoom = 0.1 * SCALE * max(1 - t, 0) + ZOOM * SCALE * min(t, 1)
    view = View(zoom, (0.0, 0.0), -hull.angle)
    x, y = hull.position.tuple
    x, y = -x * zoom, -y * zoom
    view.translation = (
        _CAR_X + (view.cosine * x - view.sine * y),
        _CAR_Y + (view.sine * x + view.cosine * y),
    )
    return view


_FIELD = [
    *((PLAYFIELD, PLAYFIELD), (PLAYFIELD, -PLAYFIELD)),
    *((-PLAYFIELD, -PLAYFIELD), (-PLAYFIELD, PLAYFIELD)),
]
_SQUARES = np.array(
    [
        [(x + GRASS_DIM, y), (x, y), (x, y + GRASS_DIM), (x + GRASS_DIM, y + GRASS_DIM)]
        for x in (GRASS_DIM * i for i in range(-20, 20, 2))
        for y in (GRASS_DIM * j for j in range(-20, 20, 2))
    ]
)


def colored_polygons(
    env: Any,
) -> Iterator[tuple[Sequence[Point], Iterable[float], dict[str, Any]]]:
    """Yield corners, color and `clip`, if it is not True, of each polygon that does not move."""
    yield _FIELD, env.bg_color, {"clip": False}
    for corners in _SQUARES.tolist():
        yield corners, env.grass_color, {}
    for corners, color in env.road_poly:
        yield corners, as_color(color), {}


def draw_scenery(surface: pygame.Surface, env: Any, view: View) -> None:
    """Draw what does not move: the field, its darker squares, the road and its borders."""
    window = (_WINDOW - view.translation) / view.zoom
    in_world = window @ [[view.cosine, -view.sine], [view.sine, view.cosine]]
    field_color = as_color(env.bg_color)
    if np.abs(in_world).max() < PLAYFIELD:
        surface.fill(field_color)
    else:
        surface.fill(_BLACK)
        fill(surface, view, _FIELD, field_color)

    road = env.road_poly
    colors = [as_color(env.grass_color)] * len(_SQUARES) + [as_color(color) for _, color in road]
    polygons = np.array([polygon for polygon, _ in road], np.float64).reshape(-1, 4, 2)
    pixels = view.place(np.concatenate([_SQUARES, polygons]))
    low, high = pixels.min(axis=1), pixels.max(axis=1)
    is_seen = ((high > -2.0) & (low < (WINDOW_W + 2.0, WINDOW_H + 2.0))).all(axis=1)
    # Whole pixels: pygame's gfxdraw cuts the fractions off as well.
    visible = pixels[is_seen].astype(np.int64).tolist()
    for index, points in zip(np.flatnonzero(is_seen).tolist(), visible, strict=True):
        _fill(surface, points, colors[index])


def fill(surface: pygame.Surface, view: View, corners: Iterable[Point], color: Color) -> None:
    """Draw a polygon of the world."""
    points = view.place(np.array(list(corners), np.float64)).astype(np.int64).tolist()
    _fill(surface, points, color)


def _fill(surface: pygame.Surface, points: list[tuple[int, int]], color: Color) -> None:
    """Draw a polygon, and its outline with antialiasing."""
    # Not `pygame.gfxdraw`: while another thread imports it, the package may lack this attribute.
    gfxdraw = importlib.import_module("pygame.gfxdraw")
    gfxdraw.aapolygon(surface, points, color)
    with process_wide.drawing_lock:
        gfxdraw.filled_polygon(surface, points, color)


def as_color(color: Iterable[float]) -> Color:
    """Whole numbers of red, green and blue; the fractions are cut off."""
    red, green, blue = color
    return int(red), int(green), int(blue)


def score_text(score: float) -> pygame.Surface:
    """A score as text."""
    return render_text(f"{score:04.0f}", _FONT_SIZE, _WHITE, _BLACK, scaled=False)


def draw_dashboard(surface: pygame.Surface, car: Car) -> None:
    """Draw the instruments into the lowest eighth of an image of 1000 x 800 pixels."""
    polygon = load_pygame().draw.polygon
    polygon(surface, _BLACK, _GROUND)
    speed_x, speed_y = car.hull.linearVelocity.tuple
    speed = math.sqrt(speed_x * speed_x + speed_y * speed_y)
    if abs(speed) > _MIN_BAR:
        polygon(surface, _WHITE, _vertical_bar(5, 0.02 * speed))
    for index, wheel in enumerate(car.wheels):
        omega = wheel.omega
        if abs(omega) > _MIN_BAR:
            polygon(surface, _ABS[index], _vertical_bar(7 + index, 0.01 * omega))
    steering = car.wheels[0].joint.angle
    if abs(steering) > _MIN_BAR:
        polygon(surface, _STEERING, _horizontal_bar(20, -10.0 * steering))
    turning = car.hull.angularVelocity
    if abs(turning) > _MIN_BAR:
        polygon(surface, _TURNING, _horizontal_bar(30, -0.8 * turning))


def _vertical_bar(place: int, value: float) -> list[Point]:
    top, bottom = WINDOW_H - (_H + _H * value), WINDOW_H - _H
    left, right = place * _S, (place + 1) * _S
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _horizontal_bar(place: int, value: float) -> list[Point]:
    left, right = (place + 0) * _S, (place + value) * _S
    return [
        (left, WINDOW_H - 4 * _H),
        (right, WINDOW_H - 4 * _H),
        (right, WINDOW_H - 2 * _H),
        (left, WINDOW_H - 2 * _H),
    ]
