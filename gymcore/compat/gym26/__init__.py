"""Gym 0.26 for programs written for it: `import gymcore.compat.gym26 as gym`.

Every name behaves as in Gym 0.26: wrappers forward attributes and also accept vector environments.
Vector environments reset an ended environment in the same step, and return its final observation
and info under `final_observation` and `final_info`. The environments, spaces and engines are the
current ones. Unlike in Gym 0.26, a vector environment is not an `Env`.
"""

from __future__ import annotations

from gymcore import error, logger, spaces, utils
from gymcore.compat.gym26 import core, envs, vector, wrappers
from gymcore.compat.gym26.core import ActionWrapper, Env, ObservationWrapper, RewardWrapper, Wrapper
from gymcore.compat.gym26.envs.registration import make, register, spec
from gymcore.envs.registration import pprint_registry
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
    "pprint_registry",
    "register",
    "spaces",
    "spec",
    "utils",
    "vector",
    "wrappers",
]
