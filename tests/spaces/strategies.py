"""Hypothesis strategies for spaces of any nesting."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymcore import spaces

_SHAPES = hnp.array_shapes(min_dims=0, max_dims=2, max_side=3)
_INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2"]


@st.composite
def boxes(draw: Any) -> spaces.Box:
    """Draw boxes of integers, floats and bools, bounded or not."""
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "?", *_INTEGERS])))
    if dtype.kind == "?" or dtype.kind == "b":
        return spaces.Box(0, draw(st.integers(0, 1)), draw(_SHAPES), dtype)
    low, high = sorted(draw(st.tuples(st.integers(0, 100), st.integers(0, 100))))
    if dtype.kind in "if":
        low -= 50
        low = draw(st.sampled_from([low, -np.inf]))
        high = draw(st.sampled_from([high, np.inf]))
    return spaces.Box(low, high, draw(_SHAPES), dtype)


@st.composite
def discretes(draw: Any) -> spaces.Discrete:
    """Draw ranges of integers."""
    dtype = draw(st.sampled_from(_INTEGERS))
    start = draw(st.integers(0 if dtype[0] == "u" else -50, 50))
    return spaces.Discrete(draw(st.integers(1, 70)), start=start, dtype=dtype)


@st.composite
def multi_discretes(draw: Any) -> spaces.MultiDiscrete:
    """Draw arrays of ranges of integers."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    nvec = draw(hnp.arrays(np.int64, shape, elements=st.integers(1, 6)))
    start = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 6)))
    return spaces.MultiDiscrete(nvec, start=start, dtype=draw(st.sampled_from(_INTEGERS)))


multi_binaries = st.one_of(
    st.integers(1, 5), st.lists(st.integers(1, 3), min_size=1, max_size=3)
).map(spaces.MultiBinary)

texts = st.tuples(st.integers(0, 3), st.integers(1, 4), st.text(min_size=1, max_size=6)).map(
    lambda parts: spaces.Text(parts[0] + parts[1], min_length=parts[0], charset=parts[2])
)

array_spaces = st.one_of(boxes(), discretes(), multi_discretes(), multi_binaries)
fundamental = st.one_of(array_spaces, texts)

_KEYS = st.text("abcdef", min_size=1, max_size=3)


def _flattenable_over(children: Any) -> Any:
    return st.one_of(
        st.lists(children, min_size=1, max_size=3).map(spaces.Tuple),
        st.dictionaries(_KEYS, children, min_size=1, max_size=3).map(spaces.Dict),
        st.lists(children, min_size=1, max_size=3).map(spaces.OneOf),
    )


def _sequences_of(parts: Any) -> Any:
    return st.tuples(parts, st.booleans()).map(lambda p: spaces.Sequence(p[0], stack=p[1]))


def _graphs_of(parts: Any) -> Any:
    return st.tuples(parts, st.one_of(st.none(), parts)).map(lambda p: spaces.Graph(*p))


def _nested_over(children: Any) -> Any:
    return st.one_of(_flattenable_over(children), _sequences_of(children))


# Spaces whose elements flatten to arrays, and spaces of all kinds. A graph has up to a hundred
# parts; graphs of graphs would take seconds to sample.
flattenable_spaces = st.recursive(fundamental, _flattenable_over, max_leaves=6)
graphs = _graphs_of(st.one_of(fundamental, _nested_over(fundamental)))
nested_spaces = st.recursive(st.one_of(fundamental, graphs), _nested_over, max_leaves=4)
