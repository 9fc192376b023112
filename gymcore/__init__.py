"""The Gym / Gymnasium environment API with a compiled, high-throughput vector engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore import envs, error, logger, spaces, utils, wrappers
from gymcore.base.lazy_namespace import add_names, lazy_namespace
from gymcore.core import ActionWrapper, Env, ObservationWrapper, RewardWrapper, Wrapper
from gymcore.envs.registration import (
    VectorizeMode,
    make,
    make_vec,
    pprint_registry,
    register,
    register_envs,
    registry,
    spec,
)
from gymcore.spaces import Space

if TYPE_CHECKING:
    from gymcore import compat, environment, experimental, jit, learn, vector

__version__ = "0.2.0"

__all__ = [
    "ActionWrapper",
    "Env",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "VectorizeMode",
    "Wrapper",
    "__version__",
    "compat",
    "environment",
    "envs",
    "error",
    "experimental",
    "jit",
    "learn",
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

# Imported at first use, because these packages load the compiled engine.
__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        ".compat": (),
        ".environment": (),
        ".experimental": (),
        ".jit": (),
        ".learn": (),
        ".vector": (),
    },
)

# Names of these packages that are defined in higher layers.
add_names(
    "gymcore.vector",
    {
        "gymcore.envs.vector_make": ("make",),
        "gymcore.native.array_vector_env": ("ArrayVectorEnv",),
        "gymcore.native.vector_env": ("NativeVectorEnv",),
    },
)
add_names("gymcore.wrappers", {"gymcore.compat.gym26.wrappers": wrappers.GYM26_NAMES})
