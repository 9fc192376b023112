"""Learning: rollout collection, evaluation, and PPO in NumPy, as used by `gymcore train`.

This package demonstrates the engines and is not a framework; see docs/learn.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace

if TYPE_CHECKING:
    from gymcore.learn.advantages import compute_advantages
    from gymcore.learn.collector import Rollout, RolloutCollector
    from gymcore.learn.dataset import DatasetWriter
    from gymcore.learn.evaluation import Evaluation, evaluate
    from gymcore.learn.ppo import PPO
    from gymcore.learn.replay_buffer import ReplayBuffer, Transitions
    from gymcore.learn.settings import Settings
    from gymcore.learn.tensorboard import TensorBoardLog

__all__ = [
    "PPO",
    "DatasetWriter",
    "Evaluation",
    "ReplayBuffer",
    "Rollout",
    "RolloutCollector",
    "Settings",
    "TensorBoardLog",
    "Transitions",
    "compute_advantages",
    "evaluate",
]

# Imported at first use: the command line loads only the settings, for the options of `train`.
__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        ".advantages": ("compute_advantages",),
        ".collector": ("Rollout", "RolloutCollector"),
        ".dataset": ("DatasetWriter",),
        ".evaluation": ("Evaluation", "evaluate"),
        ".ppo": ("PPO",),
        ".replay_buffer": ("ReplayBuffer", "Transitions"),
        ".settings": ("Settings",),
        ".tensorboard": ("TensorBoardLog",),
    },
)
