"""Many spaces, as functions of the module that they are built with."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

INF = np.inf

_MIXED_LOW = np.array([0.0, -INF, 0.0, -INF, -1.0, -INF])
_MIXED_HIGH = np.array([1.0, INF, INF, 0.0, 5.0, INF])

BOXES: list[Callable[[Any], Any]] = [
    lambda s: s.Box(0, 1),
    lambda s: s.Box(-1.0, 1.0, (3,)),
    lambda s: s.Box(0, 255, (4, 3, 2), np.uint8),
    lambda s: s.Box(0, 1, ()),
    lambda s: s.Box(-INF, INF, ()),
    lambda s: s.Box(0, INF, ()),
    lambda s: s.Box(0, 1, (0,)),
    lambda s: s.Box(0.5, 0.5, (2,)),
    lambda s: s.Box(-INF, INF, (2, 2), np.float64),
    lambda s: s.Box(0, INF, (2,), np.float16),
    lambda s: s.Box(-65504, 65504, (20,), np.float16),
    lambda s: s.Box(0, 1, (5,), bool),
    lambda s: s.Box(np.array([False, True, False]), np.array([True, True, False]), dtype=bool),
    lambda s: s.Box(0, 1, (2,), ">f4"),
    lambda s: s.Box(0, 4, (2,), ">i4"),
    lambda s: s.Box(-1e300, 1e300, (5,), np.float64),
    lambda s: s.Box(0.1, 7.3, (50,), np.float64),
    lambda s: s.Box(np.finfo(np.float32).min, np.finfo(np.float32).max, (20,)),
    lambda s: s.Box(0, 2**53, (20,), np.int64),
    lambda s: s.Box(-(2**53), 2**53 - 2, (20,), np.int64),
    lambda s: s.Box(0, 2**53 - 3, (20,), np.uint64),
    lambda s: s.Box(np.array([-5, 0]), np.array([5, 3]), dtype=np.int16),
    lambda s: s.Box(INF, INF, (2,)),
]
for _dtype in (np.float16, np.float32, np.float64):
    BOXES.append(lambda s, d=_dtype: s.Box(_MIXED_LOW.astype(d), _MIXED_HIGH.astype(d), dtype=d))
for _dtype in (np.int8, np.int16, np.int32, np.int64):
    BOXES += [
        lambda s, d=_dtype: s.Box(-INF, INF, (50,), d),
        lambda s, d=_dtype: s.Box(-INF, 3, (50,), d),
        lambda s, d=_dtype: s.Box(-3, INF, (50,), d),
        lambda s, d=_dtype: s.Box(
            np.where(np.isinf(_MIXED_LOW), -1000, _MIXED_LOW).clip(-100).astype(d),
            np.where(np.isinf(_MIXED_HIGH), 100, _MIXED_HIGH).astype(d),
            dtype=d,
        ),
    ]
for _dtype in (np.int8, np.int16, np.int32):
    BOXES += [
        lambda s, d=_dtype: s.Box(-INF, int(np.iinfo(d).min) + 1, (50,), d),
        lambda s, d=_dtype: s.Box(int(np.iinfo(d).max) - 1, INF, (50,), d),
        lambda s, d=_dtype: s.Box(-INF, int(np.iinfo(d).max), (50,), d),
        lambda s, d=_dtype: s.Box(_MIXED_LOW, _MIXED_HIGH, dtype=d),
    ]
for _dtype in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32):
    BOXES += [
        lambda s, d=_dtype: s.Box(int(np.iinfo(d).min), int(np.iinfo(d).max), (50,), d),
        lambda s, d=_dtype: s.Box(0, 3, (50,), d),
    ]

DISCRETES: list[Callable[[Any], Any]] = [
    lambda s: s.Discrete(1),
    lambda s: s.Discrete(2),
    lambda s: s.Discrete(7, start=-3),
    lambda s: s.Discrete(100, dtype=np.int8),
    lambda s: s.Discrete(3, start=250, dtype=np.uint8),
    lambda s: s.Discrete(3, start=-5, dtype=np.int16),
    lambda s: s.Discrete(3, start=5, dtype=">i4"),
    lambda s: s.Discrete(2**53),
    lambda s: s.Discrete(2**53, dtype=np.uint64),
    lambda s: s.Discrete(np.int8(5)),
]

MULTI_DISCRETES: list[Callable[[Any], Any]] = [
    lambda s: s.MultiDiscrete([3, 2]),
    lambda s: s.MultiDiscrete([3, 2, 9], start=[-1, 5, 0]),
    lambda s: s.MultiDiscrete([[3, 2], [1, 4]], start=[[1, 2], [3, 4]], dtype=np.int32),
    lambda s: s.MultiDiscrete(np.array([3, 2], dtype=np.int8), dtype=np.uint8),
    lambda s: s.MultiDiscrete(np.full((2, 3, 2), 5), dtype=np.int16),
    lambda s: s.MultiDiscrete([]),
    lambda s: s.MultiDiscrete(3),
]

MULTI_BINARIES: list[Callable[[Any], Any]] = [
    lambda s: s.MultiBinary(1),
    lambda s: s.MultiBinary(5),
    lambda s: s.MultiBinary([2, 3]),
    lambda s: s.MultiBinary(np.array([2, 1, 3])),
    lambda s: s.MultiBinary(()),
]

TEXTS: list[Callable[[Any], Any]] = [
    lambda s: s.Text(1),
    lambda s: s.Text(5),
    lambda s: s.Text(5, min_length=0, charset="abcb"),
    lambda s: s.Text(5, min_length=5, charset={"z", "y", "ß"}),
    lambda s: s.Text(0, min_length=0),
    lambda s: s.Text(12, min_length=3, charset="éß😀"),
]

FUNDAMENTAL = BOXES + DISCRETES + MULTI_DISCRETES + MULTI_BINARIES + TEXTS

TUPLES: list[Callable[[Any], Any]] = [
    lambda s: s.Tuple([]),
    lambda s: s.Tuple([s.Discrete(2), s.Box(0, 1)]),
    lambda s: s.Tuple([s.Box(0, 255, (2,), np.uint8), s.MultiBinary(2)]),
    lambda s: s.Tuple([s.Tuple([s.Discrete(2), s.MultiDiscrete([2, 3])]), s.Text(3, charset="ab")]),
    lambda s: s.Tuple([s.Discrete(3, dtype=np.int8)] * 3),
]

DICTS: list[Callable[[Any], Any]] = [
    lambda s: s.Dict(),
    lambda s: s.Dict(b=s.Discrete(2), a=s.Box(0, 1)),
    lambda s: s.Dict({"b": s.Discrete(2), "a": s.Box(0, 1)}),
    lambda s: s.Dict({"b": s.Discrete(2), "a": s.Box(0, 1)}, sort_keys=False),
    lambda s: s.Dict(OrderedDict(b=s.Discrete(2), a=s.MultiBinary(3))),
    lambda s: s.Dict({2: s.Discrete(2), 1: s.Discrete(3)}),
    lambda s: s.Dict(
        {
            "x": s.Dict(a=s.Discrete(2), b=s.Tuple([s.Box(-3, 3, (2,)), s.Discrete(4)])),
            "d": s.MultiDiscrete([[2, 3]]),
        }
    ),
]

ONE_OFS: list[Callable[[Any], Any]] = [
    lambda s: s.OneOf([s.Discrete(3)]),
    lambda s: s.OneOf([s.Discrete(3), s.Box(0, 1)]),
    lambda s: s.OneOf([s.Box(5, 9, (2,)), s.Discrete(3), s.MultiBinary(4)]),
    lambda s: s.OneOf([s.Text(3, charset="ab"), s.Tuple([s.Discrete(2)])]),
    lambda s: s.OneOf([s.OneOf([s.Discrete(2), s.Discrete(4)]), s.Box(0, 1)]),
]

SEQUENCES: list[Callable[[Any], Any]] = [
    lambda s: s.Sequence(s.Discrete(3)),
    lambda s: s.Sequence(s.Box(0, 1, (2, 2))),
    lambda s: s.Sequence(s.Text(3)),
    lambda s: s.Sequence(s.Dict(a=s.Discrete(2), b=s.Box(0, 1))),
    lambda s: s.Sequence(s.Tuple([s.Discrete(2), s.MultiBinary(2)])),
    lambda s: s.Sequence(s.Sequence(s.Discrete(3))),
    lambda s: s.Sequence(s.OneOf([s.Discrete(3), s.Box(0, 1)])),
    lambda s: s.Sequence(s.Graph(s.Discrete(3), None)),
    lambda s: s.Sequence(s.Discrete(3, start=2), stack=True),
    lambda s: s.Sequence(s.Box(0, 1, (2, 2)), stack=True),
    lambda s: s.Sequence(s.MultiDiscrete([2, 3], dtype=np.int8), stack=True),
    lambda s: s.Sequence(s.Dict(a=s.Discrete(2), b=s.Box(0, 1)), stack=True),
    lambda s: s.Sequence(s.Tuple([s.Discrete(2), s.MultiBinary(2)]), stack=True),
]

# With `stack=True` over elements that are not arrays, Gymnasium loses data in JSON.
STACKED_OTHERS: list[Callable[[Any], Any]] = [
    lambda s: s.Sequence(s.Text(3, charset="ab"), stack=True),
    lambda s: s.Sequence(s.Tuple([s.Discrete(2), s.Text(3, charset="ab")]), stack=True),
    lambda s: s.Sequence(s.OneOf([s.Discrete(3), s.Box(0, 1)]), stack=True),
    lambda s: s.Sequence(s.Sequence(s.Discrete(3)), stack=True),
]

GRAPHS: list[Callable[[Any], Any]] = [
    lambda s: s.Graph(s.Box(0, 1, (2,)), s.Discrete(3)),
    lambda s: s.Graph(s.Discrete(3, start=1), None),
    lambda s: s.Graph(s.MultiDiscrete([2, 3]), s.MultiBinary(2)),
    lambda s: s.Graph(s.MultiBinary([2, 2]), s.Box(-INF, INF, (2, 2))),
    lambda s: s.Graph(s.Dict(a=s.Discrete(2), b=s.Box(0, 1)), s.Tuple([s.Discrete(2)])),
]

# Likewise for nodes or edges that are not arrays.
GRAPHS_OF_OTHERS: list[Callable[[Any], Any]] = [
    lambda s: s.Graph(s.Text(2, charset="ab"), s.Text(3, charset="ab")),
    lambda s: s.Graph(s.Discrete(2), s.OneOf([s.Discrete(2), s.Box(0, 1)])),
]

NESTED: list[Callable[[Any], Any]] = [
    lambda s: s.Tuple([s.Discrete(2), s.Sequence(s.Box(0, 1))]),
    lambda s: s.Dict(a=s.Discrete(2), b=s.Dict(c=s.Sequence(s.Box(0, 1)), d=s.Discrete(3))),
    lambda s: s.Dict(
        a=s.Dict(a=s.Discrete(2), b=s.Discrete(3)),
        b=s.Tuple([s.Discrete(2)]),
        c=s.Graph(s.Box(0, 1), s.Discrete(3)),
        d=s.Sequence(s.Box(0, 1)),
        e=s.OneOf([s.Discrete(2), s.Box(0, 1)]),
    ),
]

COMPOSITE = TUPLES + DICTS + ONE_OFS + SEQUENCES + GRAPHS + NESTED
ALL = FUNDAMENTAL + COMPOSITE


def label(factory: Callable[[Any], Any]) -> str:
    """Return a short name for a test id."""
    import gymcore.spaces

    return repr(factory(gymcore.spaces))[:60].replace("\n", "")
