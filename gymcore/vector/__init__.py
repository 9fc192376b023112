"""Vector environments, which step many copies of an environment at once, and their wrappers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace
from gymcore.vector import utils
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
    from gymcore.vector.async_vector_env import AsyncState, AsyncVectorEnv, CustomWorkerVectorEnv

__all__ = [
    "ArrayVectorEnv",
    "AsyncState",
    "AsyncVectorEnv",
    "AutoresetMode",
    "CustomWorkerVectorEnv",
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

# Imported at first use: the module loads compiled code and `multiprocessing`. `gymcore/__init__.py`
# adds `ArrayVectorEnv`, `NativeVectorEnv` and `make`, which are defined in higher layers.
__getattr__, __dir__ = lazy_namespace(
    __name__, {".async_vector_env": ("AsyncState", "AsyncVectorEnv", "CustomWorkerVectorEnv")}
)
