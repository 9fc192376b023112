"""Vector environments: many copies of an environment stepped as one, and their wrappers."""

from __future__ import annotations

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
    from gymcore.vector.native_vector_env import NativeVectorEnv

__all__ = [
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


def __getattr__(name: str) -> Any:
    # At first use: it loads the compiled engine.
    if name == "NativeVectorEnv":
        from gymcore.vector.native_vector_env import NativeVectorEnv

        return NativeVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
