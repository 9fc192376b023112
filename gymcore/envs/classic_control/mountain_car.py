"""MountainCar: an underpowered car must gather speed in a valley to climb out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gymcore import spaces
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Parameter, as_positive
from gymcore.native.vector_env import NativeVectorEnv


class MountainCarPicture:
    """The picture of both mountain cars: a hill, a car and a flag."""

    goal_position: Any
    min_position: Any
    max_position: Any

    @classmethod
    def draw(cls) -> Callable[..., None]:
        """The function that draws a MountainCar."""
        from gymcore.envs.classic_control.drawing import draw_mountain_car

        return draw_mountain_car

    def scene(self) -> dict[str, Any]:
        """Where the flag stands, and the ends of the track."""
        return {
            "goal_position": self.goal_position,
            "min_position": self.min_position,
            "max_position": self.max_position,
        }


class MountainCarEnv(MountainCarPicture, NativeDiscreteEnv):
    """A car in a valley with three actions: push left, coast, push right.

    Equations: Moore (1990), in the constants of Sutton and Barto's book.

    - Observation float32 [2]: position, velocity (a step).
    - Reward: -1 a step. Terminates at `goal_position` with at least `goal_velocity`.
    - Reset options `low`, `high`: bounds of the uniform start position (-0.6, -0.4).

    Attributes: min_position, max_position, max_speed, goal_position, goal_velocity, force, gravity.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("MountainCar-v0")
        >>> observation, info = env.reset(seed=1)
        >>> env.step(2)[1:]
        (-1.0, False, False, {})
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.mountain_car"
    screen_width, screen_height = 600, 400
    # Arrow keys of pygame (left 1073741904, right 1073741903) without importing it.
    keys: ClassVar[dict[tuple[int, ...], int]] = {
        (): 1,
        (1073741904,): 0,
        (1073741903,): 2,
        (1073741903, 1073741904): 1,
    }

    min_position = Parameter()
    max_position = Parameter()
    max_speed = Parameter(encode=as_positive)
    goal_position = Parameter()
    goal_velocity = Parameter()
    force = Parameter()
    gravity = Parameter()

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        """Make a MountainCar.

        Args:
            render_mode: None, "human" or "rgb_array".
            goal_velocity: least velocity at the goal.
        """
        super().__init__(render_mode, goal_velocity=goal_velocity)
        self.low = np.array([self.min_position, -self.max_speed], np.float32)
        self.high = np.array([self.max_position, self.max_speed], np.float32)
        self.observation_space = spaces.Box(self.low, self.high, dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        """Arrow keys (pygame key codes) for `gymcore.utils.play`."""
        return dict(self.keys)


class MountainCarVectorEnv(NativeVectorEnv):
    """Many MountainCars in one batch; see `NativeVectorEnv`."""

    env_class = MountainCarEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        goal_velocity: Any = 0,
        **options: Any,
    ) -> None:
        """Make the batch; `options` are those of `NativeVectorEnv`."""
        super().__init__(
            num_envs, max_episode_steps, render_mode, goal_velocity=goal_velocity, **options
        )
