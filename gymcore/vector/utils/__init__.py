"""Utilities for implementing vector environments: batches of spaces and of their elements."""

from gymcore.spaces.batching import *
from gymcore.vector.utils import misc, shared_memory, space_utils
from gymcore.vector.utils.misc import *
from gymcore.vector.utils.shared_memory import *

numpy_utils = spaces = space_utils  # names of Gym 0.26

__all__ = [*misc.__all__, *shared_memory.__all__, *space_utils.__all__]
