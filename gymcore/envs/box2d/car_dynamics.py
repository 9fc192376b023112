"""The car of CarRacing: a hull, four wheels on joints, and the friction of the tires.

The model is a top-down one: each wheel rotates at its own speed, a tire pulls the wheel
toward rolling without slip, and it skids where that takes more force than friction allows.
Constants and order of the arithmetic are those of Gymnasium's CarRacing-v3, with which the car
agrees bit for bit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gymcore.envs.box2d.box2d_env import Body, Box2D, Definition, World
from gymcore.rendering.shapes import Color, Point
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame


SIZE = 0.02
ENGINE_POWER = 100000000 * SIZE * SIZE
WHEEL_MOMENT_OF_INERTIA = 4000 * SIZE * SIZE
FRICTION_LIMIT = 1000000 * SIZE * SIZE  # on a surface of friction 1
WHEEL_R = 27
WHEEL_W = 14
WHEELPOS = [(-55, 80), (55, 80), (-55, -82), (55, -82)]  # front left and right, rear left and right
HULL_POLY1 = [(-60, 130), (60, 130), (60, 110), (-60, 110)]
HULL_POLY2 = [(-15, 120), (15, 120), (20, 20), (-20, 20)]
HULL_POLY3 = [
    (25, 20),
    (50, -10),
    (50, -40),
    (20, -90),
    (-20, -90),
    (-50, -40),
    (-50, -10),
    (-25, 20),
]
HULL_POLY4 = [(-50, -120), (50, -120), (50, -90), (-50, -90)]
HULL_POLYS = [
    [(x * SIZE, y * SIZE) for x, y in corners]
    for corners in (HULL_POLY1, HULL_POLY2, HULL_POLY3, HULL_POLY4)
]
HULL_COLOR = (0.8, 0.0, 0.0)
WHEEL_COLOR = (0, 0, 0)
WHEEL_WHITE = (77, 77, 77)
MUD_COLOR = (102, 102, 0)

_GRASS_FRICTION = 0.6
_GAS_STEP = 0.1  # maximum travel of the pedal in a step
_STEER_SPEED = 3.0  # radians a second
_BRAKE_FORCE = 15
_FULL_BRAKE = 0.9
_TYRE = 205000 * SIZE * SIZE
_MAX_MARK_POINTS = 30
_MAX_MARKS = 30


@dataclass
class Particle:
    """The mark of a skidding wheel.

    Attributes:
        color: Red, green and blue, 0 to 255.
        poly: Points along the mark, in meters.
        grass: Whether it is on grass.
        ttl: Not used.
    """

    color: tuple[int, int, int]
    poly: list[tuple[float, float]]
    grass: bool
    ttl: int = 1


def _sign(value: float) -> float:
    return 1.0 if value > 0 else (-1.0 if value < 0 else value * 0.0)


def mark_color(on_grass: bool) -> Color:
    """The color of a mark."""
    return MUD_COLOR if on_grass else WHEEL_COLOR


def wheel_definitions() -> tuple[Definition, Definition, list[Definition]]:
    """Definitions of a wheel's body and fixture, and of the joint of each wheel to the hull."""
    width, radius = WHEEL_W * SIZE, WHEEL_R * SIZE
    corners = [(-width, radius), (width, radius), (width, -radius), (-width, -radius)]
    fixture = Box2D.b2FixtureDef(
        shape=Box2D.b2PolygonShape(vertices=corners),
        density=0.1,
        categoryBits=0x0020,
        maskBits=0x001,
        restitution=0.0,
    )
    joints = [
        Box2D.b2RevoluteJointDef(
            localAnchorA=(x * SIZE, y * SIZE),
            localAnchorB=(0, 0),
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=180 * 900 * SIZE * SIZE,
            motorSpeed=0,
            lowerAngle=-0.4,
            upperAngle=+0.4,
        )
        for x, y in WHEELPOS
    ]
    return Box2D.b2BodyDef(type=Box2D.b2_dynamicBody), fixture, joints


