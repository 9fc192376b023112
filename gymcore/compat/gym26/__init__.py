"""Gym 0.26."""

from gymcore.compat.gym26 import wrappers

__all__ = ["wrappers"]
