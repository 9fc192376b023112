"""Earlier eras of the API: whole namespaces of Gym 0.26 and Gym 0.21, and bridges between them.

`import gymcore.compat.gym26 as gym` and `import gymcore.compat.gym21 as gym` run programs that were
written for those versions. `to_done_api` and `from_done_api` take environments and vector
environments from today's interface to that of Gym 0.21, where `step` returned four values, and
back. Nothing here needs the package `gym`.
"""

from __future__ import annotations

from gymcore.compat.bridges import from_done_api, to_done_api
from gymcore.compat.done_envs import DoneEnv, DoneVectorEnv
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