class Car:
    """A car with rear drive.

    Attributes:
        hull: The body (`b2Body`).
        wheels: The four wheels, bodies with the attributes `gas`, `brake`, `steer` (what
            the driver does), `omega` (radians a second), `phase` (radians), `joint`, `tiles` (the
            pieces of road below it).
        fuel_spent: Joules since it was last set to 0.
        particles: The newest marks of skidding wheels.
        leaves_marks: Whether skidding wheels leave marks. They are only drawn.

    Examples:
        >>> car = Car(Box2D.b2World((0, 0)), 0.0, 10.0, 20.0)
        >>> car.gas(1.0)
        >>> car.step(0.02)
        >>> [round(wheel.omega, 2) for wheel in car.wheels]
        [0.0, 0.0, 8.38, 8.38]
    """

    leaves_marks: bool = True

    def __init__(self, world: World, init_angle: float, init_x: float, init_y: float) -> None:
        """Put a car into the world at (x, y) meters; angles are radians, 0 along the y axis."""
        self.world = world
        self.hull: Body = world.CreateDynamicBody(
            position=(init_x, init_y),
            angle=init_angle,
            fixtures=[
                Box2D.b2FixtureDef(shape=Box2D.b2PolygonShape(vertices=corners), density=1.0)
                for corners in HULL_POLYS
            ],
        )
        self.hull.color = HULL_COLOR
        body, fixture, joints = wheel_definitions()
        body.angle = init_angle
        self.wheels: list[Body] = []
        for (x, y), joint in zip(WHEELPOS, joints, strict=True):
            body.position = (init_x + x * SIZE, init_y + y * SIZE)
            self.wheels.append(self._add_wheel(body, fixture, joint))
        self.fuel_spent = 0.0
        self.drawlist = [*self.wheels, self.hull]
        self.particles: deque[Particle] = deque(maxlen=_MAX_MARKS)

    def _add_wheel(self, body: Definition, fixture: Definition, joint: Definition) -> Body:
        wheel = self.world.CreateBody(body)
        wheel.CreateFixture(fixture)
        wheel.wheel_rad = WHEEL_R * SIZE
        wheel.color = WHEEL_COLOR
        wheel.gas = wheel.brake = wheel.steer = wheel.phase = wheel.omega = 0.0
        wheel.skid_start = wheel.skid_particle = None
        joint.bodyA, joint.bodyB = self.hull, wheel
        wheel.joint = self.world.CreateJoint(joint)
        wheel.tiles = set()
        wheel.userData = wheel
        return wheel

    def gas(self, gas: float) -> None:
        """Press the gas pedal, 0 to 1; it travels at most a tenth in a step."""
        gas = min(max(gas, 0.0), 1.0)
        for wheel in self.wheels[2:4]:
            change = gas - wheel.gas
            wheel.gas += min(change, _GAS_STEP)

    def brake(self, b: float) -> None:
        """Press the brake, 0 to 1; more than 0.9 locks the wheels."""
        for wheel in self.wheels:
            wheel.brake = b

    def steer(self, s: float) -> None:
        """Turn the steering wheel, -1 (right) to 1 (left): the front wheels turn toward it."""
        self.wheels[0].steer = s
        self.wheels[1].steer = s

    def step(self, dt: float) -> None:
        """Turn the wheels and apply the tires' forces for `dt` seconds; then step the world."""
        push = dt * ENGINE_POWER
        for wheel in self.wheels:
            joint = wheel.joint
            missing = wheel.steer - joint.angle
            joint.motorSpeed = _sign(missing) * min(50.0 * abs(missing), _STEER_SPEED)

            grip = FRICTION_LIMIT * _GRASS_FRICTION
            on_grass = True
            for tile in wheel.tiles:
                grip = max(grip, FRICTION_LIMIT * tile.road_friction)
                on_grass = False

            # The wheel's own axes in the world: to its side, and ahead a quarter turn from that.
            side_x, side_y = wheel.GetWorldVector((1, 0)).tuple
            ahead_x, ahead_y = -side_y, side_x
            speed_x, speed_y = wheel.linearVelocity.tuple
            speed_ahead = ahead_x * speed_x + ahead_y * speed_y
            speed_side = side_x * speed_x + side_y * speed_y

            # Power is torque times omega; the 5 keeps the torque finite at rest.
            omega = wheel.omega
            omega += push * wheel.gas / WHEEL_MOMENT_OF_INERTIA / (abs(omega) + 5.0)
            self.fuel_spent += push * wheel.gas
            brake = wheel.brake
            if brake >= _FULL_BRAKE:
                omega = 0.0
            elif brake > 0:
                omega += -_sign(omega) * min(_BRAKE_FORCE * brake, abs(omega))
            wheel.phase += omega * dt

            radius = wheel.wheel_rad
            force_ahead = (-speed_ahead + omega * radius) * _TYRE
            force_side = -speed_side * _TYRE
            force = math.sqrt(force_ahead * force_ahead + force_side * force_side)
            if self.leaves_marks:
                self._mark(wheel, force > 2.0 * grip, on_grass)
            if force > grip:
                force_ahead = force_ahead / force * grip
                force_side = force_side / force * grip
            wheel.omega = omega - dt * force_ahead * radius / WHEEL_MOMENT_OF_INERTIA
            wheel.ApplyForceToCenter(
                (
                    force_side * side_x + force_ahead * ahead_x,
                    force_side * side_y + force_ahead * ahead_y,
                ),
                True,
            )

    def _mark(self, wheel: Body, skids: bool, on_grass: bool) -> None:
        """Begin, extend or end the mark that a wheel leaves."""
        if not skids:
            wheel.skid_start = wheel.skid_particle = None
            return
        mark = wheel.skid_particle
        if mark is not None and mark.grass == on_grass and len(mark.poly) < _MAX_MARK_POINTS:
            mark.poly.append(wheel.position.tuple)
        elif wheel.skid_start is None:
            wheel.skid_start = wheel.position.tuple
        else:
            # A skid of one step leaves no mark, and the mark begins with the second.
            here = wheel.position.tuple
            mark = Particle(mark_color(on_grass), [here, here], on_grass)
            self.particles.append(mark)
            wheel.skid_particle = mark
            wheel.skid_start = None

    def draw(
        self,
        surface: pygame.Surface,
        zoom: float,
        translation: tuple[float, float],
        angle: float,
        draw_particles: bool = True,
    ) -> None:
        """Draw the car on a surface whose y axis points up.

        Args:
            surface: The surface to draw on.
            zoom: Pixels a meter.
            translation: Pixels from the surface's corner to the world's origin.
            angle: Rotation of the world around its origin, in radians.
            draw_particles: Whether the marks of skidding wheels are drawn, below the car.
        """
        pygame, view = load_pygame(), View(zoom, translation, angle)
        polygon = pygame.draw.polygon
        if draw_particles:
            for mark in self.particles:
                points = view.place(np.array(mark.poly, np.float64)).tolist()
                pygame.draw.lines(surface, mark.color, False, points, 2)
        for index, body in enumerate(self.drawlist):
            red, green, blue = (int(channel * 255) for channel in body.color)
            for fixture in body.fixtures:
                polygon(surface, (red, green, blue), view.outline(body, fixture.shape.vertices))
            if index < len(self.wheels) and (patch := white_patch(body.phase)) is not None:
                polygon(surface, WHEEL_WHITE, view.outline(body, patch))

    def destroy(self) -> None:
        """Remove the car from the world."""
        self.world.DestroyBody(self.hull)
        self.hull = None
        for wheel in self.wheels:
            self.world.DestroyBody(wheel)
        self.wheels = []


