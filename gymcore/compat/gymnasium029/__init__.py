"""Gymnasium 0.26 to 0.29: `import gymcore.compat.gymnasium029 as gym`.

Every name behaves as in Gymnasium 0.29, which is nearly Gym 0.26: wrappers forward attributes and
also accept vector environments. Vector environments are instances of `Env`. They reset an ended
environment in the same step, and return its final observation and info under `final_observation`
and `final_info`. The environments, spaces and engines are the current ones.
"""

from __future__ import annotations

from gymcore import error, experimental, logger, spaces, utils
from gymcore.compat.gym26.core import ActionWrapper, Env, ObservationWrapper, RewardWrapper, Wrapper
from gymcore.compat.gymnasium029 import core, envs, vector, wrappers
from gymcore.compat.gymnasium029.envs.registration import (
    make,
    make_vec,
    pprint_registry,
    register,
    register_envs,
    registry,
    spec,
)
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
    "experimental",
    "logger",
    "make",
    "make_vec",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "spaces",
    "spec",
    "utils",
    "vector",
    "wrappers",
]
