import multiprocessing
import multiprocessing.sharedctypes

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import utils as gymnasium_utils
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore import error
from gymcore.spaces import Box, Dict, Discrete, OneOf, Space, Text, Tuple
from gymcore.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from tests.testing_env import OBSERVATION_KINDS, assert_same, make_space

STATIC_KINDS = [kind for kind in OBSERVATION_KINDS if kind not in ("graph", "sequence")]


def contents(memory):
    """Describe shared memory: element types and values, through tuples and dicts."""
    if isinstance(memory, dict):
        return {key: contents(value) for key, value in memory.items()}
    if isinstance(memory, tuple):
        return tuple(contents(value) for value in memory)
    return type(memory).__name__, memory.get_obj()._type_.__name__, memory[:]


def both_spaces(kind, seed=5):
    spaces = []
    for gym in (gymcore, gymnasium):
        space = make_space(gym, kind)
        space.seed(seed)
        spaces.append(space)
    return spaces


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("kind", STATIC_KINDS)
def test_layout_and_values_as_in_gymnasium(kind, n):
    ours, theirs = both_spaces(kind)
    our_memory = create_shared_memory(ours, n)
    their_memory = gymnasium_utils.create_shared_memory(theirs, n)
    assert contents(our_memory) == contents(their_memory)
    for index in range(n):
        value = ours.sample()
        write_to_shared_memory(ours, index, value, our_memory)
        gymnasium_utils.write_to_shared_memory(theirs, index, value, their_memory)
    assert contents(our_memory) == contents(their_memory)
    assert_same(
        read_from_shared_memory(ours, our_memory, n),
        gymnasium_utils.read_from_shared_memory(theirs, their_memory, n),
    )


@pytest.mark.parametrize("kind", STATIC_KINDS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 4))
def test_reading_gives_back_what_was_written(kind, seed, n):
    space = make_space(gymcore, kind)
    space.seed(seed)
    memory = create_shared_memory(space, n)
    values = [space.sample() for _ in range(n)]
    for index in reversed(range(n)):
        write_to_shared_memory(space, index, values[index], memory)
    batch = read_from_shared_memory(space, memory, n)
    rows = gymcore.vector.utils.iterate(gymcore.vector.utils.batch_space(space, n), batch)
    for row, value in zip(rows, values, strict=True):
        np.testing.assert_equal(row, value)


@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_,
        np.int8,
        np.uint8,
        np.int16,
        np.uint32,
        np.int64,
        np.float16,
        np.float32,
        np.float64,
    ],
)
def test_every_dtype(dtype):
    space = Box(0, 1, (2,), dtype)
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 1, np.ones(2, dtype), memory)
    batch = read_from_shared_memory(space, memory, 2)
    assert batch.dtype == dtype
    assert batch.tolist() == [[0, 0], [1, 1]]


def test_arrays_are_views():
    space = Dict(a=Tuple([Box(0, 1, (2,))]))
    memory = create_shared_memory(space, 2)
    batch = read_from_shared_memory(space, memory, 2)["a"][0]
    write_to_shared_memory(space, 0, {"a": (np.ones(2),)}, memory)
    assert batch.tolist() == [[1, 1], [0, 0]]
    batch[1] = 7
    assert memory["a"][0][:] == [1, 1, 7, 7]


def test_short_text_replaces_long_text():
    space = Text(3, min_length=0, charset="ab")
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 0, "bab", memory)
    write_to_shared_memory(space, 0, "b", memory)
    write_to_shared_memory(space, 1, "", memory)
    assert read_from_shared_memory(space, memory, 2) == ("b", "")


def test_one_of_keeps_its_choice():
    space = OneOf([Discrete(5), Text(2, charset="ab")])
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 0, (1, "ba"), memory)
    write_to_shared_memory(space, 1, (np.int64(0), np.int64(4)), memory)
    assert_same(
        read_from_shared_memory(space, memory, 2),
        ((np.int64(1), "ba"), (np.int64(0), np.int64(4))),
    )


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_empty_spaces(shape, n):
    space = Box(0, 1, shape)
    memory = create_shared_memory(space, n)
    if n:
        write_to_shared_memory(space, 1, np.zeros(shape), memory)
    assert read_from_shared_memory(space, memory, n).shape == (n, *shape)


@pytest.mark.parametrize("index", [-1, 2, 5])
@pytest.mark.parametrize("kind", ["box", "discrete", "text"])
def test_index_outside_the_memory(kind, index):
    space = make_space(gymcore, kind)
    memory = create_shared_memory(space, 2)
    before = contents(memory)
    with pytest.raises(ValueError, match=f"index: expected one of the 2 elements.*got {index}"):
        write_to_shared_memory(space, index, space.sample(), memory)
    assert contents(memory) == before


