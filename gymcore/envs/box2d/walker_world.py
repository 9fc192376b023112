"""The parts of BipedalWalker's world: sizes, terrain, body, and who touches what."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gymcore.envs.box2d.library import load_box2d, makers, nothing_to_solve
from gymcore_ext.box2d.draws import Draws

Box2D: Any = load_box2d()
_create_body, _create_fixture = makers(Box2D)

FPS = 50
SCALE = 30.0  # pixels a metre
MOTORS_TORQUE = 80
SPEED_HIP = 4
SPEED_KNEE = 6
LIDAR_RANGE = 160 / SCALE
LIDAR_RAYS = 10
INITIAL_RANDOM = 5  # N, the push at the start

HULL_POLY = [(-30, +9), (+6, +9), (+34, +1), (+34, -8), (-30, -8)]  # pixels
LEG_DOWN = -8 / SCALE
LEG_W, LEG_H = 8 / SCALE, 34 / SCALE

VIEWPORT_W = 600
VIEWPORT_H = 400

TERRAIN_STEP = 14 / SCALE
TERRAIN_LENGTH = 200  # points
TERRAIN_HEIGHT = VIEWPORT_H / SCALE / 4
TERRAIN_GRASS = 10  # longest stretch between obstacles, steps
TERRAIN_STARTPAD = 20  # flat at the start, steps
FRICTION = 2.5

Point = tuple[float, float]

# Both touch the ground alone (mask 1).
HULL_FD = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(vertices=[(x / SCALE, y / SCALE) for x, y in HULL_POLY]),
    density=5.0,
    friction=0.1,
    categoryBits=0x0020,
    maskBits=0x001,
    restitution=0.0,
)
LEG_FD = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(box=(LEG_W / 2, LEG_H / 2)),
    density=1.0,
    restitution=0.0,
    categoryBits=0x0020,
    maskBits=0x001,
)
LOWER_FD = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(box=(0.8 * LEG_W / 2, LEG_H / 2)),
    density=1.0,
    restitution=0.0,
    categoryBits=0x0020,
    maskBits=0x001,
)
GROUND_BODY = Box2D.b2BodyDef()

GRASS, STUMP, STAIRS, PIT = range(4)


class Terrain(NamedTuple):
    """What an episode's ground is, in metres: its outline, and the boxes of its obstacles."""

    heights: tuple[float, ...]
    boxes: tuple[tuple[Point, ...], ...]


