"""PettingZoo: batches of its parallel environments, and worlds of agents with its interfaces."""

from __future__ import annotations

from gymcore.interop.pettingzoo.games import ParallelVectorEnv
from gymcore.interop.pettingzoo.worlds import ParallelWorld, aec_env, parallel_env

__all__ = ["ParallelVectorEnv", "ParallelWorld", "aec_env", "parallel_env"]
