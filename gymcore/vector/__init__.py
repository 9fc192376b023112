"""Vector environments: many copies of an environment stepped as one, and their wrappers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gymcore.vector import utils
from gymcore.vector.legacy import make
from gymcore.vector.sync_vector_env import SyncVectorEnv
from gymcore.vector.vector_env import (
    AutoresetMode,
    VectorActionWrapper,
    VectorEnv,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)

if TYPE_CHECKING:
    from gymcore.vector.async_vector_env import AsyncState, AsyncVectorEnv
    from gymcore.native.vector_env import NativeVectorEnv

__all__ = [
    "AsyncState",
    "AsyncVectorEnv",
    "AutoresetMode",
    "NativeVectorEnv",
    "SyncVectorEnv",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
    "make",
    "utils",
]


# At first use: they load compiled engines, and one of them `multiprocessing`.
_MODULES = {
    "AsyncState": "gymcore.vector.async_vector_env",
    "AsyncVectorEnv": "gymcore.vector.async_vector_env",
    "NativeVectorEnv": "gymcore.native.vector_env",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