@pytest.mark.parametrize("value", [np.ones(1), np.ones(3), np.ones((2, 2)), 1.0])
def test_value_of_the_wrong_shape(value):
    space = Box(0, 1, (2,))
    memory = create_shared_memory(space, 2)
    with pytest.raises(ValueError, match=r"value: expected shape \(2,\), got"):
        write_to_shared_memory(space, 0, value, memory)
    assert memory[:] == [0, 0, 0, 0]


@pytest.mark.parametrize("gym", [gymcore, gymnasium])
def test_axes_of_length_one_do_not_matter(gym):
    utils = gym.vector.utils
    for space, value in (
        (gym.spaces.Box(0, 1, (2,)), np.ones((1, 2))),
        (gym.spaces.Box(0, 1, (2, 1)), np.ones(2)),
        (gym.spaces.Discrete(2), np.array([1])),
    ):
        memory = utils.create_shared_memory(space, 2)
        utils.write_to_shared_memory(space, 1, value, memory)
        zeros, ones = utils.read_from_shared_memory(space, memory, 2)
        assert not np.any(zeros)
        assert np.all(ones == 1)
        assert np.shape(ones) == space.shape


def test_reading_another_number_of_elements():
    memory = create_shared_memory(Box(0, 1, (2,)), 2)
    with pytest.raises(ValueError):
        read_from_shared_memory(Box(0, 1, (2,)), memory, 3)


def _write_in_child(space, index, value, memory):
    write_to_shared_memory(space, index, value, memory)


def test_another_process_writes():
    ctx = multiprocessing.get_context("spawn")
    space = Dict(a=Discrete(9), b=Text(3, charset="ab"))
    memory = create_shared_memory(space, 2, ctx=ctx)
    value = {"a": np.int64(7), "b": "ba"}
    child = ctx.Process(target=_write_in_child, args=(space, 1, value, memory))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    batch = read_from_shared_memory(space, memory, 2)
    assert batch["a"].tolist() == [0, 7]
    assert batch["b"][1] == "ba"


@pytest.mark.parametrize("kind", ["graph", "sequence"])
def test_spaces_without_a_fixed_size(kind):
    space = make_space(gymcore, kind)
    with pytest.raises(TypeError, match=r"has a dynamic shape .* disable `shared_memory`"):
        create_shared_memory(space, 2)
    with pytest.raises(error.CustomSpaceError, match="registered `read_from_shared_memory`"):
        read_from_shared_memory(space, (), 2)
    with pytest.raises(error.CustomSpaceError, match="registered `write_to_shared_memory`"):
        write_to_shared_memory(space, 0, (), ())


@pytest.mark.parametrize(
    ("space", "exception", "message"),
    [
        (Space(), error.CustomSpaceError, "doesn't have an registered `{}` function"),
        ("space", TypeError, "provided to `{}` is not a gymcore Space instance"),
    ],
)
def test_unknown_spaces(space, exception, message):
    calls = {
        "create_shared_memory": lambda: create_shared_memory(space, 2),
        "read_from_shared_memory": lambda: read_from_shared_memory(space, None, 2),
        "write_to_shared_memory": lambda: write_to_shared_memory(space, 0, None, None),
    }
    for name, call in calls.items():
        with pytest.raises(exception, match=message.format(name)):
            call()


def test_every_function_can_be_taught_a_space():
    class Grade(Space):
        """A space of letters, kept as one byte."""

    create_shared_memory.register(Grade, lambda space, n=1, ctx=None: bytearray(n))
    read_from_shared_memory.register(Grade, lambda space, memory, n=1: memory.decode())
    write_to_shared_memory.register(
        Grade, lambda space, index, value, memory: memory.__setitem__(index, ord(value))
    )
    space = Tuple([Grade(), Discrete(3)])
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 0, ("B", 1), memory)
    write_to_shared_memory(space, 1, ("A", 2), memory)
    grades, numbers = read_from_shared_memory(space, memory, 2)
    assert grades == "BA"
    assert numbers.tolist() == [1, 2]


def test_memory_is_synchronized():
    memory = create_shared_memory(Box(0, 1, (2,)), 2)
    assert isinstance(memory, multiprocessing.sharedctypes.SynchronizedArray)
    with memory.get_lock():
        assert len(memory) == 4
