"""Earlier versions of the API: namespaces of Gymnasium 0.29, Gym 0.26 and Gym 0.21, and bridges.

Programs written for these versions run after a change of their import, for example to
`import gymcore.compat.gym26 as gym`. `to_done_api` and `from_done_api` convert environments and
vector environments from the current interface to that of Gym 0.21, where `step` returned four
values, and back. The package `gym` is not needed.
"""

from __future__ import annotations

from gymcore.compat.gym21.bridges import from_done_api, to_done_api
from gymcore.compat.gym21.done_envs import DoneEnv, DoneVectorEnv
from gymcore.compat.gym26.wrappers.episodes import StepAPICompatibility
from gymcore.compat.old_envs import EnvCompatibility, VectorEnvCompatibility

__all__ = [
    "DoneEnv",
    "DoneVectorEnv",
    "EnvCompatibility",
    "StepAPICompatibility",
    "VectorEnvCompatibility",
    "from_done_api",
    "to_done_api",
]
