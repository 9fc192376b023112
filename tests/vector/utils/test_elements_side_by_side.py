"""Unusual elements, batches and arrays have the same effect as in Gymnasium."""

from __future__ import annotations

import gymnasium.vector.utils
import numpy as np
import pytest

import gymcore.vector.utils
from tests.spaces.parity import OURS, assert_same_outcome

SPACES = {
    "box": lambda s: s.Box(-5, 5, (2,)),
    "scalar": lambda s: s.Box(0, 1, ()),
    "rows": lambda s: s.Box(0, 1, (3, 2)),
    "bytes": lambda s: s.Box(0, 255, (2,), np.uint8),
    "half": lambda s: s.Box(0, 1, (2,), np.float16),
    "bools": lambda s: s.Box(0, 1, (2,), bool),
    "swapped": lambda s: s.Box(0, 1, (2,), ">f4"),
    "discrete": lambda s: s.Discrete(5),
    "discrete8": lambda s: s.Discrete(5, dtype=np.int8),
    "multi_discrete": lambda s: s.MultiDiscrete([2, 3]),
    "multi_binary": lambda s: s.MultiBinary([3]),
    "tuple": lambda s: s.Tuple([s.Discrete(3), s.Box(-5, 5, (2,))]),
    "dict": lambda s: s.Dict(a=s.Discrete(3), b=s.Box(-5, 5, (2,))),
    "batch": lambda s: s.Tuple([s.MultiDiscrete([2, 2]), s.Box(0, 1, (2, 3))]),
    "batch_dict": lambda s: s.Dict(a=s.MultiDiscrete([2, 2]), b=s.Box(0, 1, (2, 3))),
    "texts": lambda s: s.Tuple([s.Text(2), s.Text(2)]),
    "sequences": lambda s: s.Tuple([s.Sequence(s.Discrete(2)), s.Sequence(s.Discrete(2))]),
    "text": lambda s: s.Text(4, min_length=0, charset="zyx"),
    "sequence": lambda s: s.Sequence(s.Discrete(2)),
    "stacked": lambda s: s.Sequence(s.Discrete(2), stack=True),
    "graph": lambda s: s.Graph(s.Box(-5, 5, (2,)), s.Discrete(3)),
    "nodes": lambda s: s.Graph(s.Box(-5, 5, (2,)), None),
    "one_of": lambda s: s.OneOf([s.Discrete(3), s.Box(-5, 5, (2,))]),
    "empty_tuple": lambda s: s.Tuple([]),
    "no space": lambda s: 3,
}


def same(function):
    """Check that `function(spaces, vector_utils)` has the same effects for both packages."""
    assert_same_outcome(
        lambda s: function(s, (gymcore if s is OURS else gymnasium).vector.utils), message=False
    )


f4 = np.float32
ONES = np.ones(2, f4)


@pytest.mark.parametrize(
    "items",
    [
        [np.ones(2), np.zeros(2)],
        [[1.0, 2.0], [3.0, 4.0]],
        ((1, 2), (3, 4)),
        [np.ones(3, f4), np.ones(3, f4)],
        [ONES, np.ones(3, f4)],
        [ONES],
        [ONES] * 3,
        [np.array([1, 2]), np.array([3, 4])],
        [np.ones(1, f4)] * 2,
        [np.ones((2, 1), f4)] * 2,
        [1.0, 2.0],
        [ONES * 1j] * 2,
        np.ones((2, 2), f4),
        [np.array([True, False])] * 2,
        [np.array([1, 2], object)] * 2,
        ["ab", "cd"],
        [1, 2],
        [np.int32(1), np.int64(2)],
        [np.array(1), np.array(2)],
        [np.array([1]), np.array([2])],
        [True, False],
        [2**40, 3],
        [np.uint8(3)] * 2,
        [],
        None,
    ],
)
@pytest.mark.parametrize("kind", ["box", "bytes", "discrete", "discrete8"])
def test_concatenate(kind, items):
    def function(s, utils):
        space = SPACES[kind](s)
        return utils.concatenate(space, items, utils.create_empty_array(space, 2))

    same(function)


@pytest.mark.parametrize(
    "make_out",
    [
        lambda: None,
        lambda: np.zeros((4, 2), f4)[::2],
        lambda: np.zeros((2, 2), f4, order="F"),
        lambda: np.broadcast_to(np.zeros(2, f4), (2, 2)),
        lambda: np.zeros((2, 2)),
        lambda: np.zeros((2, 2), int),
        lambda: np.zeros((3, 2), f4),
        lambda: [[0, 0], [0, 0]],
        lambda: 3,
    ],
)
def test_concatenate_into(make_out):
    def function(s, utils):
        return utils.concatenate(SPACES["box"](s), [ONES, ONES * 2], make_out())

    same(function)


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        ("tuple", (1, ONES)),
        ("tuple", [1, ONES]),
        ("tuple", (1,)),
        ("tuple", (1, ONES, 3)),
        ("tuple", {0: 1, 1: ONES}),
        ("dict", {"b": ONES, "a": 1}),
        ("dict", {"a": 1}),
        ("dict", {"a": 1, "b": ONES, "c": 3}),
        ("text", "zy"),
        ("graph", 1),
        ("sequence", (1, 0)),
        ("one_of", (0, 1)),
        ("no space", 1),
    ],
)
def test_concatenate_nested(kind, item):
    def function(s, utils):
        space = SPACES[kind](s)
        out = None if kind == "no space" else utils.create_empty_array(space, 2)
        return utils.concatenate(space, [item, item], out)

    same(function)


