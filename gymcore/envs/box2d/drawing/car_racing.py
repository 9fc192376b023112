"""The picture of CarRacing: grass, road and car from above, and the instruments below them.

The picture is what the agent sees, so it is Gymnasium's to the bit: 1000 x 800 pixels, drawn
upside down (the y axis of the world points up), flipped, and scaled to the wanted size. What makes
it fast:

* Polygons that cannot be in the window are left out, by arithmetic over all of them at once.
* Where the grass fills the window, it is filled, not drawn as a polygon.
* For the observation, `observe` scales the width first, to 96 columns, and flips those: pygame
  scales one axis after the other, so the pixels are the same. The rows that the instruments hide
  are never drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gymcore.envs.box2d.car_dynamics import SIZE, WHEEL_R, WHEEL_W, WHEEL_WHITE, corners
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame

    from gymcore.envs.box2d.car_dynamics import Car

Color = tuple[int, int, int]
Point = tuple[float, float]

STATE_W, STATE_H = 96, 96
WINDOW_W, WINDOW_H = 1000, 800
SCALE = 6.0
PLAYFIELD = 2000 / SCALE
ZOOM = 2.7
GRASS_DIM = PLAYFIELD / 20.0

# The instruments are five rows of forty high.
DASH_H = 5 * WINDOW_H // 40
SHOWN_H = WINDOW_H - DASH_H
# The car is in the middle, a quarter of the height above the lower edge.
_CAR_X, _CAR_Y = WINDOW_W / 2, WINDOW_H / 4
# Pixels from the car to the farthest corner, and metres around the middle of the largest polygon.
_REACH = math.hypot(_CAR_X, WINDOW_H - _CAR_Y) + 2.0
_MARGIN = GRASS_DIM
_BLACK: Color = (0, 0, 0)


class View:
    """Where points of the world are in the picture, before it is flipped.

    Attributes:
        zoom: Pixels a metre.
        translation: Pixels from the picture's corner to the world's origin.
        cosine: Of the angle by which the world is turned.
        sine: The same.
    """

    def __init__(self, zoom: float, translation: Point, angle: float) -> None:
        """Keep what a point is turned, scaled and moved by."""
        self.zoom = zoom
        self.translation = translation
        self.cosine, self.sine = turned(angle)

    @classmethod
    def behind(cls, hull: Any, t: float) -> View:
        """The view that follows the car: from far away at first, near after a second."""
        view = cls.__new__(cls)
        view.cosine, view.sine = cosine, sine = turned(-hull.angle)
        view.zoom = zoom = 0.1 * SCALE * max(1 - t, 0) + ZOOM * SCALE * min(t, 1)
        x, y = hull.position.tuple
        x, y = -x * zoom, -y * zoom
        view.translation = _CAR_X + (cosine * x - sine * y), _CAR_Y + (sine * x + cosine * y)
        return view

    def place(self, points: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Points [..., 2] of the world as float64 [..., 2] pixels."""
        x, y = points[..., 0].astype(np.float64), points[..., 1].astype(np.float64)
        pixels = np.empty(points.shape, np.float64)
        pixels[..., 0] = (self.cosine * x - self.sine * y) * self.zoom + self.translation[0]
        pixels[..., 1] = (self.sine * x + self.cosine * y) * self.zoom + self.translation[1]
        return pixels


def turned(angle: float) -> tuple[float, float]:
    """Cosine and sine of an angle as pygame's vectors have them: exact near quarter turns."""
    axis = load_pygame().math.Vector2(1.0, 0.0).rotate_rad(angle)
    return axis.x, axis.y


class Scenery:
    """Everything that does not move: the field, its darker squares of grass, road and borders."""

    def __init__(
        self, polygons: Sequence[Sequence[Point]], colors: list[Color], bg: Color, grass: Color
    ) -> None:
        """Keep the polygons of the road.

        Args:
            polygons: Four corners each, in metres, in the order in which they are drawn.
            colors: Of each polygon. The list is kept, and may be changed.
            bg: Color of the field.
            grass: Color of its squares.
        """
        squares = [
            [(x + GRASS_DIM, y), (x, y), (x, y + GRASS_DIM), (x + GRASS_DIM, y + GRASS_DIM)]
            for x in (GRASS_DIM * i for i in range(-20, 20, 2))
            for y in (GRASS_DIM * j for j in range(-20, 20, 2))
        ]
        self.bg, self.grass, self.colors = bg, grass, colors
        self.num_squares = len(squares)
        self.corners = np.array([*squares, *polygons], np.float64).reshape(-1, 4, 2)
        self.middle_x = self.corners[:, :, 0].mean(axis=1)
        self.middle_y = self.corners[:, :, 1].mean(axis=1)

    def draw(self, surface: pygame.Surface, view: View, center: Point, lowest: int = 0) -> None:
        """Draw field, grass and road.

        Args:
            surface: What to draw on, all of it but the rows below `lowest`.
            view: Where the world is in it.
            center: Place of the car in the world; `View.behind` says where it is in the picture.
            lowest: First row that is needed.
        """
        gfxdraw = load_pygame().gfxdraw
        aapolygon, filled_polygon = gfxdraw.aapolygon, gfxdraw.filled_polygon
        x, y = center
        reach = _REACH / view.zoom
        if max(abs(x), abs(y)) + reach < PLAYFIELD:
            surface.fill(self.bg)
        else:
            surface.fill(_BLACK)
            edge = PLAYFIELD
            field = np.array([(edge, edge), (edge, -edge), (-edge, -edge), (-edge, edge)])
            points = view.place(field).astype(np.int64).tolist()
            aapolygon(surface, points, self.bg)
            filled_polygon(surface, points, self.bg)

        away_x, away_y = self.middle_x - x, self.middle_y - y
        away_x *= away_x
        away_y *= away_y
        away_x += away_y
        near = (away_x < (reach + _MARGIN) ** 2).nonzero()[0]
        pixels = view.place(self.corners[near])
        low, high = pixels.min(axis=1), pixels.max(axis=1)
        is_seen = (
            (high[:, 0] > -2.0)
            & (low[:, 0] < WINDOW_W + 2.0)
            & (high[:, 1] > lowest - 2.0)
            & (low[:, 1] < WINDOW_H + 2.0)
        )
        # Whole pixels: pygame's gfxdraw cuts the fractions off as well.
        seen = pixels[is_seen].astype(np.int64).tolist()
        squares, grass, colors = self.num_squares, self.grass, self.colors
        for index, points in zip(near[is_seen].tolist(), seen, strict=True):
            color = grass if index < squares else colors[index - squares]
            aapolygon(surface, points, color)
            filled_polygon(surface, points, color)