# --- rendering -----------------------------------------------------------------------------------


class View:
    """A mapping from the world to the pixels of an image whose y axis points up.

    Attributes:
        zoom: Pixels a meter.
        translation: Pixels from the image's corner to the world's origin.
        cosine, sine: Of the angle by which the world is rotated.
    """

    def __init__(self, zoom: float, translation: Point, angle: float) -> None:
        """Take scale, translation and the angle by which the world is rotated."""
        self.zoom = zoom
        self.translation = translation
        self.cosine, self.sine = rotation(angle)

    def place(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Points [..., 2] of the world as float64 [..., 2] pixels."""
        x, y = points[..., 0].astype(np.float64), points[..., 1].astype(np.float64)
        pixels = np.empty(points.shape, np.float64)
        pixels[..., 0] = (self.cosine * x - self.sine * y) * self.zoom + self.translation[0]
        pixels[..., 1] = (self.sine * x + self.cosine * y) * self.zoom + self.translation[1]
        return pixels

    def outline(self, body: Body, corners: Iterable[Point]) -> list[Point]:
        """Corners in the axes of a body as pixels."""
        points = np.array([body.GetWorldPoint(corner).tuple for corner in corners])
        pixels: list[Point] = self.place(points).tolist()
        return pixels


def rotation(angle: float) -> tuple[float, float]:
    """Cosine and sine of an angle as pygame's vectors have them: exact near quarter turns."""
    axis = load_pygame().math.Vector2(1.0, 0.0).rotate_rad(angle)
    return axis.x, axis.y


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
