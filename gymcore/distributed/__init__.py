"""Environments on a Ray cluster: actors that collect fragments, and a vector environment."""

from gymcore.distributed.collector import Collector
from gymcore.distributed.fragment import Fragment
from gymcore.distributed.vector_env import RayVectorEnv

__all__ = ["Collector", "Fragment", "RayVectorEnv"]
