"""Bridges between the interface of Gym 0.21, where `step` returned four values, and today's.

`to_done_api` and `from_done_api` take whole environments and vector environments from one to the
other. Nothing here needs the package `gym`.
"""

from __future__ import annotations

from gymcore.compat.bridges import from_done_api, to_done_api
from gymcore.compat.done_api import DoneEnv
from gymcore.compat.done_vector_api import DoneVectorEnv
from gymcore.compat.old_envs import EnvCompatibility
from gymcore.compat.old_vector_envs import VectorEnvCompatibility
from gymcore.compat.step_api import StepAPICompatibility

__all__ = [
    "DoneEnv",
    "DoneVectorEnv",
    "EnvCompatibility",
    "StepAPICompatibility",
    "VectorEnvCompatibility",
    "from_done_api",
    "to_done_api",
]
