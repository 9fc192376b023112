"""Gym 0.21 for programs written for it: `import gymcore.compat.gym21 as gym`.

`step` returns four values, `reset` returns an observation, and environments, wrappers and vector
environments have `seed` and `render(mode)`. The environments and engines behind this interface are
the current ones. `register` expects environments with the old interface.

For the same seed, the initial states of gymcore's environments differ from Gym 0.21's. Those of
old environments that use `utils.seeding.np_random` are the same.
"""

from __future__ import annotations

from gymcore import error, logger, spaces
from gymcore.compat.gym21 import core, envs, utils, vector, wrappers
from gymcore.compat.gym21.core import (
    ActionWrapper,
    Env,
    GoalEnv,
    ObservationWrapper,
    RewardWrapper,
    Wrapper,
)
from gymcore.compat.gym21.envs.registration import make, register, spec
from gymcore.spaces import Space

__all__ = [
    "ActionWrapper",
    "Env",
    "GoalEnv",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "Wrapper",
    "core",
    "envs",
    "error",
    "logger",
    "make",
    "register",
    "spaces",
    "spec",
    "utils",
    "vector",
    "wrappers",
]
