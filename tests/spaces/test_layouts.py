"""Layouts of spaces, and batches of user-defined spaces."""

import pickle

import numpy as np
import pytest

import gymcore
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
)
from gymcore.spaces.layouts import ObjectBatch, action_layout, has_objects, layout_of
from gymcore.vector import SyncVectorEnv
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate


class Counted(Box):
    """A Box with a batch space of its own: the rows are numbered."""


@concatenate.register(Counted)
def _(space, items, out):
    for row, item in enumerate(items):
        out[row] = item
        out[row, 0] = row
    return out


class Lit(Discrete):
    """A Discrete without additions."""


class Stacked(Discrete):
    """A Discrete with a batch space of its own, and its own way to split actions."""


@create_empty_array.register(Stacked)
def _(space, n=1, fn=np.zeros):
    return fn((2, n), dtype=np.int64)


@concatenate.register(Stacked)
def _(space, items, out):
    out[:] = [list(items)] * 2
    return out


@batch_space.register(Stacked)
def _(space, n=1):
    return StackedBatch(0, 9, (2, n), np.int64)


class StackedBatch(Box):
    """The batch space of Stacked."""


@iterate.register(StackedBatch)
def _(space, items):
    return iter(np.asarray(items)[0].tolist())


class Name(Space):
    """A custom space."""

    def contains(self, x):
        return isinstance(x, str)

    def __eq__(self, other):
        return isinstance(other, Name)


BOX = Box(0, 1, (2, 3), np.float32)


@pytest.mark.parametrize(
    ("space", "layout"),
    [
        (BOX, ("array", np.float32, (2, 3))),
        (Box(0, 1, (), np.float64), ("array", np.float64, ())),
        (Discrete(3), ("array", np.int64, ())),
        (Discrete(3, dtype=np.int8), ("array", np.int8, ())),
        (Lit(3), ("array", np.int64, ())),
        (MultiDiscrete([3, 4]), ("array", np.int64, (2,))),
        (MultiDiscrete([[3], [4]]), ("array", np.int64, (2, 1))),
        (MultiBinary((2, 2)), ("array", np.int8, (2, 2))),
        (Tuple(()), ("tuple", ())),
        (
            Tuple((Discrete(3), BOX)),
            ("tuple", (("array", np.int64, ()), ("array", np.float32, (2, 3)))),
        ),
        (
            Dict(b=Discrete(3), a=Dict(c=BOX)),
            (
                *("dict", ("b", "a")),
                (("array", np.int64, ()), ("dict", ("c",), (("array", np.float32, (2, 3)),))),
            ),
        ),
    ],
)
def test_spaces_of_arrays(space, layout):
    assert layout_of(space) == layout
    assert not has_objects(layout)


@pytest.mark.parametrize(
    "space",
    [
        *(Text(3), Graph(BOX, None), Sequence(BOX), OneOf((BOX, Discrete(2))), Name()),
        *(Counted(0, 1, (2,)), Stacked(3)),
    ],
    ids=lambda space: type(space).__name__,
)
def test_all_others_are_objects(space):
    assert layout_of(space)[0] == "objects"
    nested = layout_of(Tuple((Discrete(2), Dict(a=space))))
    assert nested[0] == "tuple"
    assert has_objects(nested)
    assert nested[1][1][2][0][0] == "objects"


# Batches of objects


def observing(space, observations, **kwargs):
    """Return a batch of two environments that return these observations repeatedly."""

    class Observer(gymcore.Env):
        observation_space = space
        action_space = Discrete(2)

        def __init__(self):
            self.turn = 0

        def reset(self, *, seed=None, options=None):
            return observations[0], {}

        def step(self, action):
            self.turn += 1
            return observations[self.turn % len(observations)], 0, False, False, {}

    return SyncVectorEnv([Observer] * 2, **kwargs)


