"""Toy text, compiled: environments with few states, and `TabularEnv` for your own table."""

from gymcore.envs.toy_text.blackjack import BlackjackEnv
from gymcore.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymcore.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymcore.envs.toy_text.tabular import TabularEnv, TabularVectorEnv
from gymcore.envs.toy_text.taxi import TaxiEnv

__all__ = [
    "BlackjackEnv",
    "CliffWalkingEnv",
    "FrozenLakeEnv",
    "TabularEnv",
    "TabularVectorEnv",
    "TaxiEnv",
]
