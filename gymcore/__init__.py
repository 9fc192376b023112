"""The Gym / Gymnasium environment API with a compiled, high-throughput vector engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore import envs, error, logger, spaces, utils, wrappers
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
    from gymcore import compat, experimental, vector

__version__ = "0.1.0"

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


def __getattr__(name: str) -> Any:
    # At first use: they load the compiled engine and its batches.
    if name in ("compat", "experimental", "vector"):
        import importlib

        return importlib.import_module(f"gymcore.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
