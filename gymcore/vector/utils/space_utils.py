"""Batches of spaces and of their elements, under Gymnasium's import path."""

from gymcore.spaces import batching
from gymcore.spaces.batching import *

__all__ = batching.__all__
