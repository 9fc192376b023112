"""Learning: collecting rollouts, and PPO in NumPy, which `gymcore train` uses.

A demonstration of how the engines are used, not a framework; docs/learn.md shows it.
"""

from gymcore.learn.collector import Rollout, RolloutCollector
from gymcore.learn.ppo import PPO, Settings
from gymcore_ext.rollouts import compute_advantages

__all__ = ["PPO", "Rollout", "RolloutCollector", "Settings", "compute_advantages"]