@pytest.mark.parametrize("copy", [True, False])
def test_registered_functions_make_the_batch(copy):
    values = [np.full(2, k, np.float32) for k in (5, 6)]
    envs = observing(Counted(0, 9, (2,)), values, copy=copy)
    first = envs.reset()[0]
    assert first.tolist() == [[0, 5], [1, 5]]
    second = envs.step([0, 0])[0]
    assert second.tolist() == [[0, 6], [1, 6]]
    assert (first is second) == (not copy)
    assert first.tolist() == ([[0, 5], [1, 5]] if copy else [[0, 6], [1, 6]])
    part = envs.step([0], [1])[0]
    assert part.tolist() == [[0, 5]]


def test_batches_of_another_form():
    envs = observing(Stacked(9), [3, 4])
    assert envs.reset()[0].tolist() == [[3, 3], [3, 3]]
    assert envs.step([0, 0])[0].tolist() == [[4, 4], [4, 4]]


@pytest.mark.parametrize("copy", [True, False])
def test_objects_of_environments_are_copied(copy):
    value = [np.zeros(2)]
    envs = observing(Name(), [value], copy=copy)
    observations = envs.reset()[0]
    assert type(observations) is tuple
    assert (observations[0] is value) == (not copy)
    assert (observations[0][0] is value[0]) == (not copy)


def test_batches_of_parts():
    space = Dict(name=Text(9), where=Counted(0, 9, (2,)))
    envs = observing(space, [{"where": np.ones(2, np.float32), "name": "x"}])
    observations = envs.reset()[0]
    assert list(observations) == ["name", "where"]
    assert observations["name"] == ("x", "x")
    assert observations["where"].tolist() == [[0, 1], [1, 1]]


def test_object_batches_pickle():
    batch = ObjectBatch(Counted(0, 9, (2,)))
    batch([np.ones(2)])
    assert pickle.loads(pickle.dumps(batch))([np.full(2, 3)] * 2).tolist() == [[0, 3], [1, 3]]


# Actions


@pytest.mark.parametrize(
    "space",
    [
        BOX,
        Discrete(3),
        Discrete(3, start=-2),
        MultiDiscrete([3, 4]),
        MultiBinary(3),
        Tuple((Discrete(3), Dict(a=BOX))),
    ],
)
def test_actions_that_are_arrays(space):
    assert action_layout(space, batch_space(space, 4)) == layout_of(space)


@pytest.mark.parametrize(
    "space",
    [Text(3), Name(), Stacked(3), Tuple((Text(3), Discrete(2))), Sequence(BOX)],
    ids=lambda space: type(space).__name__,
)
def test_actions_that_iterate_takes_apart(space):
    assert action_layout(space, batch_space(space, 4)) is None


def test_actions_are_taken_apart_in_the_spaces_own_way():
    class Repeater(gymcore.Env):
        observation_space = Discrete(9)
        action_space = Stacked(9)

        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            return action, 0, False, False, {}

    envs = SyncVectorEnv([Repeater] * 3)
    envs.reset()
    assert envs.step(np.array([[1, 2, 3], [7, 7, 7]]))[0].tolist() == [1, 2, 3]
    envs.send([[4, 5], [0, 0]], [2, 0])
    envs.send([[6], [0]], [1])
    assert envs.recv()[0].tolist() == [4, 5, 6]


def test_structured_actions_with_a_part_missing():
    class Deaf(gymcore.Env):
        observation_space = Discrete(9)
        action_space = Dict(a=Discrete(2), b=BOX)

        def reset(self, *, seed=None, options=None):
            return 0, {}

    envs = SyncVectorEnv([Deaf] * 2)
    envs.reset()
    with pytest.raises(gymcore.error.InvalidAction, match=r"expected a dict with \['a', 'b'\]"):
        envs.step({"a": [1, 0]})
    with pytest.raises(gymcore.error.InvalidAction, match=r"\['b'\]: expected .* shape \(2, "):
        envs.step({"a": [1, 0], "b": np.zeros((3, 2, 3))})
    with pytest.raises(gymcore.error.InvalidAction, match=r"\['a'\]: expected .* shape \(2,\)"):
        envs.step({"a": [1, 0, 1], "b": np.zeros((3, 2, 3))})