@pytest.mark.parametrize("n", [0, 1, 2, -1, 2.0, np.int64(2), True])
@pytest.mark.parametrize("kind", SPACES)
def test_create_empty_array(kind, n):
    same(lambda s, utils: utils.create_empty_array(SPACES[kind](s), n))
    same(lambda s, utils: utils.create_empty_array(SPACES[kind](s), n=n, fn=np.ones))


@pytest.mark.parametrize("kind", ["box", "tuple", "dict", "graph", "multi_binary"])
def test_the_calls_of_the_array_maker(kind):
    def maker(*args, **kwargs):
        return args, sorted(kwargs.items())

    same(lambda s, utils: utils.create_empty_array(SPACES[kind](s), 2, maker))


@pytest.mark.parametrize(
    ("kind", "items"),
    [
        ("box", ONES),
        ("box", [1, 2]),
        ("box", None),
        ("box", 3),
        ("rows", np.ones((3, 2), f4)),
        ("scalar", np.float32(1)),
        ("multi_discrete", np.array([1, 2])),
        ("multi_binary", np.array([1, 0, 1], np.int8)),
        ("discrete", 1),
        ("tuple", (1, ONES)),
        ("batch", (np.array([1, 0]), np.ones((2, 3), f4))),
        ("batch", [np.array([1, 0]), np.ones((2, 3), f4)]),
        ("batch", (np.array([1, 0]), np.ones((3, 3), f4))),
        ("batch", (np.array([1, 0]),)),
        ("batch", (np.array([1, 0]), np.ones((2, 3), f4), 3)),
        ("batch_dict", {"b": np.ones((2, 3), f4), "a": np.array([1, 0])}),
        ("batch_dict", {"a": np.array([1, 0])}),
        ("batch_dict", {"a": np.array([1, 0]), "b": np.ones((2, 3), f4), "c": 3}),
        ("batch_dict", {"a": np.array([1, 0]), "b": np.ones((3, 3), f4)}),
        ("texts", ("zy", "x")),
        ("sequences", ((1,), ())),
        ("empty_tuple", ()),
        ("text", "zyx"),
        ("sequence", (1, 0)),
        ("graph", None),
        ("one_of", (0, 1)),
        ("no space", [1]),
    ],
)
def test_iterate(kind, items):
    same(lambda s, utils: list(utils.iterate(SPACES[kind](s), items)))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("box", np.ones(2)),
        ("box", [1, 2]),
        ("box", np.ones(3)),
        ("box", np.ones((1, 2))),
        ("scalar", 0.5),
        ("rows", np.arange(6).reshape(3, 2)),
        ("rows", np.asfortranarray(np.arange(6).reshape(3, 2))),
        ("bytes", np.array([1.5, 2.5])),
        ("bytes", np.array([300, -1])),
        ("half", np.ones(2)),
        ("bools", np.array([True, False])),
        ("swapped", np.ones(2)),
        ("discrete", 3),
        ("discrete", np.int8(3)),
        ("discrete", np.array(3)),
        ("discrete", np.array([3])),
        ("discrete", 2.7),
        ("multi_discrete", (1, 2)),
        ("multi_binary", [1, 0, 1]),
        ("tuple", [1, ONES]),
        ("tuple", (1,)),
        ("tuple", (1, ONES, 3)),
        ("dict", {"b": ONES, "a": 1}),
        ("dict", {"a": 1}),
        ("dict", {"a": 1, "b": ONES, "c": 3}),
        ("text", "zy"),
        ("text", ""),
        ("one_of", (1, ONES)),
        ("one_of", (2, ONES)),
        ("graph", 1),
        ("no space", 1),
    ],
)
@pytest.mark.parametrize("index", [0, 1])
def test_shared_memory(kind, value, index):
    def function(s, utils):
        space = SPACES[kind](s)
        memory = utils.create_shared_memory(space, 2)
        utils.write_to_shared_memory(space, index, value, memory)
        return utils.read_from_shared_memory(space, memory, 2)

    same(function)


def test_defaults_are_one_element():
    def function(s, utils):
        box = SPACES["box"](s)
        memory = utils.create_shared_memory(box)
        read = utils.read_from_shared_memory(box, memory)
        return len(memory), read, utils.create_empty_array(box), utils.batch_space(box)

    same(function)


@pytest.mark.parametrize("package", [gymcore, gymnasium])
def test_functions_for_elements_can_be_taught_a_space(package):
    utils, spaces = package.vector.utils, package.spaces

    class Grade(spaces.Space):
        """A space of letters; a batch of them is a string."""

    utils.batch_space.register(Grade, lambda space, n=1: Grades())
    utils.create_empty_array.register(Grade, lambda space, n=1, fn=np.zeros: "F" * n)
    utils.concatenate.register(Grade, lambda space, items, out: "".join(items) + out[len(items) :])

    class Grades(spaces.Space):
        """A batch of letters."""

    utils.iterate.register(Grades, lambda space, items: iter(items))

    space = spaces.Dict(a=spaces.Tuple([Grade(), spaces.Discrete(3)]))
    out = utils.create_empty_array(space, 2)
    assert out["a"][0] == "FF"
    batch = utils.concatenate(space, [{"a": ("B", 1)}, {"a": ("A", 2)}], out)
    assert batch["a"][0] == "BA"
    assert batch["a"][1].tolist() == [1, 2]
    batched_space = utils.batch_space(space, 2)
    assert type(batched_space["a"][0]) is Grades
    rows = list(utils.iterate(batched_space, batch))
    assert [row["a"][0] for row in rows] == ["B", "A"]
    assert [int(row["a"][1]) for row in rows] == [1, 2]
