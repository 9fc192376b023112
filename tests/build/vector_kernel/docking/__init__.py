"""An environment on gymcore's compiled engine: importing it registers `docking/Docking-v0`."""

from __future__ import annotations

from typing import Any

import numpy as np

import gymcore as gym
from gymcore import spaces
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Parameter, as_positive
from gymcore.vector import NativeVectorEnv

__all__ = ["DockingEnv", "DockingVectorEnv"]


class DockingEnv(NativeDiscreteEnv):
    """A spacecraft that must stop at a station; the physics is in kernel.pyx."""

    metadata = {"render_modes": []}  # noqa: RUF012
    kernel_module = "docking.kernel"

    # Attributes of the environment, one for each kernel parameter that users may set.
    mass = Parameter(encode=as_positive)
    thrust = Parameter()
    gentle = Parameter(encode=as_positive)

    def __init__(self, mass: float = 500.0, render_mode: str | None = None) -> None:
        """Make a spacecraft of `mass` kilograms."""
        super().__init__(render_mode, mass=mass)
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = spaces.Discrete(3)


class DockingVectorEnv(NativeVectorEnv):
    """Many spacecraft in one batch."""

    env_class = DockingEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        mass: Any = 500.0,
        **options: Any,
    ) -> None:
        """Make the batch; `mass` may have one number per lane, `options` are NativeVectorEnv's."""
        super().__init__(num_envs, max_episode_steps, render_mode, mass=mass, **options)


gym.register(
    "docking/Docking-v0",
    entry_point=DockingEnv,
    vector_entry_point=DockingVectorEnv,
    max_episode_steps=200,
)
