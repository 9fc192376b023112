"""Learning: collecting rollouts, and PPO in NumPy, which `gymcore train` uses.

A demonstration of how the engines are used, not a framework; docs/learn.md shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace

if TYPE_CHECKING:
    from gymcore.learn.collector import Rollout, RolloutCollector
    from gymcore.learn.ppo import PPO
    from gymcore.learn.settings import Settings
    from gymcore.learn.tensorboard import TensorBoardLog
    from gymcore_ext.rollouts import compute_advantages

__all__ = [
    "PPO",
    "Rollout",
    "RolloutCollector",
    "Settings",
    "TensorBoardLog",
    "compute_advantages",
]

# At first use: the command line loads the settings alone, for the options of `gymcore train`.
__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        ".collector": ("Rollout", "RolloutCollector"),
        ".ppo": ("PPO",),
        ".settings": ("Settings",),
        ".tensorboard": ("TensorBoardLog",),
        "gymcore_ext.rollouts": ("compute_advantages",),
    },
)
