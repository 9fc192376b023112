"""BipedalWalker in compiled code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import invalid_action
from gymcore.core import Info
from gymcore.envs.box2d import bipedal_walker_python
from gymcore.envs.box2d.bipedal_walker_python import (
    FRICTION,
    GROUND_X,
    RAY_ENDS,
    Clouds,
    WalkerParts,
    cloud_polygons,
    ground_polygons,
    make_clouds,
    walker_spaces,
)
from gymcore.envs.box2d.box2d_env import Body, Box2D, Definition, Joint, World
from gymcore.envs.box2d.compiled_env import CompiledBox2DEnv, EpisodeField, Foot
from gymcore.native.parameters import flag
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import Color, Point
from gymcore_ext.box2d import walker

if TYPE_CHECKING:
    import pygame


class BipedalWalker(CompiledBox2DEnv[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """A hull on two legs with hips and knees, over ground that it senses with a lidar.

    - Observation float32 [24]: angle and angular velocity of the hull, its velocity; for each leg
      angle and speed of hip and knee and whether the foot touches the ground; and the free
      fraction of each of 10 rays of 5.3 m, from straight down to the front.
    - Actions float32 [4] in [-1, 1]: hip and knee of one leg, then of the other. The sign is the
      direction of the motor, the magnitude its torque.
    - Reward: 4.3 per meter forward, minus changes of the hull's angle, minus 0.028 for each motor's
      torque; -100 for a fall. A fall or the end of the ground terminates.

    Terrain, pushes, observations, rewards and flags are Gymnasium's for the same seeds and actions,
    bit for bit. As in Gymnasium the world persists from one episode to the next, so the order in
    which Box2D finds contacts depends on earlier episodes. Set `fresh_worlds` for episodes
    that depend on their seed alone.

    Attributes:
        fresh_worlds: Whether `reset` begins with a new world; False, as in Gymnasium. It can be
            set at any time.
        hull, legs, joints, terrain, world: Box2D's bodies, joints and world.
        terrain_x, terrain_y: The points of the ground, meters.
        terrain_poly, cloud_poly, lidar: The pieces of the ground, the clouds and the rays, in
            Gymnasium's form; changing them changes nothing.

    Examples:
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
    python_names = compiled_methods | {"fd_edge", "fd_polygon"}
    python_class = bipedal_walker_python.BipedalWalker
    hardcore, fresh_worlds = flag(), flag()
    game_over, scroll = EpisodeField(bool), EpisodeField(float)
    terrain_x = GROUND_X
    first_action = np.zeros(4)

    def __init__(self, render_mode: str | None = None, hardcore: bool = False) -> None:
        """Make a walker.

        Args:
            render_mode: None, "human" or "rgb_array".
            hardcore: Whether there are stumps, stairs and pits; applies to the next episodes.

        Raises:
            DependencyNotInstalled: If Box2D cannot be called from compiled code.
        """
        self.observation_space, self.action_space = walker_spaces()
        super().__init__(render_mode, hardcore=hardcore)

    def _definitions(self) -> list[Definition]:
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
        """Take an action of four numbers; the torques are clipped to [-1, 1].

        Raises:
            InvalidAction: If `action` is not four numbers (also an `AssertionError`).
            ResetNeeded: If `reset` has not been called.
        """
        try:
            observation, reward, terminated = self._batch.step_single_array(action)
        except error.InvalidAction:
            raise invalid_action(action, "four numbers, none of them NaN") from None
        if terminated and reward == -100.0:
            reward = -100  # an int, as in Gymnasium
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    # --- attributes that programs read ---------------------------------------------------------

    @property
    def world(self) -> World | None:
        """The `Box2D.b2World`."""
        return self._world

    @property
    def hull(self) -> Body | None:
        """The body of the hull; None before the first reset."""
        return self._bodies[-5] if self._bodies else None

    @property
    def legs(self) -> list[Body]:
        """The bodies of the legs, upper and lower, twice; empty before the first reset."""
        return self._bodies[-4:]

    @property
    def joints(self) -> list[Joint]:
        """The joints, hip and knee, twice; empty before the first reset."""
        joints: list[Joint] = self._world.joints
        return joints

    @property
    def terrain(self) -> list[Body]:
        """The bodies of the ground, from the right to the left end."""
        return self._bodies[-6::-1]

    @property
    def drawlist(self) -> list[Body]:
        """All bodies: ground, legs, hull."""
        return [*self.terrain, *self.legs, *self._bodies[-5:-4]]

    def _with_gymnasium_attributes(self, bodies: list[Body]) -> list[Body]:
        bipedal_walker_python.paint_terrain(bodies[:-5], int(self._episode["box_count"]))
        joints, touches = self._world.joints, self._episode["feet"].reshape(-1, 1)
        for index, leg in enumerate(bodies[-4:]):
            if index % 2:
                bodies[index - 4] = Foot(leg, joints[index], touches[index // 2])
            else:
                leg.joint = joints[index]
        return bodies

    @property
    def prev_shaping(self) -> float | None:
        """The shaping term that the next reward is relative to; None before the first step."""
        episode = self._episode
        return float(episode["prev_shaping"]) if episode["has_shaping"] else None

    @property
    def terrain_y(self) -> list[float]:
        """The heights of the points of the ground, meters; empty before the first reset."""
        return self._episode["heights"].tolist() if self._bodies else []

    @property
    def clouds(self) -> Clouds:
        """The corners of the clouds, meters."""
        return make_clouds(self._episode["clouds"]) if self._bodies else ()

    @property
    def terrain_poly(self) -> list[tuple[list[Point], Color]]:
        """The corners [4] and the color of each piece of the ground, meters."""
        return ground_polygons(self.terrain_x, self.terrain_y)

    @property
    def cloud_poly(self) -> list[tuple[list[Point], float, float]]:
        """The corners of each cloud, and its lowest and highest x, meters."""
        return cloud_polygons(self.clouds)

    @property
    def lidar_fractions(self) -> list[float]:
        """The fraction of each ray that is free; empty before the first reset."""
        return self._episode["fractions"].tolist() if self._bodies else []

    @property
    def lidar_render(self) -> int:
        """The ray that Gymnasium's `render` draws next; a class that assigns it steps in Python."""
        return 0

    @property
    def lidar(self) -> list[SimpleNamespace]:
        """The free `fraction` of each ray, its start `p1` and the end `p2` of the free part."""
        x, y = self.hull.position if self.hull else (0.0, 0.0)
        return [
            SimpleNamespace(fraction=part, p1=(x, y), p2=(x + part * dx, y + part * dy))
            for part, (dx, dy) in zip(self.lidar_fractions, RAY_ENDS, strict=False)
        ]

    def _draw(self, surface: pygame.Surface) -> None:
        episode = self._episode
        boxes = episode["boxes"][: episode["box_count"]].tolist()
        bipedal_walker_python.draw(surface, self, boxes, int(episode["steps"]))


class BipedalWalkerVectorEnv(NativeVectorEnv):
    """A batch of walkers; see `NativeVectorEnv`.

    `set_attr` takes `hardcore` (of the next episodes) and `fresh_worlds`, one for all lanes or one
    for each.
    """

    env_class = BipedalWalker
