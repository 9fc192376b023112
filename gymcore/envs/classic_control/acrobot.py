"""Acrobot: swing the tip of a two-link pendulum above the bar, driving the elbow alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.envs.classic_control.acrobot_numerics import bound, rk4, wrap
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Parameter, as_number, as_positive, one_of
from gymcore.native.vector_env import NativeVectorEnv

__all__ = ["AcrobotEnv", "AcrobotVectorEnv", "bound", "rk4", "wrap"]

EQUATIONS = ("book", "nips")


def _as_torques(values: Any) -> tuple[float, ...]:
    if len(values) != 3:
        raise error.InvalidArgument(f"expected three torques, got {values!r}")
    return tuple(as_number(value)[0] for value in values)


class AcrobotEnv(NativeDiscreteEnv):
    """Two links hanging from a bar, with a torque of -1, 0 or 1 N m at the joint between them.

    Equations: Sutton (NIPS 1996) or Sutton and Barto's book (1998), as `book_or_nips` says, by one
    Runge-Kutta step of fourth order.

    - Observation float32 [6]: cos and sin of the first angle (0 hangs down), cos and sin of the
      second (relative to the first link), both angular velocities (rad/s).
    - Reward: -1 a step, 0 at the goal. Terminates with the tip one link length above the bar.
    - Reset options `low`, `high`: bounds of the uniform start of all four numbers (-0.1, 0.1).

    Attributes: dt (s), LINK_LENGTH_1, LINK_LENGTH_2 (drawn only), LINK_MASS_1, LINK_MASS_2,
    LINK_COM_POS_1, LINK_COM_POS_2, LINK_MOI, MAX_VEL_1, MAX_VEL_2, AVAIL_TORQUE, book_or_nips,
    torque_noise_max (N m; each torque is changed by a uniform draw up to this; single environments
    only).

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("Acrobot-v1")
        >>> observation, info = env.reset(seed=1)
        >>> env.step(0)[1:]
        (-1.0, False, False, {})
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 15}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.acrobot"
    picture_size = (500, 500)

    dt = Parameter(encode=as_positive)
    LINK_LENGTH_1 = Parameter(encode=as_positive)
    LINK_LENGTH_2 = 1.0
    LINK_MASS_1 = Parameter(encode=as_positive)
    LINK_MASS_2 = Parameter(encode=as_positive)
    LINK_COM_POS_1 = Parameter(encode=as_positive)
    LINK_COM_POS_2 = Parameter(encode=as_positive)
    LINK_MOI = Parameter(encode=as_positive)
    MAX_VEL_1 = Parameter(encode=as_positive)
    MAX_VEL_2 = Parameter(encode=as_positive)
    AVAIL_TORQUE = Parameter(
        "torque_low", "torque_middle", "torque_high", encode=_as_torques, decode=list
    )
    book_or_nips = Parameter(
        "nips", encode=one_of(*EQUATIONS), decode=lambda columns: EQUATIONS[int(columns[0])]
    )
    actions_num = 3
    SCREEN_DIM = 500
    action_arrow = domain_fig = None  # never anything else in Gymnasium
    torque_noise_max = 0.0

    def __init__(self, render_mode: str | None = None) -> None:
        """Make an Acrobot.

        Args:
            render_mode: None, "human" or "rgb_array".
        """
        super().__init__(render_mode)
        high = np.array([1.0, 1.0, 1.0, 1.0, self.MAX_VEL_1, self.MAX_VEL_2], np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def step(
        self, action: int
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Step by one action, with a noisy torque if `torque_noise_max` is positive.

        Raises:
            InvalidAction: no element of `action_space`.
            ResetNeeded: before the first reset.
            ClosedEnvironmentError: after close.
        """
        noise = self.torque_noise_max
        if not noise:
            return NativeDiscreteEnv.step(self, action)
        if not self.action_space.contains(action) or not self._batch.is_ready:
            return super().step(action)  # raises
        torques = self.AVAIL_TORQUE
        noisy = torques[action] + self.np_random.uniform(-noise, noise)
        self.AVAIL_TORQUE = [noisy] * 3
        try:
            return super().step(action)
        finally:
            self.AVAIL_TORQUE = torques

    @classmethod
    def draw(cls) -> Callable[..., None]:
        """The function that draws an Acrobot."""
        from gymcore.envs.classic_control.drawing import draw_acrobot

        return draw_acrobot

    def scene(self) -> dict[str, Any]:
        """Lengths of the links."""
        return {"link_length_1": self.LINK_LENGTH_1, "link_length_2": self.LINK_LENGTH_2}


class AcrobotVectorEnv(NativeVectorEnv):
    """Many Acrobots in one batch; see `NativeVectorEnv`."""

    env_class = AcrobotEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 500,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the batch; `options` are those of `NativeVectorEnv`."""
        super().__init__(num_envs, max_episode_steps, render_mode, **options)
