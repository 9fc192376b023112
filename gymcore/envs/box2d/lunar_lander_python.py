"""LunarLander in Python: its definitions, pictures, and what runs where compiled code cannot."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger, spaces
from gymcore.base.arguments import check_options, invalid_action
from gymcore.core import Info, Options
from gymcore.envs.box2d.box2d_env import (
    Body,
    Box2D,
    Box2DEnv,
    ContactDetector,
    Definition,
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
    "INITIAL_RANDOM",
    "LANDER_POLY",
    "LEG_AWAY",
    "LEG_DOWN",
    "LEG_H",
    "LEG_SPRING_TORQUE",
    "LEG_W",
    "MAIN_ENGINE_POWER",
    "MAIN_ENGINE_Y_LOCATION",
    "SCALE",
    "SIDE_ENGINE_AWAY",
    "SIDE_ENGINE_HEIGHT",
    "SIDE_ENGINE_POWER",
    "VIEWPORT_H",
    "VIEWPORT_W",
]

FPS = 50
SCALE = 30.0  # pixels a meter
MAIN_ENGINE_POWER = 13.0
SIDE_ENGINE_POWER = 0.6
INITIAL_RANDOM = 1000.0  # N, the push at the start

# Pixels.
LANDER_POLY = [(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)]
LEG_AWAY = 20
LEG_DOWN = 18
LEG_W, LEG_H = 2, 8
LEG_SPRING_TORQUE = 40
SIDE_ENGINE_HEIGHT = 14
SIDE_ENGINE_AWAY = 12
MAIN_ENGINE_Y_LOCATION = 4
VIEWPORT_W = 600
VIEWPORT_H = 400

CHUNKS = 11  # points of the ground
WIDTH = VIEWPORT_W / SCALE
HEIGHT = VIEWPORT_H / SCALE
GROUND_X = [WIDTH / (CHUNKS - 1) * i for i in range(CHUNKS)]
HALF_WIDTH, HALF_HEIGHT = WIDTH / 2, HEIGHT / 2
HELIPAD_Y = HEIGHT / 4
REST_Y = HELIPAD_Y + LEG_DOWN / SCALE  # of a lander that stands on the pad

# Both collide only with the ground (mask 1).
HULL = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(vertices=[(x / SCALE, y / SCALE) for x, y in LANDER_POLY]),
    density=5.0,
    friction=0.1,
    categoryBits=0x0010,
    maskBits=0x001,
    restitution=0.0,
)
LEG = Box2D.b2FixtureDef(
    shape=Box2D.b2PolygonShape(box=(LEG_W / SCALE, LEG_H / SCALE)),
    density=1.0,
    restitution=0.0,
    categoryBits=0x0020,
    maskBits=0x001,
)
BEDROCK = Box2D.b2FixtureDef(shape=Box2D.b2EdgeShape(vertices=[(0, 0), (WIDTH, 0)]))
GROUND_BODY = Box2D.b2BodyDef()
HULL_BODY = Box2D.b2BodyDef(type=Box2D.b2_dynamicBody, position=(WIDTH / 2, HEIGHT), angle=0.0)

PARTICLE_STEPS = 25

# Engines by discrete action: power of the main engine, power of a side engine, its direction.
_ENGINES = ((0.0, 0.0, 0), (0.0, 1.0, -1), (1.0, 0.0, 0), (0.0, 1.0, 1))


class ParticleBodies:
    """Gymnasium's helpers for particles that are bodies of the world, in `_emitted`."""

    def _create_particle(self: Any, mass: float, x: float, y: float, ttl: float) -> Body:
        """Add a small round body to the world, which meets only the ground, and return it."""
        if self.lander is None:
            raise error.ResetNeeded("_create_particle: call reset() first")
        shape = Box2D.b2CircleShape(radius=2 / SCALE, pos=(0, 0))
        fixture = Box2D.b2FixtureDef(
            shape=shape,
            density=mass,
            friction=0.1,
            categoryBits=0x0100,
            maskBits=0x001,
            restitution=0.3,
        )
        particle = self.world.CreateDynamicBody(position=(x, y), angle=0.0, fixtures=fixture)
        particle.ttl = ttl
        self._emitted.append(particle)
        self._clean_particles(False)
        return particle

    def _clean_particles(self: Any, all_particle: bool) -> None:
        """Remove the oldest particles of `_create_particle` until one has a `ttl` of 0 or more."""
        while self._emitted and (all_particle or self._emitted[0].ttl < 0):
            self.world.DestroyBody(self._emitted.pop(0))


