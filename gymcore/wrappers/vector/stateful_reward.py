"""Wrappers that change the rewards of a batch by what came before them."""

from gymcore.wrappers.vector.normalization import NormalizeReward

__all__ = ["NormalizeReward"]
