"""Gym 0.21 for programs that were written for it: `import gymcore.compat.gym21 as gym`.

`step` returns four values and `reset` an observation, environments have `seed` and `render(mode)`,
wrappers and vector environments too; they run today's environments and engines.
Environments that are registered here are old ones. Not here: `GoalEnv`, which moved to
gymnasium-robotics.

Initial states for a seed differ from Gym 0.21's for environments of today. For environments that
use `utils.seeding.np_random` they are the same.
"""

from __future__ import annotations

from gymcore import error, logger, spaces
from gymcore.compat.gym21 import core, envs, utils, vector, wrappers
from gymcore.compat.gym21.core import (
    ActionWrapper,
    Env,
    ObservationWrapper,
    RewardWrapper,
    Wrapper,
)
from gymcore.compat.gym21.envs.registration import make, register, spec
from gymcore.spaces import Space

__all__ = [
    "ActionWrapper",
    "Env",
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
