"""Wrappers that change rewards by what came before them."""

from gymcore.wrappers.normalization import NormalizeReward

__all__ = ["NormalizeReward"]
