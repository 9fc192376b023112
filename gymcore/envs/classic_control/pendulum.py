"""Pendulum: swing a rod up and hold it there with a small torque."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.native.env import NativeContinuousEnv
from gymcore.native.parameters import Parameter, as_positive
from gymcore.native.vector_env import NativeVectorEnv

# Half-widths of the start, in radians and radians a second.
DEFAULT_X = math.pi
DEFAULT_Y = 1.0


def angle_normalize(x: float) -> float:
    """The angle in [-pi, pi), in radians; arrays work too."""
    return ((x + math.pi) % (2 * math.pi)) - math.pi


class PendulumEnv(NativeContinuousEnv):
    """A rod that turns about its end, driven by a torque.

    - Observation float32 [3]: cos(theta), sin(theta), angular velocity (rad/s); theta 0 is upright.
    - Action float32 [1]: torque (N m), clipped to `max_torque`.
    - Reward: -(theta^2 + 0.1 theta_dot^2 + 0.001 torque^2), theta taken in [-pi, pi). It never
      terminates.
    - Reset options `x_init`, `y_init`: largest angle and angular velocity of the uniform start
      (pi, 1).

    Attributes: max_speed, max_torque, dt (s), g (m/s^2), m (kg), l (m).

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("Pendulum-v1", g=9.81)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.unwrapped.g
        ((3,), 9.81)
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.pendulum"
    screen_dim = 500
    picture_size = (500, 500)

    max_speed = Parameter(encode=as_positive)
    max_torque = Parameter(encode=as_positive)
    dt = Parameter(encode=as_positive)
    g = Parameter()
    m = Parameter(encode=as_positive)
    l = Parameter(encode=as_positive)  # noqa: E741 (the name users know)

    last_u: float | None = None

    def __init__(self, render_mode: str | None = None, g: float = 10.0) -> None:
        """Make a Pendulum.

        Args:
            render_mode: None, "human" or "rgb_array".
            g: gravity, m/s^2.
        """
        super().__init__(render_mode, g=g)
        high = np.array([1.0, 1.0, self.max_speed], np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Box(-self.max_torque, self.max_torque, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; see the class for `options`."""
        self.last_u = None
        return super().reset(seed=seed, options=options)

    @classmethod
    def reset_bounds(cls, options: dict[str, Any] | None) -> tuple[float, ...] | None:
        """Both bounds are half-widths, so neither may be negative."""
        bounds = super().reset_bounds(options)
        if bounds is not None and min(bounds) < 0:
            raise error.InvalidArgument(
                f"x_init, y_init: expected no negative number, got {bounds}"
            )
        return bounds

    def _acted(self, action: npt.NDArray[np.float32]) -> None:
        self.last_u = np.asarray(action, np.float32)[0]

    @classmethod
    def draw(cls) -> Callable[..., None]:
        """The function that draws a Pendulum."""
        from gymcore.envs.classic_control.drawing import draw_pendulum

        return draw_pendulum

    def scene(self) -> dict[str, Any]:
        """The torque of the last step, for its arrow."""
        limit = self.max_torque
        torque = 0.0 if self.last_u is None else min(max(float(self.last_u), -limit), limit)
        return {"last_torque": torque, "max_torque": limit}


class PendulumVectorEnv(NativeVectorEnv):
    """Many Pendulums in one batch; see `NativeVectorEnv`."""

    env_class = PendulumEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        g: Any = 10.0,
        **options: Any,
    ) -> None:
        """Make the batch; `options` are those of `NativeVectorEnv`."""
        super().__init__(num_envs, max_episode_steps, render_mode, g=g, **options)
