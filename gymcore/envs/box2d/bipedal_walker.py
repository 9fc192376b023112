"""BipedalWalker: walk over rough ground, or over stumps, stairs and pits, on two jointed legs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import Info
from gymcore.envs.box2d import bipedal_walker_python
from gymcore.envs.box2d.bipedal_walker_python import (
    FPS,
    FRICTION,
    GROUND_X,
    LEG_DOWN,
    LEG_H,
    LEG_W,
    LIDAR_RANGE,
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
    Clouds,
    Scenery,
    WalkerParts,
    make_clouds,
    walker_spaces,
)
from gymcore.envs.box2d.box2d_env import Box2D, ContactDetector
from gymcore.envs.box2d.compiled_env import CompiledBox2DEnv, Counted, foot
from gymcore.envs.box2d.library import problem
from gymcore.native.parameters import flag
from gymcore.native.vector_env import NativeVectorEnv
from gymcore_ext.box2d import walker

__all__ = [
    "FPS",
    "FRICTION",
    "LEG_DOWN",
    "LEG_H",
    "LEG_W",
    "LIDAR_RANGE",
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
    "BipedalWalkerVectorEnv",
    "ContactDetector",
]


class BipedalWalker(Scenery, CompiledBox2DEnv[npt.NDArray[np.float32]]):
    """A hull on two legs with hips and knees, over ground that it senses with a lidar.

    - Observation float32 [24]: angle and angular velocity of the hull, its velocity; for each leg
      angle and speed of hip and knee and whether the foot touches the ground; and the free
      fraction of each of 10 rays of 5.3 m, from straight down to the front.
    - Actions float32 [4] in [-1, 1]: hip and knee of one leg, then of the other. The sign is the
      direction of the motor, the magnitude its torque.
    - Reward: 4.3 per metre forward, minus changes of the hull's angle, minus 0.028 for each motor's
      torque; -100 for a fall. A fall or the end of the ground terminates.

    Terrain, pushes, observations, rewards and flags are Gymnasium's for the same seeds and actions,
    bit for bit. As in Gymnasium the world persists from one episode to the next, so the order in
    which Box2D finds contacts depends on earlier episodes. Set `fresh_worlds` for episodes
    that depend on their seed alone.

    Attributes:
        fresh_worlds: Whether `reset` begins with a new world; False, as in Gymnasium. It can be
            set at any time.
        hull, legs, joints, terrain, world: Box2D's bodies, joints and world.
        terrain_x, terrain_y: The points of the ground, metres.
        lidar_fractions: The fraction of each ray that is free.
        terrain_poly, cloud_poly, lidar: The pieces of the ground, the clouds and the rays, in
            Gymnasium's form; changing them changes nothing.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("BipedalWalker-v3")
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, observation.dtype
        ((24,), dtype('float32'))
        >>> env.step([0.5, -0.5, 0.0, 0.1])[2:]
        (False, False, {})
    """

    kernel_module = "gymcore_ext.box2d.walker"
    lanes = walker.Walkers
    numpy_scalars, float32_numbers = True, ("reward",)
    compiled_methods = frozenset({"_destroy", "_generate_clouds", "_generate_terrain"})
    hardcore, fresh_worlds = flag(), flag()
    game_over, scroll = Counted(bool), Counted(float)
    terrain_x = GROUND_X

    def __init__(self, render_mode: str | None = None, hardcore: bool = False) -> None:
        """Make a walker.

        Args:
            render_mode: None, "human" or "rgb_array".
            hardcore: Whether there are stumps, stairs and pits; applies to the next episodes.

        Raises:
            DependencyNotInstalled: Box2D cannot be called from compiled code.
        """
        self.observation_space, self.action_space = walker_spaces()
        super().__init__(render_mode, hardcore=hardcore)

    def _definitions(self) -> list[Any]:
        ground, parts = bipedal_walker_python, WalkerParts()
        box, edge = Box2D.b2PolygonShape(box=(1, 1)), Box2D.b2EdgeShape()
        return [
            ground.GROUND_BODY,
            Box2D.b2FixtureDef(shape=box, friction=FRICTION),
            box,
            Box2D.b2FixtureDef(shape=edge, friction=FRICTION, categoryBits=0x0001),
            edge,
            parts.hull,
            ground.HULL_FD,
            *(part for leg in parts.legs for part in leg),
        ]

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Step by four numbers; the torques are clipped to [-1, 1].

        Raises:
            InvalidAction: not four numbers (also an `AssertionError`).
            ResetNeeded: before the first reset.
        """
        try:
            observation, reward, terminated = self._batch.step_single_numbers(action)
        except error.InvalidAction:
            raise error.InvalidAction(
                f"action: {action!r} ({type(action)}) invalid, expected four numbers, none of "
                "them NaN"
            ) from None
        if self._observe_step is not None:
            self._observe_step()  # refuses
        if terminated and reward == -100.0:
            reward = -100  # an int, as in Gymnasium
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    # --- attributes that programs read ---------------------------------------------------------

    @property
    def world(self) -> Any:
        """The `Box2D.b2World`."""
        return self._world

    @property
    def hull(self) -> Any:
        """The body of the hull; None before the first reset."""
        return self._bodies[-5] if self._bodies else None

    @property
    def legs(self) -> list[Any]:
        """The bodies of the legs, upper and lower, twice; empty before the first reset."""
        return self._bodies[-4:]

    @property
    def joints(self) -> list[Any]:
        """The joints, hip and knee, twice; empty before the first reset."""
        return self._world.joints

    @property
    def terrain(self) -> list[Any]:
        """The bodies of the ground, from the right to the left end."""
        return self._bodies[-6::-1]

    @property
    def drawlist(self) -> list[Any]:
        """All bodies: ground, legs, hull."""
        return [*self.terrain, *self.legs, *self._bodies[-5:-4]]

    def _made_bodies(self, bodies: list[Any]) -> None:
        bipedal_walker_python.paint_terrain(bodies[:-5], int(self._progress["box_count"]))
        feet = self._progress["feet"]
        for index, (leg, joint) in enumerate(zip(bodies[-4:], self._world.joints, strict=True)):
            leg.joint, leg.ground_contact = joint, False
            if index % 2:
                foot(leg, joint, feet[index // 2 : index // 2 + 1])

    @property
    def prev_shaping(self) -> float | None:
        """What the next reward counts from; None before the first step."""
        progress = self._progress
        return float(progress["prev_shaping"]) if progress["has_shaping"] else None

    @property
    def terrain_y(self) -> list[float]:
        """The heights of the points of the ground, metres; empty before the first reset."""
        return self._progress["heights"].tolist() if self._bodies else []

    @property
    def clouds(self) -> Clouds:
        """The corners of the clouds, metres."""
        return make_clouds(self._progress["clouds"]) if self._bodies else ()

    @property
    def lidar_fractions(self) -> list[float]:
        """The fraction of each ray that is free; empty before the first reset."""
        return self._progress["fractions"].tolist() if self._bodies else []

    def _draw(self, surface: Any) -> None:
        progress = self._progress
        boxes = progress["boxes"][: progress["box_count"]].tolist()
        bipedal_walker_python.draw(surface, self, boxes, int(progress["steps"]))


class BipedalWalkerVectorEnv(NativeVectorEnv):
    """A batch of walkers; see `NativeVectorEnv`.

    `set_attr` takes `hardcore` (of the next episodes) and `fresh_worlds`, one for all lanes or one
    for each.
    """

    env_class = BipedalWalker


if problem() is not None:
    BipedalWalker = bipedal_walker_python.BipedalWalker  # type: ignore[assignment,misc]


class BipedalWalkerHardcore:
    """Gymnasium's name for `make("BipedalWalkerHardcore-v3")`; it cannot be instantiated."""

    def __init__(self) -> None:
        """Raise an `Error` that says how to make the environment."""
        raise error.Error(
            "Error initializing BipedalWalkerHardcore Environment.\n"
            "Currently, we do not support initializing this mode of environment by calling the "
            "class directly.\n"
            "To use this environment, instead create it by specifying the hardcore keyword in "
            'gym.make, i.e.\ngym.make("BipedalWalker-v3", hardcore=True)'
        )


# --- a controller --------------------------------------------------------------------------------


class BipedalWalkerHeuristics:
    """A gait in three phases: swing a leg forward, put it down, push off with the other one.

    Proportional and derivative control brings hips and knees to the angles of the phase, and keeps
    the hull upright. Angles and gains come from a search over random grounds; 28 of 30 walks over
    other grounds reached the end, with a return of about 300.

    Attributes:
        state: The phase: `STAY_ON_ONE_LEG`, `PUT_OTHER_DOWN` or `PUSH_OFF`.
        moving_leg: The leg that swings, 0 or 1.
        supporting_leg: The other one.
        supporting_knee_angle: Where the supporting knee is held, rad.
        a: The last action [4].

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("BipedalWalker-v3")
        >>> observation, info = env.reset(seed=1)
        >>> gait = BipedalWalkerHeuristics()
        >>> for _ in range(100):
        ...     observation, *_ = env.step(gait.step_heuristic(observation))
        >>> bool(env.unwrapped.hull.position.x > 5)
        True
    """

    STAY_ON_ONE_LEG, PUT_OTHER_DOWN, PUSH_OFF = 1, 2, 3
    SPEED = 0.223  # in the units of the observation; above it the walker stands taller
    SUPPORT_KNEE_ANGLE = 0.072
    # Before the walk begins.
    state = STAY_ON_ONE_LEG
    moving_leg = 0
    supporting_leg = 1
    supporting_knee_angle = SUPPORT_KNEE_ANGLE
    a: npt.NDArray[Any] = np.zeros(4)

    def __init__(self) -> None:
        """Begin a walk; use a new object for each episode."""
        self.state = self.STAY_ON_ONE_LEG
        self.moving_leg, self.supporting_leg = 0, 1
        self.supporting_knee_angle = self.SUPPORT_KNEE_ANGLE
        self.a = np.zeros(4)

    def step_heuristic(self, s: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """Return the action [4], within [-1, 1], for an observation [24]."""
        seen: list[float] = np.asarray(s).tolist()
        moving, supporting = self.moving_leg, self.supporting_leg
        swing, carry = 4 + 5 * moving, 4 + 5 * supporting
        hips: list[float | None] = [None, None]
        knees: list[float | None] = [None, None]

        if self.state == self.STAY_ON_ONE_LEG:
            hips[moving], knees[moving] = 1.52, -0.672
            self.supporting_knee_angle += 0.0274
            if seen[2] > self.SPEED:
                self.supporting_knee_angle += 0.0273
            self.supporting_knee_angle = min(self.supporting_knee_angle, self.SUPPORT_KNEE_ANGLE)
            knees[supporting] = self.supporting_knee_angle
            if seen[carry] < 0.165:  # the supporting leg is behind
                self.state = self.PUT_OTHER_DOWN
        if self.state == self.PUT_OTHER_DOWN:
            hips[moving], knees[moving] = 0.131, self.SUPPORT_KNEE_ANGLE
            knees[supporting] = self.supporting_knee_angle
            if seen[swing + 4]:  # it touches the ground
                self.state = self.PUSH_OFF
                self.supporting_knee_angle = min(seen[swing + 2], self.SUPPORT_KNEE_ANGLE)
        if self.state == self.PUSH_OFF:
            knees[moving], knees[supporting] = self.supporting_knee_angle, 1.01
            if seen[carry + 2] > 0.841 or seen[2] > 1.38 * self.SPEED:
                self.state = self.STAY_ON_ONE_LEG
                self.moving_leg, self.supporting_leg = supporting, moving

        motors = []
        upright = 0.625 * (seen[0] - 0.00309) + 1.37 * seen[1]
        for leg in (0, 1):
            angle, turn, bend, bending = seen[4 + 5 * leg : 8 + 5 * leg]
            hip, knee = hips[leg], knees[leg]
            swung = 0.0 if hip is None else 0.967 * (hip - angle) - 0.194 * turn
            bent = 0.0 if knee is None else 3.67 * (knee - bend) - 0.139 * bending
            motors += [swung + upright, bent - 13.2 * seen[3]]  # the last term dampens bouncing
        self.a = np.clip(0.532 * np.array(motors), -1.0, 1.0)
        return self.a
