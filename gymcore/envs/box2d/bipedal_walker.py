"""BipedalWalker: walk over rough ground, or over stumps, stairs and pits, on two jointed legs."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.envs.box2d.replayed import ReplayedEnv
from gymcore.envs.box2d.walker_heuristic import BipedalWalkerHeuristics
from gymcore.envs.box2d.walker_world import (
    FPS,
    FRICTION,
    HULL_FD,
    HULL_POLY,
    INITIAL_RANDOM,
    LEG_DOWN,
    LEG_FD,
    LEG_H,
    LEG_W,
    LIDAR_RANGE,
    LOWER_FD,
    MOTORS_TORQUE,
    SCALE,
    SPEED_HIP,
    SPEED_KNEE,
    TERRAIN_GRASS,
    TERRAIN_HEIGHT,
    TERRAIN_LENGTH,
    TERRAIN_STARTPAD,
    TERRAIN_STEP,
    VIEWPORT_H,
    VIEWPORT_W,
    Box2D,
    ContactDetector,
    Terrain,
    WalkerParts,
    build_terrain,
    counter_clockwise,
    draw_terrain,
    ray_ends,
    terrain_x,
)
from gymcore_ext.box2d.rays import Rays
from gymcore_ext.box2d.walker import Observer, after_costs, effort

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
    "BipedalWalker",
    "BipedalWalkerHardcore",
    "BipedalWalkerHeuristics",
    "ContactDetector",
]

_WIDTH = VIEWPORT_W / SCALE
_HEIGHT = VIEWPORT_H / SCALE
_GOAL = (TERRAIN_LENGTH - TERRAIN_GRASS) * TERRAIN_STEP
_TORQUE_COST = 0.00035 * MOTORS_TORQUE
_SPEEDS = (float(SPEED_HIP), float(SPEED_KNEE), float(SPEED_HIP), float(SPEED_KNEE))
_RAY_ENDS = ray_ends()
# The setters themselves: an assignment asks SWIG's types first, for twice the price.
_set_speed = Box2D.b2RevoluteJoint.motorSpeed.fset
_set_torque = Box2D.b2RevoluteJoint.maxMotorTorque.fset
_GROUND_X = np.array(terrain_x())
_RAYS = np.array(_RAY_ENDS)
_OBSERVER = Observer(_WIDTH, _HEIGHT, FPS, SPEED_HIP, SPEED_KNEE)
_CLOUDS = TERRAIN_LENGTH // 20
_CLOUD_CORNERS = 5


Clouds = tuple[tuple[tuple[float, float], ...], ...]


class BipedalWalker(ReplayedEnv[npt.NDArray[np.float32]]):
    """A hull on two legs with hips and knees, over ground that it feels with a lidar.

    - Observation float32 [24]: angle and angular velocity of the hull, its velocity; for each leg
      angle and speed of hip and knee and whether the foot touches the ground; and how far each of
      10 rays from straight down to the front gets, 1 for all of its 5.3 m.
    - Actions float32 [4] in [-1, 1]: hip and knee of one leg, then of the other. The sign is the
      direction of the motor, the size its torque.
    - Reward: 4.3 a metre forward, minus changes of the hull's angle, minus 0.028 for each motor's
      torque; -100 for a fall. A fall or the end of the ground terminates.

    Terrain, pushes, observations, rewards and flags are Gymnasium's for the same seeds and actions,
    to the bit. As in Gymnasium the world is kept from one episode to the next, and the order in
    which Box2D finds contacts in it depends on the episodes before. Set `fresh_worlds` for episodes
    that depend on their seed alone, and for states that continue to the bit in later ones too.

    Attributes:
        fresh_worlds: Whether `reset` begins with a new world. False, as Gymnasium has it; it may be
            set at any time.
        hull, legs, joints, terrain, world: Box2D's bodies, joints and world.
        terrain_x, terrain_y: The points of the ground, metres.
        lidar_fractions: How far each ray got.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("BipedalWalker-v3")
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, observation.dtype
        ((24,), dtype('float32'))
        >>> env.step([0.5, -0.5, 0.0, 0.1])[2:]
        (False, False, {})
    """

    fresh_worlds = False
    counters = ("prev_shaping", "clouds", "scroll", "lidar_fractions")
    _made_again = frozenset(
        (
            "world",
            "hull",
            "terrain",
            "legs",
            "joints",
            "drawlist",
            "_contacts",
            "_rays",
            "_live",
            "_parts",
        )
    )

    def __init__(self, render_mode: str | None = None, hardcore: bool = False) -> None:
        """Make a walker.

        Args:
            render_mode: None, "human" or "rgb_array".
            hardcore: Whether there are stumps, stairs and pits.
        """
        self.render_mode = render_mode
        self.hardcore = hardcore
        joints = [math.pi, 5.0, math.pi, 5.0, 5.0] * 2
        high = np.array([math.pi, 5.0, 5.0, 5.0, *joints, *[1.0] * 10], np.float32)
        low = -high
        low[[8, 13]] = -0.0
        self.observation_space = spaces.Box(low, high)
        self.action_space = spaces.Box(-1, 1, (4,), np.float32)
        self.prev_shaping: float | None = None
        self._clouds: Clouds | npt.NDArray[np.float64] = ()
        self.terrain_x = terrain_x()
        self.terrain_y: list[float] = []
        self.scroll = 0.0
        self._no_world()
        self._moves = []

    def _no_world(self) -> None:
        self.world: Any = Box2D.b2World()
        self.hull: Any = None
        self.terrain: list[Any] = []
        self.legs: list[Any] = []
        self.joints: list[Any] = []
        self.drawlist: list[Any] = []
        self.lidar_fractions: list[float] = []

    @functools.cached_property
    def _parts(self) -> WalkerParts:
        return WalkerParts()

    @property
    def game_over(self) -> bool:
        """Whether the hull has touched the ground in this episode."""
        return self.hull is not None and self._contacts.fell

    @game_over.setter
    def game_over(self, value: bool) -> None:
        self._contacts.fell = bool(value)

    @property
    def clouds(self) -> Clouds:
        """The corners of the clouds, metres; computed when somebody asks for them."""
        if isinstance(self._clouds, np.ndarray):
            self._clouds = _clouds_of(self._clouds)
        return self._clouds

    @clouds.setter
    def clouds(self, value: Clouds) -> None:
        self._clouds = value

    # --- an episode ----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode: new ground, and a small push.

        Args:
            seed: Seeds `np_random`.
            options: Not used.
        """
        super().reset(seed=seed)
        random = self.np_random
        terrain = draw_terrain(random, self.hardcore)
        self._clouds = random.random((_CLOUDS, 1 + 2 * _CLOUD_CORNERS))
        push = float(random.uniform(-INITIAL_RANDOM, INITIAL_RANDOM))
        self._start = (terrain.heights, terrain.boxes, push)
        self._moves = []
        self.scroll = 0.0
        if self.fresh_worlds:
            self._no_world()
        self._begin(self._start)
        self.prev_shaping = None
        return self.step(np.zeros(4, np.float32))[0], {}

    def _begin(self, start: tuple[Any, ...]) -> None:
        """Put ground and walker into the world, in place of those of the last episode."""
        heights, boxes, push = start
        world = self.world
        # What is destroyed and made in which order decides the order of Box2D's contacts.
        world.contactListener = None
        if self.hull is not None:
            for body in (*self.terrain, self.hull, *self.legs):
                world.DestroyBody(body)
        self._live: Any = None
        terrain = Terrain(heights, boxes)
        self.terrain_y = list(heights)
        self.terrain = build_terrain(world, terrain)
        self.hull, self.legs, self.joints = self._parts.build(world, push)
        self.drawlist = [*self.terrain, *self.legs, self.hull]
        self._contacts = ContactDetector(self.hull, [self.legs[1], self.legs[3]])
        world.contactListener = self._contacts
        self._rays = Rays(
            np.column_stack((_GROUND_X, heights)), [counter_clockwise(box) for box in boxes], _RAYS
        )
        # The first two look into the body's own memory: they are read anew each time, for a tenth
        # of what `hull.position` costs. They live as long as the body.
        self._live = (self.hull.position, self.hull.linearVelocity, world.Step)

    # --- a step --------------------------------------------------------------------------------

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Step by four numbers; the torques they stand for are clipped, so any size will do.

        Raises:
            InvalidAction: not four numbers (an `AssertionError` too).
            ResetNeeded: before the first reset.
        """
        hull = self.hull
        if hull is None:
            raise error.ResetNeeded("step: call reset() first")
        move, costs = effort(action, _TORQUE_COST) or self._checked(action)
        self._moves.append(move)
        self._move(move)

        position, velocity, _ = self._live
        x = position.x
        self.lidar_fractions = fractions = self._rays.cast(x, position.y)
        angle = hull.angle
        hip_1, knee_1, hip_2, knee_2 = self.joints
        _, foot_1, _, foot_2 = self.legs
        observation = _OBSERVER.observe(
            angle,
            hull.angularVelocity,
            velocity.x,
            velocity.y,
            hip_1.angle,
            hip_1.speed,
            knee_1.angle,
            knee_1.speed,
            foot_1.ground_contact,
            hip_2.angle,
            hip_2.speed,
            knee_2.angle,
            knee_2.speed,
            foot_2.ground_contact,
            fractions,
        )
        self.scroll = x - _WIDTH / 5
        shaping = 130 * x / SCALE - 5.0 * abs(angle)
        previous = self.prev_shaping
        self.prev_shaping = shaping
        # In the precision of the action, one motor after the other, as Gymnasium rounds.
        reward = after_costs(0.0 if previous is None else shaping - previous, costs)
        terminated = False
        if self._contacts.fell or x < 0:
            terminated, reward = True, -100.0
        if x > _GOAL:
            terminated = True
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    def _checked(self, action: npt.ArrayLike) -> tuple[tuple[float, ...], npt.NDArray[Any]]:
        """The action as four floats, and what each costs, in the precision of the action."""
        try:
            numbers = np.asarray(action)
            costs = np.minimum(np.abs(numbers), 1) * _TORQUE_COST
            move = tuple(float(number) for number in numbers.tolist())
        except (TypeError, ValueError):
            move = ()
        # NaN would go on into every body, and stay.
        if len(move) != 4 or any(math.isnan(number) for number in move):
            raise error.InvalidAction(
                f"action: {action!r} ({type(action)}) invalid, expected four numbers, none of "
                "them NaN"
            )
        return move, costs

    def _move(self, move: tuple[Any, ...]) -> None:
        """Set the motors, and let Box2D go one step on."""
        for joint, speed, number in zip(self.joints, _SPEEDS, move, strict=True):
            _set_speed(joint, speed if number > 0 else -speed if number < 0 else 0.0)
            _set_torque(joint, MOTORS_TORQUE * min(abs(number), 1.0))
        self._live[2](1.0 / FPS, 180, 60)

    # --- pictures ------------------------------------------------------------------------------

    def _draw(self, surface: Any) -> None:
        from gymcore.envs.box2d.drawing.bipedal_walker import draw_bipedal_walker

        left = self.scroll

        def pixel(x: float, y: float) -> tuple[float, float]:
            return (x - left) * SCALE, VIEWPORT_H - y * SCALE

        def corners(body: Any) -> list[tuple[float, float]]:
            shape = body.fixtures[0].shape
            return [pixel(*body.GetWorldPoint(corner)) for corner in shape.vertices]

        x, y = self.hull.position
        ray = len(self._moves) % len(_RAY_ENDS)
        end_x, end_y = _RAY_ENDS[ray]
        fraction = self.lidar_fractions[ray] if self.lidar_fractions else 0.0
        _, boxes, _ = self._start or ((), (), 0.0)
        draw_bipedal_walker(
            surface,
            ground=[pixel(*p) for p in zip(self.terrain_x, self.terrain_y, strict=True)],
            boxes=[[pixel(*corner) for corner in box] for box in boxes],
            # Far away, so that they move at half the speed.
            clouds=[[(pixel(a + left / 2, b)) for a, b in cloud] for cloud in self.clouds],
            flag=pixel(TERRAIN_STEP * 3, TERRAIN_HEIGHT),
            hull=corners(self.hull),
            legs=[corners(leg) for leg in self.legs],
            ray=(pixel(x, y), pixel(x + fraction * end_x, y + fraction * end_y)),
        )


def _clouds_of(draws: npt.NDArray[np.float64]) -> Clouds:
    """Return the clouds of numbers in [0, 1): for each its place, then right and up of corners."""
    turns = [3.14 * 2 * corner / 5 for corner in range(_CLOUD_CORNERS)]
    y = _HEIGHT * 3 / 4
    clouds = []
    for place, *offsets in draws.tolist():
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


class BipedalWalkerHardcore:
    """Gymnasium's name for the environment that `make("BipedalWalkerHardcore-v3")` makes."""

    def __init__(self) -> None:
        """Raise: ask `make` for it.

        Raises:
            Error: always.
        """
        raise error.Error(
            "Error initializing BipedalWalkerHardcore Environment.\n"
            "Currently, we do not support initializing this mode of environment by calling the "
            "class directly.\n"
            "To use this environment, instead create it by specifying the hardcore keyword in "
            'gym.make, i.e.\ngym.make("BipedalWalker-v3", hardcore=True)'
        )
