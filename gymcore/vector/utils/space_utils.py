"""Batches of spaces and of their elements, under the path that Gymnasium has for them."""

from gymcore.spaces import batching
from gymcore.spaces.batching import *

__all__ = batching.__all__
