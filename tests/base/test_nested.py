from collections import namedtuple

import numpy as np
import pytest

from gymcore.base.nested import map_leaves, named_leaves, rows_at, stack_nested
from gymcore.spaces import Box, Dict, Discrete, Tuple

Point = namedtuple("Point", "x y")


def test_map_leaves_keeps_the_structure():
    assert map_leaves(str, {"a": [1, (2,)], "b": Point(3, 4)}) == {
        "a": ["1", ("2",)],
        "b": Point("3", "4"),
    }


def test_map_leaves_of_several():
    assert map_leaves(max, (1, {"a": 5}), (4, {"a": 2})) == (4, {"a": 5})
    with pytest.raises(KeyError):
        map_leaves(max, {"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match=r"longer|shorter"):
        map_leaves(max, (1, 2), (1,))


def test_named_leaves_of_spaces_and_their_elements():
    space = Dict(a=Discrete(2), b=Tuple([Discrete(2), Box(0, 1, (2,))]))
    assert list(named_leaves(space)) == [".a", ".b.0", ".b.1"]
    assert sorted(named_leaves(space.sample())) == sorted(named_leaves(space))
    assert named_leaves(7) == {"": 7}


def test_stack_nested():
    stacked = stack_nested([(np.zeros(2), {"n": 1}), (np.ones(2), {"n": 2})])
    np.testing.assert_array_equal(stacked[0], [[0, 0], [1, 1]])
    np.testing.assert_array_equal(stacked[1]["n"], [1, 2])


@pytest.mark.parametrize(
    "batch",
    [
        np.array([[0, 0], [1, 10], [2, 20]]),
        np.array([None, np.array([1, 10]), np.array([2, 20])], dtype=object),
    ],
)
def test_rows_out_of_arrays(batch):
    found = rows_at(batch, np.array([1, 2]))
    np.testing.assert_array_equal(found, [[1, 10], [2, 20]])
    assert found.dtype == np.int64


def test_rows_out_of_nests():
    lanes = np.array([2, 0])
    nest = {"a": np.array([1, 2, 3]), "b": (np.array([[1.0], [2.0], [3.0]]),)}
    found = rows_at(nest, lanes)
    assert found["a"].tolist() == [3, 1] and found["b"][0].tolist() == [[3.0], [1.0]]
    single = np.empty(3, dtype=object)
    single[:] = [{"a": 1, "b": (np.array([1.0]),)}, None, {"a": 3, "b": (np.array([3.0]),)}]
    same = rows_at(single, lanes)
    assert same["a"].tolist() == [3, 1] and same["b"][0].tolist() == [[3.0], [1.0]]