class CarShape:
    """The corners of a car's parts, and which part each belongs to."""

    def __init__(self, car: Car) -> None:
        """Read the shapes of a car from Box2D, once."""
        shapes: list[NDArray[np.float32]] = []
        owners: list[int] = []
        self.parts: list[tuple[int, slice, Color]] = []
        first = 0
        for index, body in enumerate(car.drawlist):
            color = tuple(int(channel * 255) for channel in body.color)
            for shape in corners(body):
                shapes.append(shape)
                owners += [index] * len(shape)
                self.parts.append((index, slice(first, first + len(shape)), color))  # type: ignore[arg-type]
                first += len(shape)
        self.points = np.concatenate(shapes)
        self.owners = np.array(owners)


def in_world(
    points: NDArray[np.float32], owners: NDArray[np.int64], poses: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Points [n, 2] of bodies in the world, float32 [n, 2], in Box2D's own arithmetic.

    Args:
        points: In the axes of their bodies.
        owners: The body of each point.
        poses: Cosine, sine, x and y of each body [bodies, 4].
    """
    cosine, sine, place_x, place_y = poses[owners].T
    x, y = points[:, 0], points[:, 1]
    placed = np.empty_like(points)
    placed[:, 0] = (cosine * x - sine * y) + place_x
    placed[:, 1] = (sine * x + cosine * y) + place_y
    return placed


def draw_car(surface: pygame.Surface, view: View, car: Car, marks: bool) -> None:
    """Draw the car, and the marks of its wheels if `marks`, on a picture before it is flipped."""
    pygame = load_pygame()
    polygon = pygame.draw.polygon
    if marks:
        for mark in car.particles:
            points = view.place(np.array(mark.poly, np.float64)).tolist()
            pygame.draw.lines(surface, mark.color, False, points, 2)
    shape: CarShape | None = getattr(car, "_shape", None)
    if shape is None:
        shape = car._shape = CarShape(car)  # type: ignore[attr-defined]
    poses = np.array(
        [(*body.GetWorldVector((1, 0)).tuple, *body.position.tuple) for body in car.drawlist],
        np.float32,
    )
    whites = [(index, white_patch(wheel.phase)) for index, wheel in enumerate(car.wheels)]
    patches = [(index, patch) for index, patch in whites if patch is not None]
    points, owners = shape.points, shape.owners
    if patches:
        points = np.concatenate([points, *(np.array(patch, np.float32) for _, patch in patches)])
        owners = np.concatenate([owners, np.repeat([index for index, _ in patches], 4)])
    pixels = view.place(in_world(points, owners, poses)).tolist()
    first = len(shape.points)
    white_at = {index: first + 4 * place for place, (index, _) in enumerate(patches)}
    for index, part, color in shape.parts:
        polygon(surface, color, pixels[part])
        if index in white_at:
            begin = white_at[index]
            polygon(surface, WHEEL_WHITE, pixels[begin : begin + 4])


def white_patch(phase: float) -> list[Point] | None:
    """The white stripe across a turning wheel, in the wheel's axes; None while it is below."""
    sine, next_sine = math.sin(phase), math.sin(phase + 1.2)
    if sine > 0 and next_sine > 0:
        return None
    cosine, next_cosine = math.cos(phase), math.cos(phase + 1.2)
    if sine > 0:
        cosine = math.copysign(1.0, cosine)
    if next_sine > 0:
        next_cosine = math.copysign(1.0, next_cosine)
    width, near, far = WHEEL_W * SIZE, WHEEL_R * cosine * SIZE, WHEEL_R * next_cosine * SIZE
    return [(-width, near), (width, near), (width, far), (-width, far)]