def draw_terrain(random: np.random.Generator, hardcore: bool) -> Terrain:
    """Draw ground from a generator, number by number as Gymnasium does.

    Args:
        random: The environment's generator.
        hardcore: Whether there are stumps, stairs and pits.
    """
    draws = Draws(random)
    uniform, integers = draws.uniform, draws.integers
    heights: list[float] = []
    boxes: list[tuple[Point, ...]] = []
    kind, begins, left = GRASS, False, TERRAIN_STARTPAD
    y, slope = TERRAIN_HEIGHT, 0.0
    base = 0.0  # height of the ground an obstacle stands on
    stairs = stair_width = rise = 0
    step = TERRAIN_STEP
    for i in range(TERRAIN_LENGTH):
        x = i * step
        if kind == GRASS and not begins:
            slope = 0.8 * slope + 0.01 * ((y < TERRAIN_HEIGHT) - (y > TERRAIN_HEIGHT))
            if i > TERRAIN_STARTPAD:
                slope += uniform(-1.0, 1.0) / SCALE
            y += slope
        elif kind == PIT and begins:
            left = integers(3, 5)
            wall = ((x, y), (x + step, y), (x + step, y - 4 * step), (x, y - 4 * step))
            boxes.append(wall)
            boxes.append(tuple((at + step * left, height) for at, height in wall))
            left += 2
            base = y
        elif kind == PIT:
            y = base
            if left > 1:
                y -= 4 * step
        elif kind == STUMP and begins:
            left = integers(1, 3)
            side = left * step
            boxes.append(((x, y), (x + side, y), (x + side, y + side), (x, y + side)))
        elif kind == STAIRS and begins:
            rise = 1 if uniform(0.0, 1.0) > 0.5 else -1
            stair_width = integers(4, 5)
            stairs = integers(3, 5)
            base = y
            for s in range(stairs):
                near, far = x + (s * stair_width) * step, x + ((1 + s) * stair_width) * step
                top, bottom = y + (s * rise) * step, y + (-1 + s * rise) * step
                boxes.append(((near, top), (far, top), (far, bottom), (near, bottom)))
            left = stairs * stair_width
        elif kind == STAIRS:
            s = stairs * stair_width - left - rise
            y = base + (s / stair_width * rise) * step
        begins = False
        heights.append(y)
        left -= 1
        if left == 0:
            left = integers(TERRAIN_GRASS // 2, TERRAIN_GRASS)
            kind = integers(1, 4) if kind == GRASS and hardcore else GRASS
            begins = True
    return Terrain(tuple(heights), tuple(boxes))


def terrain_x() -> list[float]:
    """The x of each point of the ground, metres."""
    return [i * TERRAIN_STEP for i in range(TERRAIN_LENGTH)]


_X = terrain_x()


def counter_clockwise(box: tuple[Point, ...]) -> tuple[Point, ...]:
    """The same box; those of stairs and pits are drawn clockwise."""
    return box if box[0][1] < box[2][1] else box[::-1]


def build_terrain(world: Any, terrain: Terrain) -> list[Any]:
    """Make the ground's bodies, from the right to the left end, as Gymnasium lists them."""
    box_shape, edge_shape = Box2D.b2PolygonShape(box=(1, 1)), Box2D.b2EdgeShape()
    box_fixture = Box2D.b2FixtureDef(shape=box_shape, friction=FRICTION)
    edge_fixture = Box2D.b2FixtureDef(shape=edge_shape, friction=FRICTION, categoryBits=0x0001)
    bodies = []
    for box in terrain.boxes:
        box_shape.vertices = list(box)
        body = _create_body(world, GROUND_BODY)
        _create_fixture(body, box_fixture)
        bodies.append(body)
    # Three hundred microseconds of a reset are here: the setters themselves cost half of what
    # assignments do, and a quarter of a list of vertices.
    begin, end = Box2D.b2EdgeShape.vertex1.fset, Box2D.b2EdgeShape.vertex2.fset
    points = list(zip(_X, terrain.heights, strict=True))
    left = points[0]
    for right in points[1:]:
        begin(edge_shape, left)
        end(edge_shape, right)
        left = right
        body = _create_body(world, GROUND_BODY)
        _create_fixture(body, edge_fixture)
        bodies.append(body)
    bodies.reverse()
    return bodies


class WalkerParts:
    """Definitions of the walker's bodies and joints, made once: they cost more than the things.

    An environment has its own, because the joints' definitions name bodies.
    """

    def __init__(self) -> None:
        x = TERRAIN_STEP * TERRAIN_STARTPAD / 2
        y = TERRAIN_HEIGHT + 2 * LEG_H
        dynamic = Box2D.b2_dynamicBody
        self.hull = Box2D.b2BodyDef(type=dynamic, position=(x, y))
        self.legs: list[tuple[Any, Any, Any]] = []  # body, fixture, and the joint to what is above
        for side in (-1, 1):
            parts = ((LEG_FD, LEG_H / 2, LEG_DOWN), (LOWER_FD, LEG_H * 3 / 2, -LEG_H / 2))
            for knee, (fixture, down, anchor) in enumerate(parts):
                body = Box2D.b2BodyDef(
                    type=dynamic, position=(x, y - down - LEG_DOWN), angle=side * 0.05
                )
                joint = Box2D.b2RevoluteJointDef(
                    localAnchorA=(0, anchor),
                    localAnchorB=(0, LEG_H / 2),
                    # Where the angle counts from: as the bodies stand when the joint is made.
                    referenceAngle=0.0 if knee else side * 0.05,
                    enableMotor=True,
                    enableLimit=True,
                    maxMotorTorque=MOTORS_TORQUE,
                    motorSpeed=1 if knee else side,
                    lowerAngle=-1.6 if knee else -0.8,
                    upperAngle=-0.1 if knee else 1.1,
                )
                self.legs.append((body, fixture, joint))

    def build(self, world: Any, push: float) -> tuple[Any, list[Any], list[Any]]:
        """Make the hull, the legs (upper and lower, twice) and the joints (hip and knee, twice)."""
        hull = _create_body(world, self.hull)
        _create_fixture(hull, HULL_FD)
        hull.ApplyForceToCenter((push, 0), True)
        legs: list[Any] = []
        joints: list[Any] = []
        for index, (definition, fixture, joint) in enumerate(self.legs):
            part = _create_body(world, definition)
            _create_fixture(part, fixture)
            part.ground_contact = False
            joint.bodyA, joint.bodyB = legs[-1] if index % 2 else hull, part
            legs.append(part)
            joints.append(world.CreateJoint(joint))
        return hull, legs, joints


def ray_ends() -> list[Point]:
    """Where each ray of the lidar ends, seen from the hull: from straight down to the front."""
    return [
        (math.sin(1.5 * i / 10.0) * LIDAR_RANGE, -(math.cos(1.5 * i / 10.0) * LIDAR_RANGE))
        for i in range(LIDAR_RAYS)
    ]


class ContactDetector(Box2D.b2ContactListener):
    """Notes which feet touch the ground, and whether the hull has.

    As in Gymnasium, a foot that leaves one piece of ground counts as in the air, even if it still
    touches the next piece: this is the last thing that happened to it.
    """

    PreSolve = PostSolve = nothing_to_solve

    def __init__(self, hull: Any, feet: list[Any]) -> None:
        super().__init__()
        self.hull = hull
        self.feet = feet
        self.fell = False

    def BeginContact(self, contact: Any) -> None:
        """Box2D calls this when two fixtures begin to touch."""
        bodies = (contact.fixtureA.body, contact.fixtureB.body)
        if self.hull in bodies:
            self.fell = True
        for foot in self.feet:
            if foot in bodies:
                foot.ground_contact = True

    def EndContact(self, contact: Any) -> None:
        """Box2D calls this when two fixtures cease to touch."""
        bodies = (contact.fixtureA.body, contact.fixtureB.body)
        for foot in self.feet:
            if foot in bodies:
                foot.ground_contact = False