class LunarLander(ParticleBodies, Box2DEnv):
    """See `gymcore.envs.box2d.lunar_lander.LunarLander`: the same bit for bit."""

    counters = ("prev_shaping", "wind_idx", "torque_idx")
    settings = (
        "continuous", "enable_wind", "wind_power", "turbulence_power", "main_engine_power",
        "side_engine_power", "dispersion", "initial_random",
    )  # fmt: skip
    main_engine_power, side_engine_power = MAIN_ENGINE_POWER, SIDE_ENGINE_POWER
    dispersion, initial_random = 1.0, INITIAL_RANDOM
    helipad_y, game_over = HELIPAD_Y, False
    _not_pickled = (
        "world", "moon", "lander", "legs", "drawlist", "particles", "smoke",
    )  # fmt: skip

    def __init__(
        self,
        render_mode: str | None = None,
        continuous: bool = False,
        gravity: float = -10.0,
        enable_wind: bool = False,
        wind_power: float = 15.0,
        turbulence_power: float = 1.5,
    ) -> None:
        """Make a lander; see the compiled environment for the arguments."""
        self.render_mode = render_mode
        self.continuous = continuous
        self.gravity = checked_number("gravity", gravity)
        self.enable_wind = enable_wind
        self.wind_power = checked_number("wind_power", wind_power)
        self.turbulence_power = checked_number("turbulence_power", turbulence_power)
        self.observation_space, self.action_space = lander_spaces(continuous)
        self.prev_shaping: float | None = None
        self.prev_reward: float | None = None
        self.wind_idx = 0
        self.torque_idx = 0
        self._no_world()
        self._moves = []

    def _no_world(self) -> None:
        self.world: World | None = None
        self.moon: Body | None = None
        self.lander: Any = None
        self.legs: list[Body] = []
        self.drawlist: list[Body] = []
        self.smoke: list[tuple[float, float, float, float, int]] = []
        # Bodies in a subclass, as in Gymnasium.
        self.particles: list[Any] = self.smoke if type(self) is LunarLander else []

    def _hull(self) -> Body | None:
        return self.lander

    @property
    def _emitted(self) -> list[Body]:
        return self.particles

    @property
    def ground_y(self) -> list[float]:
        """The heights of the points of the ground, meters."""
        return [*(left[1] for left, *_ in self.sky_polys), self.sky_polys[-1][1][1]]

    # --- an episode ----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.float32], Info]:
        """Begin an episode: new ground, and a random push at the top of the viewport.

        `seed` seeds `np_random`; there are no `options`.
        """
        check_options(options)
        super().reset(seed=seed)
        self._destroy()
        random = self.np_random
        heights = random.uniform(0, HEIGHT / 2, CHUNKS + 1).tolist()
        push = (
            float(random.uniform(-self.initial_random, self.initial_random)),
            float(random.uniform(-self.initial_random, self.initial_random)),
        )
        if self.enable_wind:
            self.wind_idx = int(random.integers(-9999, 9999))
            self.torque_idx = int(random.integers(-9999, 9999))
        self._build((float(self.gravity), tuple(heights), push))
        self.prev_shaping = None
        nothing = np.zeros(2, np.float32) if self.continuous else 0
        return self.step(nothing)[0], {}

    def _begin(self, start: Start) -> None:
        """Build the world, and push the craft."""
        gravity, heights, push = start
        self._no_world()
        self.sky_polys = sky_over(smooth_ground(heights))
        self.helipad_x1, self.helipad_x2 = GROUND_X[CHUNKS // 2 - 1], GROUND_X[CHUNKS // 2 + 1]

        world, moon, lander, legs = make_world(gravity, self.ground_y)
        world.contactListener_keepref = world.contactListener = ContactDetector(self)
        self.world, self.moon, self.lander, self.legs = world, moon, lander, legs
        self.game_over = False
        lander.ApplyForceToCenter(push, True)
        self.drawlist = [lander, *legs]
        for body in self.drawlist:
            body.color1, body.color2 = (128, 102, 230), (77, 77, 128)

    def _destroy(self) -> None:
        """Remove all bodies from the world, if there are any."""
        if self.moon is None or self.world is None:
            return
        self.world.contactListener = None
        self._clean_particles(True)
        for body in (self.moon, self.lander, *self.legs):
            self.world.DestroyBody(body)
        self.moon = self.lander = None

    # --- a step --------------------------------------------------------------------------------

    def step(self, action: Any) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Step by an action of `action_space`; see the class.

        With `continuous`, any two numbers are accepted and clipped to [-1, 1].

        Raises:
            InvalidAction: If `action` is not an element of `action_space` (also an
                `AssertionError`).
            ResetNeeded: If `reset` has not been called.
        """
        lander = self.lander
        if lander is None:
            raise error.ResetNeeded("step: call reset() first")
        if self.continuous:
            main, side, direction = self._continuous_engines(action)
        else:
            if not self.action_space.contains(action):
                raise invalid_action(action, f"an element of {self.action_space}")
            main, side, direction = _ENGINES[action]
        leg_1, leg_2 = self.legs
        wind = None
        if self.enable_wind and not (leg_1.ground_contact or leg_2.ground_contact):
            wind = self._blow()
        # The bits of `uniform(-1, 1)`, drawn twice, in half the time.
        draw = self.np_random.random
        scatter_along = self.dispersion * (-1.0 + 2.0 * draw()) / SCALE
        scatter_across = self.dispersion * (-1.0 + 2.0 * draw()) / SCALE
        move = (main, side, direction, scatter_along, scatter_across, wind)
        if self.render_mode is not None:
            self._smoke(move)
        self._take(move)

        # Gymnasium's order of operations, because every one of them rounds.
        position, velocity = lander.position, lander.linearVelocity
        x, y = (position.x - HALF_WIDTH) / HALF_WIDTH, (position.y - REST_Y) / HALF_HEIGHT
        x_speed = velocity.x * HALF_WIDTH / FPS
        y_speed = velocity.y * HALF_HEIGHT / FPS
        angle = lander.angle
        touch_1 = 1.0 if leg_1.ground_contact else 0.0
        touch_2 = 1.0 if leg_2.ground_contact else 0.0
        turn = 20.0 * lander.angularVelocity / FPS
        observation = np.array([x, y, x_speed, y_speed, angle, turn, touch_1, touch_2], np.float32)
        shaping = -100.0 * math.sqrt(x * x + y * y)
        shaping -= 100.0 * math.sqrt(x_speed * x_speed + y_speed * y_speed)
        shaping = shaping - 100.0 * abs(angle) + 10.0 * touch_1 + 10.0 * touch_2
        previous = self.prev_shaping
        reward = 0.0 if previous is None else shaping - previous
        self.prev_shaping = shaping
        reward -= main * 0.30
        reward = np.float64(reward - side * 0.03)
        terminated = False
        if self.game_over or abs(x) >= 1.0:
            terminated, reward = True, -100
        if not lander.awake:
            terminated, reward = True, 100
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    def _continuous_engines(self, action: object) -> tuple[float, float, int]:
        """Power of the main engine, power of a side engine, its direction."""
        try:
            main, side = (float(number) for number in np.asarray(action).ravel().tolist())
        except (TypeError, ValueError, OverflowError):
            raise invalid_action(action, "two numbers") from None
        # Comparisons with NaN are false, so that it runs no engine, as in Gymnasium.
        main_power = (min(main, 1.0) + 1.0) * 0.5 if main > 0.0 else 0.0
        if abs(side) > 0.5:
            return main_power, min(abs(side), 1.0), 1 if side > 0.0 else -1
        return main_power, 0.0, 0

    def _blow(self) -> tuple[float, float]:
        """The wind's force and torque, from a sum of two sines that never repeats."""
        force = math.tanh(math.sin(0.02 * self.wind_idx) + math.sin(math.pi * 0.01 * self.wind_idx))
        torque = math.tanh(
            math.sin(0.02 * self.torque_idx) + math.sin(math.pi * 0.01 * self.torque_idx)
        )
        self.wind_idx += 1
        self.torque_idx += 1
        return force * self.wind_power, torque * self.turbulence_power

    def _move(self, move: Move) -> None:
        """Push the craft as the engines and the wind do, and step the world."""
        main, side, direction, scatter_along, scatter_across, wind = move
        lander = self.lander
        position = lander.position
        if wind is not None:
            lander.ApplyForceToCenter((wind[0], 0.0), True)
            lander.ApplyTorque(wind[1], True)
        if main or side:
            angle = lander.angle
            up_x, up_y = math.sin(angle), math.cos(angle)
            if main:
                along = MAIN_ENGINE_Y_LOCATION / SCALE + 2 * scatter_along
                x = up_x * along + -up_y * scatter_across
                y = -up_y * along - up_x * scatter_across
                place = (position.x + x, position.y + y)
                impulse = (x * self.main_engine_power * main, y * self.main_engine_power * main)
                self._push(3.5, place, main, impulse)
            if side:
                across = 3 * scatter_across + direction * SIDE_ENGINE_AWAY / SCALE
                x = up_x * scatter_along + -up_y * across
                y = -up_y * scatter_along - up_x * across
                place = (
                    position.x + x - up_x * 17 / SCALE,
                    position.y + y + up_y * SIDE_ENGINE_HEIGHT / SCALE,
                )
                impulse = (x * self.side_engine_power * side, y * self.side_engine_power * side)
                self._push(0.7, place, side, impulse)
        lander.world.Step(1.0 / FPS, 180, 60)

    def _push(self, mass: float, place: Point, power: float, impulse: Point) -> None:
        """Push the craft by an engine, whose particle is a body in a rendered subclass."""
        if self.render_mode is not None and self.particles is not self.smoke:
            particle = self._create_particle(mass, *place, power)
            particle.ApplyLinearImpulse(impulse, place, True)
        x, y = impulse
        self.lander.ApplyLinearImpulse((-x, -y), place, True)

    # --- rendering -----------------------------------------------------------------------------

    def _smoke(self, move: Move) -> None:
        """Move the particles, and add those that the engines emit; they are only drawn."""
        main, side, direction, along, across, _ = move
        drifting = []
        for x, y, x_speed, y_speed, age in self.smoke:
            if age < PARTICLE_STEPS:
                drifting.append((x + x_speed / FPS, y + y_speed / FPS, x_speed, y_speed, age + 1))
        velocity = self.lander.linearVelocity
        angle = self.lander.angle
        down_x, down_y = math.sin(angle), -math.cos(angle)
        for power, nozzle, x, y in (
            (main, (0.0, -10.0), down_x + 9 * across * down_y, down_y - 9 * across * down_x),
            (side, (-14.0 * direction, 12.0), direction * down_y, -direction * down_x),
        ):
            if power:
                start = self.lander.GetWorldPoint((nozzle[0] / SCALE, nozzle[1] / SCALE))
                speed = (6.0 if nozzle[0] == 0.0 else 3.5) * power * (1.0 + 9 * along)
                drifting.append(
                    (start.x, start.y, velocity.x + x * speed, velocity.y + y * speed, 0)
                )
        self.smoke[:] = drifting

    def _draw(self, surface: pygame.Surface) -> None:
        if self.particles is not self.smoke:
            for particle in self.particles:
                particle.ttl -= 0.15
            self._clean_particles(False)
        draw(surface, self, self.smoke)


# --- what the compiled environment has too -----------------------------------------------------

# The largest values that are sensible.
_SENSIBLE = {"wind_power": 20.0, "turbulence_power": 2.0}
_NOT_NEGATIVE = ("main_engine_power", "side_engine_power", "dispersion", "initial_random")


def checked_number(name: str, value: object) -> float:
    """Return an argument of the environment as a float; warn if it is beyond what is sensible.

    Raises:
        FailedCheck: If `gravity` is not between -12 and 0.
        ArgumentTypeError: If `value` is not a number.
        InvalidArgument: If `value` is not finite, or a power or a scale is not from 0 to 1e6.
    """
    if not isinstance(value, (int, float, np.number)):
        raise error.ArgumentTypeError(
            f"{name}: expected a number, got {value!r} ({type(value).__name__})"
        )
    if name == "gravity" and not -12.0 < value < 0.0:
        raise error.FailedCheck(f"gravity (current value: {value}) must be between -12 and 0")
    if not math.isfinite(value):
        raise error.InvalidArgument(f"{name}: expected a finite number, got {value}")
    if name in _NOT_NEGATIVE and not 0.0 <= value <= 1e6:
        raise error.InvalidArgument(f"{name}: expected a number from 0 to 1e6, got {value}")
    if name in _SENSIBLE and not 0.0 <= value <= _SENSIBLE[name]:
        logger.warn(
            f"{name} value is recommended to be between 0.0 and {_SENSIBLE[name]}, "
            f"(current value: {value})"
        )
    return float(value)


def lander_spaces(continuous: bool) -> tuple[spaces.Box, spaces.Space]:
    """Return the observation space and the action space."""
    high = np.array([2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0, 1.0, 1.0], np.float32)
    low = -high
    low[6:] = -0.0
    actions = spaces.Box(-1, 1, (2,), np.float32) if continuous else spaces.Discrete(4)
    return spaces.Box(low, high), actions


def smooth_ground(heights: Sequence[float]) -> list[float]:
    """Return the heights of the ground's points for the drawn ones: smooth, flat around the pad."""
    pad = CHUNKS // 2
    heights = [*heights[: pad - 2], *[HELIPAD_Y] * 5, *heights[pad + 3 :]]
    return [0.33 * (heights[i - 1] + heights[i] + heights[i + 1]) for i in range(CHUNKS)]


def sky_over(ground_y: list[float]) -> list[list[Point]]:
    """Return the sky above each piece of ground: four corners in meters."""
    points = zip(GROUND_X, ground_y, strict=True)
    return [
        [left, right, (right[0], HEIGHT), (left[0], HEIGHT)]
        for left, right in itertools.pairwise(points)
    ]


# --- the world -----------------------------------------------------------------------------------


def leg_definitions() -> list[tuple[Definition, Definition]]:
    """Return the definitions of the body and the joint of both legs."""
    return [_leg_definition(side) for side in (-1, 1)]


def _leg_definition(side: int) -> tuple[Definition, Definition]:
    body = Box2D.b2BodyDef(
        type=Box2D.b2_dynamicBody,
        position=(WIDTH / 2 - side * LEG_AWAY / SCALE, HEIGHT),
        angle=side * 0.05,
    )
    lower, upper = (0.9 - 0.5, 0.9) if side == -1 else (-0.9, -0.9 + 0.5)
    joint = Box2D.b2RevoluteJointDef(
        localAnchorA=(0, 0),
        localAnchorB=(side * LEG_AWAY / SCALE, LEG_DOWN / SCALE),
        # The angle between the bodies when the joint is made.
        referenceAngle=side * 0.05,
        enableMotor=True,
        enableLimit=True,
        maxMotorTorque=LEG_SPRING_TORQUE,
        motorSpeed=0.3 * side,
        lowerAngle=lower,
        upperAngle=upper,
    )
    return body, joint


def make_world(gravity: float, ground_y: list[float]) -> tuple[World, Body, Body, list[Body]]:
    """Build a world: ground, hull and two legs. Box2D lists contacts in the order of creation.

    Heights are in meters. Returns the world, the ground, the hull and the legs.
    """
    world = Box2D.b2World(gravity=(0, gravity))
    moon = world.CreateBody(GROUND_BODY)
    moon.CreateFixture(BEDROCK)
    ground = zip(GROUND_X, ground_y, strict=True)
    for fixture in edges(ground, density=0, friction=0.1):
        moon.CreateFixture(fixture)
    lander = world.CreateBody(HULL_BODY)
    lander.CreateFixture(HULL)
    bodies = []
    for body, joint in leg_definitions():
        leg = world.CreateBody(body)
        leg.CreateFixture(LEG)
        leg.ground_contact = False
        joint.bodyA, joint.bodyB = lander, leg
        leg.joint = world.CreateJoint(joint)
        bodies.append(leg)
    return world, moon, lander, bodies


# --- rendering -----------------------------------------------------------------------------------

SKY_TOP, SKY_BOTTOM = (9, 11, 28), (44, 46, 88)
GROUND: Color = (92, 94, 110)
GROUND_RIM: Color = (186, 188, 204)
PAD: Color = (240, 240, 246)
FLAG: Color = (250, 204, 64)
HULL_COLOR: Color = (226, 226, 240)
HULL_EDGE: Color = (110, 104, 160)
WINDOW: Color = (96, 178, 232)
LEG_COLOR: Color = (176, 172, 204)
LEG_EDGE: Color = (84, 80, 124)
# From the nozzle to where the smoke is gone.
FLAME_HOT, FLAME_COLD = (255, 236, 160), (226, 92, 40)

STARS = 90
RIM = 3.0  # pixels
FLAGPOLE = 36.0
FLAG_LENGTH, FLAG_HALF_HEIGHT = 19.0, 5.0


def draw(surface: pygame.Surface, env: Any, smoke: Sequence[Sequence[float]]) -> None:
    """Draw a lander, of this class or the compiled one, and its smoke."""

    def pixel(x: float, y: float) -> Point:
        return x * SCALE, VIEWPORT_H - y * SCALE

    def outline(body: Body) -> list[Point]:
        return [pixel(*corner) for corner in corners(body)]

    ground = zip(GROUND_X, env.ground_y, strict=True)
    _, pad_y = pixel(0.0, env.ground_y[CHUNKS // 2])
    pad = (env.helipad_x1 * SCALE, env.helipad_x2 * SCALE, pad_y)
    background = _background(surface.get_size(), tuple(pixel(*point) for point in ground), pad)
    surface.blit(background, (0, 0))
    hot, cold = np.array(FLAME_HOT), np.array(FLAME_COLD)
    for x, y, _, _, steps in smoke:
        age = steps / PARTICLE_STEPS
        red, green, blue = np.rint(hot + age * (cold - hot)).astype(int).tolist()
        disc(surface, (red, green, blue), pixel(x, y), 0.6 + 3.4 * (1.0 - age))
    for side, body in zip((1, -1), env.legs, strict=True):
        shoulder = pixel(*env.lander.GetWorldPoint((side * 15 / SCALE, -8 / SCALE)))
        leg = outline(body)
        foot = ((leg[2][0] + leg[3][0]) / 2, (leg[2][1] + leg[3][1]) / 2)
        bar(surface, LEG_EDGE, shoulder, foot, 1.2)
        outlined_polygon(surface, LEG_COLOR, LEG_EDGE, leg, 1.0)
    outlined_polygon(surface, HULL_COLOR, HULL_EDGE, outline(env.lander), 1.6)
    window = pixel(*env.lander.GetWorldPoint((0.0, 6 / SCALE)))
    disc(surface, HULL_EDGE, window, 5.0)
    disc(surface, WINDOW, window, 3.6)


@lru_cache(maxsize=16)
def _background(
    size: tuple[int, int], ground: tuple[Point, ...], pad: tuple[float, float, float]
) -> pygame.Surface:
    """Return sky, ground and flags; cached, so callers must not draw on it.

    `ground` are its corners from left to right, `pad` the x of its ends and its y; all in pixels.
    """
    width, height = size
    surface = vertical_gradient(size, SKY_TOP, SKY_BOTTOM)
    # Always the same stars.
    random = np.random.default_rng(7)
    for x, y, size_of, light in random.random((STARS, 4)).tolist():
        shade = 120 + int(130 * light)
        disc(surface, (shade, shade, min(shade + 15, 255)), (x * width, y * height), 0.4 + size_of)

    xs, ys = np.array(ground).T
    slopes = np.diff(ys) / np.diff(xs)
    center, reach = (width / 2.0, height / 2.0), (width / 2.0, height / 2.0)
    for depth, color in ((0.0, GROUND_RIM), (RIM, GROUND)):

        def above_ground(x: Pixels, y: Pixels, depth: float = depth) -> Pixels:
            columns = x[0] + center[0]
            rows = np.interp(columns, xs, ys) - center[1]
            piece = np.clip(np.searchsorted(xs, columns) - 1, 0, len(slopes) - 1)
            steepness = np.sqrt(1.0 + slopes[piece] ** 2)
            distances: Pixels = (rows - y) / steepness + depth
            return distances.astype(np.float32)

        paint(surface, color, center, reach, above_ground)

    left, right, pad_y = pad
    bar(surface, PAD, (left, pad_y + 1.0), (right, pad_y + 1.0), 2.0, 1.0)
    for x in (left, right):
        # In the middle of a pixel column, where a line two pixels thick is sharp.
        x = float(round(x))
        top = pad_y - FLAGPOLE
        bar(surface, PAD, (x, pad_y), (x, top), 1.0, 0.5)
        pennant = [
            (x + 1.0, top),
            (x + FLAG_LENGTH, top + FLAG_HALF_HEIGHT),
            (x + 1.0, top + 2.0 * FLAG_HALF_HEIGHT),
        ]
        convex_polygon(surface, FLAG, pennant)
    return surface
