"""The sets to which observations and actions belong.

A space describes the form of its elements, checks whether a value is one, and samples random ones.
`flatten` and related functions convert elements of (nested) spaces to one-dimensional arrays.
"""

from gymcore.spaces.box import Box
from gymcore.spaces.dict import Dict
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.graph import Graph, GraphInstance
from gymcore.spaces.multi_binary import MultiBinary
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.oneof import OneOf
from gymcore.spaces.sequence import Sequence
from gymcore.spaces.space import Space
from gymcore.spaces.text import Text
from gymcore.spaces.tuple import Tuple
from gymcore.spaces.utils import flatdim, flatten, flatten_space, unflatten

__all__ = [
    "Box",
    "Dict",
    "Discrete",
    "Graph",
    "GraphInstance",
    "MultiBinary",
    "MultiDiscrete",
    "OneOf",
    "Sequence",
    "Space",
    "Text",
    "Tuple",
    "flatdim",
    "flatten",
    "flatten_space",
    "unflatten",
]
