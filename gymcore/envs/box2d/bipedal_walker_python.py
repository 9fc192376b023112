"""BipedalWalker in Python: its definitions, pictures, and what runs where compiled code cannot."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import check_options, invalid_action
from gymcore.core import Info, Options
from gymcore.envs.box2d.box2d_env import (
    Body,
    Box2D,
    Box2DEnv,
    ContactDetector,
    Definition,
    Joint,
    Move,
    Start,
    World,
    corners,
    edges,
)
from gymcore.rendering.shapes import (
    Color,
    Pixels,
    Point,
    bar,
    convex_polygon,
    disc,
    outlined_polygon,
    paint,
    vertical_gradient,
)

if TYPE_CHECKING:
    import pygame

__all__ = [
    "FPS",
    "FRICTION",
    "HULL_FD",
    "HULL_POLY",
    "INITIAL_RANDOM",
    "LEG_DOWN",
    "LEG_FD",
    "LEG_H",
    "LEG_W",
    "LIDAR_RANGE",
    "LOWER_FD",
    "MOTORS_TORQUE",
    "SCALE",
    "SPEED_HIP",
    "SPEED_KNEE",
    "TERRAIN_GRASS",
    "TERRAIN_HEIGHT",
    "TERRAIN_LENGTH",
    "TERRAIN_STARTPAD",
    "TERRAIN_STEP",
    "VIEWPORT_H",
    "VIEWPORT_W",
]

FPS = 50
SCALE = 30.0  # pixels a meter
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

# All collide only with the ground (mask 1).
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

# The x of each point of the ground, and the end of each lidar ray relative to the hull, from
# straight down to the front. Meters.
GROUND_X = [i * TERRAIN_STEP for i in range(TERRAIN_LENGTH)]
RAY_ENDS = [
    (math.sin(1.5 * i / 10.0) * LIDAR_RANGE, -(math.cos(1.5 * i / 10.0) * LIDAR_RANGE))
    for i in range(LIDAR_RAYS)
]

_WIDTH = VIEWPORT_W / SCALE
_HEIGHT = VIEWPORT_H / SCALE
_GOAL = (TERRAIN_LENGTH - TERRAIN_GRASS) * TERRAIN_STEP
_TORQUE_COST = 0.00035 * MOTORS_TORQUE
_SPEEDS = (float(SPEED_HIP), float(SPEED_KNEE), float(SPEED_HIP), float(SPEED_KNEE))
_CLOUDS = TERRAIN_LENGTH // 20
_CLOUD_CORNERS = 5

Clouds = tuple[tuple[Point, ...], ...]


def ground_polygons(x: list[float], y: list[float]) -> list[tuple[list[Point], Color]]:
    """Return the corners [4] and the color of each piece of the ground, meters."""
    points = itertools.pairwise(zip(x, y, strict=False))
    return [([a, b, (b[0], 0), (a[0], 0)], (102, 153, 76)) for a, b in points]


def cloud_polygons(clouds: Clouds) -> list[tuple[list[Point], float, float]]:
    """Return the corners of each cloud, and its lowest and highest x, meters."""
    return [(list(cloud), min(cloud)[0], max(cloud)[0]) for cloud in clouds]


class BipedalWalker(Box2DEnv[npt.NDArray[np.float32]]):
    """See `gymcore.envs.box2d.bipedal_walker.BipedalWalker`: the same bit for bit.

    States of later episodes are exact only with `fresh_worlds`.
    """

    fresh_worlds = game_over = False
    counters = ("prev_shaping", "scroll")
    settings = ("hardcore",)
    _not_pickled = (
        "world", "hull", "terrain", "legs", "joints", "drawlist", "fd_polygon", "fd_edge",
        "lidar",
    )  # fmt: skip

    def __init__(self, render_mode: str | None = None, hardcore: bool = False) -> None:
        """Make a walker; see the compiled environment for the arguments."""
        self.render_mode = render_mode
        self.hardcore = hardcore
        self.observation_space, self.action_space = walker_spaces()
        self.prev_shaping: float | None = None
        self.terrain_x = list(GROUND_X)
        self.terrain_y: list[float] = []
        self.terrain_poly = ground_polygons([], [])
        self.cloud_poly = cloud_polygons(())
        self.scroll = 0.0
        self._no_world()
        self._moves = []

    def _no_world(self) -> None:
        self.world: World = Box2D.b2World()
        box, edge = Box2D.b2PolygonShape(box=(1, 1)), Box2D.b2EdgeShape()
        self.fd_polygon = Box2D.b2FixtureDef(shape=box, friction=FRICTION)
        self.fd_edge = Box2D.b2FixtureDef(shape=edge, friction=FRICTION, categoryBits=0x0001)
        self.hull: Any = None
        self.terrain: list[Body] = []
        self.legs: list[Body] = []
        self.joints: list[Joint] = []
        self.drawlist: list[Body] = []
        self.lidar: list[Any] = []

    def _hull(self) -> Body | None:
        return self.hull

    # --- an episode ----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.float32], Info]:
        """Begin an episode: new ground, and a small push.

        `seed` seeds `np_random`; there are no `options`.
        """
        check_options(options)
        super().reset(seed=seed)
        self.scroll = 0.0
        if self.fresh_worlds:
            self._no_world()
        self._build((self.np_random.bit_generator.state,))
        self.prev_shaping = None
        return self.step(np.zeros(4, np.float32))[0], {}

    def _begin(self, start: Start) -> None:
        """Put ground and walker into the world, and remove those of the last episode."""
        self._destroy()
        self._boxes: tuple[tuple[Point, ...], ...] = ()
        self._generate_terrain(self.hardcore)
        self._generate_clouds()
        push = float(self.np_random.uniform(-INITIAL_RANDOM, INITIAL_RANDOM))
        self.hull, self.legs, self.joints = WalkerParts().build(self.world, push)
        self.drawlist = [*self.terrain, *self.legs, self.hull]
        self.game_over, self.lidar, self.lidar_render = False, [_Ray() for _ in RAY_ENDS], 0
        self.world.contactListener_keepref = self.world.contactListener = ContactDetector(self)

    def _destroy(self) -> None:
        """Remove ground and walker from the world, if they are in it."""
        # Box2D orders contacts by the destruction and creation of bodies.
        self.world.contactListener = None
        if self.hull is not None:
            for body in (*self.terrain, self.hull, *self.legs):
                self.world.DestroyBody(body)
        self.terrain, self.hull, self.legs, self.joints = [], None, [], []

    def _generate_terrain(self, hardcore: bool) -> None:
        """Draw the ground and put it into the world."""
        terrain = draw_terrain(self.np_random, hardcore)
        self._boxes = terrain.boxes
        self.terrain_x, self.terrain_y = list(GROUND_X), list(terrain.heights)
        self.terrain_poly = ground_polygons(self.terrain_x, self.terrain_y)
        self.terrain = build_terrain(self.world, terrain)

    def _generate_clouds(self) -> None:
        numbers = self.np_random.random((_CLOUDS, 1 + 2 * _CLOUD_CORNERS))
        self.cloud_poly = cloud_polygons(make_clouds(numbers))

    @property
    def lidar_fractions(self) -> list[float]:
        """The fraction of each ray that is free; empty before the first reset."""
        return [ray.fraction for ray in self.lidar]

    @property
    def clouds(self) -> Clouds:
        """The corners of the clouds, meters."""
        return tuple(tuple(corners) for corners, *_ in self.cloud_poly)

    # --- a step --------------------------------------------------------------------------------

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Step by four numbers; the torques are clipped to [-1, 1].

        Raises:
            InvalidAction: If `action` is not four numbers (also an `AssertionError`).
            ResetNeeded: If `reset` has not been called.
        """
        hull = self.hull
        if hull is None:
            raise error.ResetNeeded("step: call reset() first")
        move, costs = self._checked(action)
        self._take(move)

        position, velocity = hull.position, hull.linearVelocity
        x = position.x
        angle = hull.angle
        observed = [
            angle,
            2.0 * hull.angularVelocity / FPS,
            0.3 * velocity.x * _WIDTH / FPS,
            0.3 * velocity.y * _HEIGHT / FPS,
        ]
        for leg in (0, 2):
            hip, knee = self.joints[leg : leg + 2]
            observed += (
                hip.angle,
                hip.speed / SPEED_HIP,
                knee.angle + 1.0,
                knee.speed / SPEED_KNEE,
                1.0 if self.legs[leg + 1].ground_contact else 0.0,
            )
        observation = np.array(observed + self.lidar_fractions, np.float32)
        self.scroll = x - _WIDTH / 5
        shaping = 130 * x / SCALE - 5.0 * abs(angle)
        previous = self.prev_shaping
        self.prev_shaping = shaping
        # In the precision of the action, one motor after the other, as Gymnasium rounds.
        reward = costs.dtype.type(0.0 if previous is None else shaping - previous)
        for cost in costs:
            reward -= cost
        terminated = False
        if self.game_over or x < 0:
            terminated, reward = True, -100
        if x > _GOAL:
            terminated = True
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    def _checked(self, action: npt.ArrayLike) -> tuple[tuple[float, ...], np.ndarray]:
        """The action as four floats, and what each costs, in the precision of the action."""
        try:
            numbers = np.asarray(action)
            costs = np.minimum(np.abs(numbers), 1) * _TORQUE_COST
            move = tuple(map(float, numbers.tolist()))
        except (TypeError, ValueError, OverflowError):
            move = ()
        # NaN would spread to all bodies and never leave them.
        if len(move) != 4 or math.isnan(sum(map(abs, move))):
            raise invalid_action(action, "four numbers, none of them NaN")
        return move, costs

    def _move(self, move: Move) -> None:
        """Set the motors, step the world, and cast the rays."""
        for joint, speed, number in zip(self.joints, _SPEEDS, move, strict=True):
            joint.motorSpeed = speed if number > 0 else -speed if number < 0 else 0.0
            joint.maxMotorTorque = MOTORS_TORQUE * min(abs(number), 1.0)
        self.world.Step(1.0 / FPS, 180, 60)
        x, y = self.hull.position
        for ray, (dx, dy) in zip(self.lidar, RAY_ENDS, strict=True):
            ray.fraction, ray.p1, ray.p2 = 1.0, (x, y), (x + dx, y + dy)
            self.world.RayCast(ray, ray.p1, ray.p2)

    # --- rendering -----------------------------------------------------------------------------

    def _draw(self, surface: pygame.Surface) -> None:
        shapes = Box2D.b2PolygonShape  # of obstacles that a subclass has made
        bodies = [body for body in self.terrain if isinstance(body.fixtures[0].shape, shapes)]
        draw(surface, self, self._boxes or [*map(corners, bodies)], len(self._moves))


