"""MountainCarContinuous: the mountain car with a continuous force that has a cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymcore import spaces
from gymcore.envs.classic_control.mountain_car import MountainCarRendering
from gymcore.native.env import NativeContinuousEnv
from gymcore.native.parameters import Parameter
from gymcore.native.vector_env import NativeVectorEnv


class Continuous_MountainCarEnv(MountainCarRendering[NDArray[np.float32]], NativeContinuousEnv):
    """A car in a valley, pushed by a force between -1 and 1.

    Equations: Moore (1990). State and observation are float32, as Gymnasium computes them.

    - Observation float32 [2]: position, velocity (per step). Action float32 [1]: force.
    - Reward: -0.1 times the squared action before clipping, and 100 at the goal.
    - Reset options `low`, `high`: bounds of the uniform initial position (-0.6, -0.4).

    Attributes: min_action, max_action, min_position, max_position, max_speed, goal_position,
    goal_velocity, power.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("MountainCarContinuous-v0")
        >>> observation, info = env.reset(seed=1)
        >>> env.step(env.action_space.low)[1:]
        (-0.1, False, False, {})
    """

    kernel_module = "gymcore_ext.physics.mountain_car_continuous"

    min_action = Parameter()
    max_action = Parameter()
    power = Parameter()

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        """Create a MountainCarContinuous.

        Args:
            render_mode: Render mode: None, "human" or "rgb_array".
            goal_velocity: Minimum velocity at the goal.
        """
        super().__init__(render_mode, goal_velocity=goal_velocity)
        self.low_state = np.array([self.min_position, -self.max_speed], np.float32)
        self.high_state = np.array([self.max_position, self.max_speed], np.float32)
        self.observation_space = spaces.Box(self.low_state, self.high_state, dtype=np.float32)
        self.action_space = spaces.Box(self.min_action, self.max_action, (1,), np.float32)

    def state_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the flag."""
        return {"first_step": (0, 1)}

    @classmethod
    def shown_state(cls, stored: NDArray[np.float64]) -> object:
        """Return position and velocity, float64 [2] at first and float32 after a step."""
        return stored[:2] if stored[2] else stored[:2].astype(np.float32)

    @classmethod
    def stored_state(cls, value: object) -> object:
        """Return position, velocity and the flag, which is 0 for a float32 state."""
        numbers = np.asarray(value)
        return np.append(numbers, numbers.dtype != np.float32) if numbers.ndim == 1 else value


Continuous_MountainCarVectorEnv = NativeVectorEnv.of(Continuous_MountainCarEnv)