def walker_spaces() -> tuple[spaces.Box, spaces.Box]:
    """Return the observation space and the action space."""
    joints = [math.pi, 5.0, math.pi, 5.0, 5.0] * 2
    high = np.array([math.pi, 5.0, 5.0, 5.0, *joints, *[1.0] * 10], np.float32)
    low = -high
    low[[8, 13]] = -0.0
    return spaces.Box(low, high), spaces.Box(-1, 1, (4,), np.float32)


# --- the world -----------------------------------------------------------------------------------


class Terrain(NamedTuple):
    """The ground of an episode, in meters: its outline, and the boxes of its obstacles."""

    heights: tuple[float, ...]
    boxes: tuple[tuple[Point, ...], ...]


def draw_terrain(random: np.random.Generator, hardcore: bool) -> Terrain:
    """Draw the ground from a generator, in Gymnasium's order; `hardcore` adds obstacles."""
    draw = random.random

    def integer(low: int, high: int) -> int:
        return int(random.integers(low, high))

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
                # The bits of `uniform(-1, 1)` in a quarter of the time.
                slope += (-1.0 + 2.0 * draw()) / SCALE
            y += slope
        elif kind == PIT and begins:
            left = integer(3, 5)
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
            left = integer(1, 3)
            side = left * step
            boxes.append(((x, y), (x + side, y), (x + side, y + side), (x, y + side)))
        elif kind == STAIRS and begins:
            rise = 1 if draw() > 0.5 else -1
            stair_width = integer(4, 5)
            stairs = integer(3, 5)
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
            left = integer(TERRAIN_GRASS // 2, TERRAIN_GRASS)
            kind = integer(1, 4) if kind == GRASS and hardcore else GRASS
            begins = True
    return Terrain(tuple(heights), tuple(boxes))


class _Ray(Box2D.b2RayCastCallback):
    """The free `fraction` of a ray, its start `p1` and the end `p2` of the free part."""

    def ReportFixture(self, fixture: Any, point: Point, normal: object, fraction: float) -> float:
        """Box2D calls this for each fixture that the ray hits; the walker is transparent."""
        if not fixture.filterData.categoryBits & 0x0001:
            return -1.0
        self.fraction, self.p2 = fraction, (point[0], point[1])
        return fraction


def build_terrain(world: World, terrain: Terrain) -> list[Body]:
    """Make the ground's bodies, from the right to the left end, as Gymnasium lists them."""
    box_shape = Box2D.b2PolygonShape(box=(1, 1))
    box_fixture = Box2D.b2FixtureDef(shape=box_shape, friction=FRICTION)
    bodies = []
    for box in terrain.boxes:
        box_shape.vertices = list(box)
        body = world.CreateBody(GROUND_BODY)
        body.CreateFixture(box_fixture)
        bodies.append(body)
    points = zip(GROUND_X, terrain.heights, strict=True)
    for fixture in edges(points, friction=FRICTION, categoryBits=0x0001):
        body = world.CreateBody(GROUND_BODY)
        body.CreateFixture(fixture)
        bodies.append(body)
    paint_terrain(bodies, len(terrain.boxes))
    bodies.reverse()
    return bodies


def paint_terrain(bodies: Sequence[Body], box_count: int) -> None:
    """Give the ground's bodies, as they were made, the colors that Gymnasium's have."""
    for index, body in enumerate(bodies):
        grass = (76, 204 if (index - box_count) % 2 else 255, 76)
        is_box = index < box_count
        body.color1, body.color2 = ((255,) * 3, (153,) * 3) if is_box else (grass, grass)


class WalkerParts:
    """Definitions of the walker's bodies and joints."""

    def __init__(self) -> None:
        x = TERRAIN_STEP * TERRAIN_STARTPAD / 2
        y = TERRAIN_HEIGHT + 2 * LEG_H
        dynamic = Box2D.b2_dynamicBody
        self.hull = Box2D.b2BodyDef(type=dynamic, position=(x, y))
        self.legs: list[
            tuple[Definition, Definition, Definition]
        ] = []  # body, fixture, and the joint to what is above
        for side in (-1, 1):
            parts = ((LEG_FD, LEG_H / 2, LEG_DOWN), (LOWER_FD, LEG_H * 3 / 2, -LEG_H / 2))
            for knee, (fixture, down, anchor) in enumerate(parts):
                body = Box2D.b2BodyDef(
                    type=dynamic, position=(x, y - down - LEG_DOWN), angle=side * 0.05
                )
                joint = Box2D.b2RevoluteJointDef(
                    localAnchorA=(0, anchor),
                    localAnchorB=(0, LEG_H / 2),
                    # The angle between the bodies when the joint is made.
                    referenceAngle=0.0 if knee else side * 0.05,
                    enableMotor=True,
                    enableLimit=True,
                    maxMotorTorque=MOTORS_TORQUE,
                    motorSpeed=1 if knee else side,
                    lowerAngle=-1.6 if knee else -0.8,
                    upperAngle=-0.1 if knee else 1.1,
                )
                self.legs.append((body, fixture, joint))

    def build(self, world: World, push: float) -> tuple[Body, list[Body], list[Joint]]:
        """Make the hull, the legs (upper and lower, twice) and the joints (hip and knee, twice)."""
        hull = world.CreateBody(self.hull)
        hull.CreateFixture(HULL_FD)
        hull.ApplyForceToCenter((push, 0), True)
        hull.color1, hull.color2 = (127, 51, 229), (76, 76, 127)
        legs: list[Body] = []
        joints: list[Joint] = []
        for index, (definition, fixture, joint) in enumerate(self.legs):
            part = world.CreateBody(definition)
            part.CreateFixture(fixture)
            if index % 2:
                part.ground_contact = False
            light = 25 if index < 2 else -25
            part.color1 = (153 + light, 76 + light, 127 + light)
            part.color2 = (102 + light, 51 + light, 76 + light)
            joint.bodyA, joint.bodyB = legs[-1] if index % 2 else hull, part
            legs.append(part)
            joints.append(world.CreateJoint(joint))
        return hull, legs, joints


def make_clouds(numbers: npt.NDArray[np.float64]) -> Clouds:
    """Return the corners of the clouds, meters, from random numbers [10, 11]."""
    turns = [3.14 * 2 * corner / 5 for corner in range(_CLOUD_CORNERS)]
    y = _HEIGHT * 3 / 4
    clouds = []
    for place, *offsets in numbers.tolist():
        x = TERRAIN_LENGTH * place * TERRAIN_STEP
        corners = zip(turns, offsets[::2], offsets[1::2], strict=True)
        clouds.append(
            tuple(
                (
                    x + 15 * TERRAIN_STEP * math.sin(turn) + 5 * TERRAIN_STEP * right,
                    y + 5 * TERRAIN_STEP * math.cos(turn) + 5 * TERRAIN_STEP * up,
                )
                for turn, right, up in corners
            )
        )
    return tuple(clouds)


# --- rendering -----------------------------------------------------------------------------------

SKY_TOP, SKY_BOTTOM = (176, 205, 238), (236, 243, 250)
CLOUD: Color = (226, 236, 247)
GRASS_COLOR: Color = (108, 158, 84)
EARTH: Color = (134, 112, 84)
STONE: Color = (206, 204, 196)
STONE_EDGE: Color = (138, 136, 130)
HULL: Color = (134, 104, 190)
HULL_EDGE: Color = (82, 58, 132)
# The leg behind, darker, and the one in front.
LEGS: tuple[tuple[Color, Color], ...] = (
    ((166, 108, 146), (110, 62, 98)),
    ((202, 142, 178), (128, 78, 114)),
)
RAY: Color = (226, 66, 66)
FLAG: Color = (230, 72, 60)
POLE: Color = (70, 70, 76)

TURF = 9.0  # pixels of grass
FLAGPOLE = 50.0


def draw(surface: pygame.Surface, env: Any, boxes: Sequence[Sequence[Point]], steps: int) -> None:
    """Draw a walker, of this class or the compiled one, after so many steps over these boxes."""
    size, left = surface.get_size(), env.scroll
    surface.blit(_sky(size), (0, 0))

    def pixel(x: float, y: float) -> Point:
        return (x - left) * SCALE, VIEWPORT_H - y * SCALE

    def outline(body: Body) -> list[Point]:
        return [pixel(*corner) for corner in corners(body)]

    def is_visible(points: Sequence[Point]) -> bool:
        return max(x for x, _ in points) > 0 and min(x for x, _ in points) < size[0]

    for cloud in env.clouds:
        # Far away, so that they move at half the speed.
        points = [pixel(x + left / 2, y) for x, y in cloud]
        if is_visible(points):
            convex_polygon(surface, CLOUD, points)
    flag_x, flag_y = pixel(TERRAIN_STEP * 3, TERRAIN_HEIGHT)
    if flag_x > -40.0:
        x, top = round(flag_x) + 0.5, flag_y - FLAGPOLE
        bar(surface, POLE, (x, flag_y), (x, top), 1.0, 0.5)
        convex_polygon(
            surface, FLAG, [(x + 1.0, top), (x + 25.0, top + 6.0), (x + 1.0, top + 12.0)]
        )
    _draw_ground(surface, [pixel(*p) for p in zip(env.terrain_x, env.terrain_y, strict=True)])
    for box in boxes:
        points = [pixel(*corner) for corner in box]
        if is_visible(points):
            outlined_polygon(surface, STONE, STONE_EDGE, points, 1.5)
    # One ray of the lidar after the other.
    ray = steps % LIDAR_RAYS
    fraction = env.lidar_fractions[ray] if env.lidar_fractions else 0.0
    x, y = env.hull.position
    end = pixel(x + fraction * RAY_ENDS[ray][0], y + fraction * RAY_ENDS[ray][1])
    bar(surface, RAY, pixel(x, y), end, 0.6, 0.5)
    disc(surface, RAY, end, 2.4)
    for leg in env.legs[:2]:
        outlined_polygon(surface, *LEGS[0], outline(leg), 1.2)
    outlined_polygon(surface, HULL, HULL_EDGE, outline(env.hull), 1.6)
    for leg in env.legs[2:]:
        outlined_polygon(surface, *LEGS[1], outline(leg), 1.2)


@functools.lru_cache(maxsize=4)
def _sky(size: tuple[int, int]) -> pygame.Surface:
    """Return the sky; cached, so callers must not draw on it."""
    return vertical_gradient(size, SKY_TOP, SKY_BOTTOM)


def _draw_ground(surface: pygame.Surface, ground: Sequence[Point]) -> None:
    """Draw earth under turf; `ground` is its outline from left to right, in pixels."""
    width, height = surface.get_size()
    visible = [point for point in ground if -60.0 < point[0] < width + 60.0]
    if len(visible) < 2:
        return
    xs, ys = np.array(visible).T
    steepness = np.sqrt(1.0 + (np.diff(ys) / np.diff(xs)) ** 2)
    # Nothing is painted left of the first point and right of the last one.
    left, right = max(0.0, xs[0]), min(float(width), xs[-1])
    top = max(0.0, float(ys.min()) - 1.0)
    center = ((left + right) / 2.0, (top + height) / 2.0)
    reach = ((right - left) / 2.0 - 1.0, (height - top) / 2.0)
    for depth, color in ((0.0, GRASS_COLOR), (TURF, EARTH)):

        def above_ground(x: Pixels, y: Pixels, depth: float = depth) -> Pixels:
            columns = x[0] + center[0]
            piece = np.clip(np.searchsorted(xs, columns) - 1, 0, len(steepness) - 1)
            rows = (np.interp(columns, xs, ys) - center[1]).astype(np.float32)
            slant = (1.0 / steepness[piece]).astype(np.float32)
            distances: Pixels = (rows - y) * slant + np.float32(depth)
            return distances

        paint(surface, color, center, reach, above_ground)
