"""The spaces of batches equal Gymnasium's in all attributes and methods."""

from __future__ import annotations

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import utils as gymnasium_utils
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from gymcore.vector.utils import batch_differing_spaces, batch_space
from tests.spaces import catalogue
from tests.spaces.parity import assert_same, random_states, subspaces
from tests.spaces.strategies import nested_spaces

ARRAYS = ("low", "high", "bounded_below", "bounded_above", "nvec", "start")


def both(factory, seed=7):
    """Return the space in both packages, with the same seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spaces = factory(gymcore.spaces), factory(gymnasium.spaces)
    for space in spaces:
        space.seed(seed)
    return spaces


def can_be_sampled(space):
    """Return whether Gymnasium samples such a space: its Box overflows near the ends of int64."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(space, gymnasium.spaces.Box) and space.dtype == np.int64:
            return bool((space.high < 2**62).all() and (space.low > -(2**62)).all())
    return all(map(can_be_sampled, subspaces(space)))


def arrays_of(space):
    """Return the arrays of a space and of all spaces below it."""
    own = [getattr(space, name) for name in ARRAYS if hasattr(space, name)]
    own = [array for array in own if isinstance(array, np.ndarray)]
    return own + [array for part in subspaces(space) for array in arrays_of(part)]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("factory", catalogue.ALL, ids=catalogue.label)
def test_batches_of_everything(factory, n):
    ours, theirs = both(factory)
    our_batch = batch_space(ours, n)
    their_batch = gymnasium_utils.batch_space(theirs, n)
    assert_same(our_batch, their_batch)
    assert random_states(our_batch) == random_states(their_batch)
    assert getattr(our_batch, "sort_keys", None) == getattr(their_batch, "sort_keys", None)
    for mine, other in zip(arrays_of(our_batch), arrays_of(their_batch), strict=True):
        for flag in ("writeable", "c_contiguous", "owndata", "aligned"):
            assert getattr(mine.flags, flag) == getattr(other.flags, flag), flag
    if can_be_sampled(their_batch):
        for _ in range(2):
            assert_same(our_batch.sample(), their_batch.sample())
        assert_same(our_batch.seed(3), their_batch.seed(3))
        assert_same(our_batch.sample(), their_batch.sample())
    assert random_states(ours) == random_states(theirs)


@pytest.mark.parametrize("factory", catalogue.ALL, ids=catalogue.label)
def test_batches_of_one_space_each(factory):
    ours, theirs = (
        [space, *(both(factory, seed=k)[i] for k in range(2))]
        for i, space in enumerate(both(factory))
    )
    our_batch = batch_differing_spaces(ours)
    their_batch = gymnasium_utils.batch_differing_spaces(theirs)
    assert_same(our_batch, their_batch)
    assert random_states(our_batch) == random_states(their_batch)
    for mine, other in zip(arrays_of(our_batch), arrays_of(their_batch), strict=True):
        assert mine.flags.writeable == other.flags.writeable
        assert mine.flags.c_contiguous == other.flags.c_contiguous
    if can_be_sampled(their_batch):
        assert_same(our_batch.sample(), their_batch.sample())


@settings(max_examples=15, deadline=None)
@given(nested_spaces, st.integers(0, 4), st.integers(0, 2**31))
def test_an_element_of_a_batch_is_n_elements(space, n, seed):
    space.seed(seed)
    batch = batch_space(space, n)
    twin = batch_space(copy.deepcopy(space), n)
    np.testing.assert_equal(batch.sample(), twin.sample())
    assert batch == twin
    assert batch.sample() in batch


def test_bounds_that_were_changed_count():
    ours, theirs = both(lambda s: s.Box(-1, 1, (2,)))
    for space in (ours, theirs):
        space.low[0] = -7
        space.high[:] = np.inf
    assert_same(batch_space(ours, 2), gymnasium_utils.batch_space(theirs, 2))


def test_a_batch_does_not_see_later_changes():
    single, ranges = Box(-1, 1, (2,)), MultiDiscrete([3, 4])
    batches = batch_space(single, 3), batch_space(ranges, 3)
    single.low[0], ranges.nvec[0] = -7, 9
    assert batches[0].low.min() == -1
    assert batches[1].high.max() == 3


def test_bounds_that_were_made_wrong_are_refused():
    for change in (np.nan, 5.0):
        single = Box(-1, 1, (2,))
        single.low[1] = change
        with pytest.raises(ValueError, match="low"):
            batch_space(single, 2)
        with pytest.raises(ValueError, match="low"):
            batch_differing_spaces([single, single])
    single = Box(-1, 1, (2,))
    single.low = np.zeros((3,), np.float32)
    with pytest.raises(ValueError, match="shape"):
        batch_space(single, 2)


# Arrays are created when they are read


@pytest.mark.parametrize(
    "make",
    [lambda: Box(-1, np.inf, (2,)), lambda: Discrete(5), lambda: MultiDiscrete([2, 3])],
)
def test_an_array_is_always_the_same_one(make):
    batch = batch_space(make(), 4)
    shallow = copy.copy(batch)
    for name in ARRAYS:
        if hasattr(batch, name):
            array = getattr(batch, name)
            assert getattr(batch, name) is array
            assert np.array_equal(getattr(shallow, name), array)
            assert name in vars(batch)


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_a_batch_are_its_equals(copied, read):
    batch = batch_space(Box(-1, np.inf, (2,)), 3)
    if read:
        batch.low[1] = -5
        batch.high  # noqa: B018
    twin = copied(batch)
    assert twin == batch
    assert twin.low is not batch.low
    assert twin.low[1, 0] == (-5 if read else -1)
    twin.low[0] = -9
    assert batch.low[0, 0] == -1
    assert np.array_equal(twin.bounded_above, batch.bounded_above)


def test_an_array_can_be_replaced():
    batch = batch_space(Box(-1, 1, (2,)), 3)
    batch.low = np.full((3, 2), -4, np.float32)
    assert (batch.low == -4).all()
    assert batch_space(batch, 2).low.shape == (2, 3, 2)
    assert np.full((3, 2), -3, np.float32) in batch
    ranges = batch_space(Discrete(3), 2)
    ranges.nvec = np.array([7, 7])
    assert np.array([6, 0]) in ranges


def test_a_space_without_arrays_says_so():
    box = Box.__new__(Box)
    with pytest.raises(AttributeError, match="'Box' object has no attribute 'low'"):
        box.low  # noqa: B018
    assert not hasattr(MultiDiscrete.__new__(MultiDiscrete), "nvec")


def test_batches_that_nobody_reads_take_no_memory():
    batch = batch_space(Box(0, 255, (84, 84, 4), np.uint8), 10**9)
    assert batch.shape == (10**9, 84, 84, 4)
    assert len(pickle.dumps(batch)) < 10**6


# Numbers of elements


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box(0, 1),
        lambda: Discrete(3),
        lambda: MultiDiscrete([3]),
        lambda: MultiBinary(3),
        lambda: Text(3),
        lambda: Tuple([Discrete(3)]),
        lambda: Dict(a=Box(0, 1)),
    ],
)
def test_what_counts_as_a_number(make):
    assert batch_space(make(), np.int64(2)) == batch_space(make(), 2)
    assert batch_space(make()) == batch_space(make(), 1)
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        batch_space(make(), -1)
    for n in (2.0, "2", None):
        with pytest.raises(TypeError):
            batch_space(make(), n)


# Gymnasium's behavior


@pytest.mark.parametrize(
    "factory",
    [
        lambda s: s.Dict({"b": s.Discrete(2), "a": s.Discrete(3)}, sort_keys=False),
        lambda s: s.Dict(b=s.Discrete(2), a=s.Discrete(3)),
        lambda s: s.Dict([("b", s.Discrete(2)), ("a", s.Discrete(3))]),
        lambda s: s.Dict(x=s.Dict({"b": s.Discrete(2), "a": s.Discrete(3)}, sort_keys=False)),
    ],
)
def test_order_of_keys(factory):
    ours, theirs = both(factory)
    assert_same(batch_space(ours, 2), gymnasium_utils.batch_space(theirs, 2))
    assert_same(
        batch_differing_spaces([ours, ours]),
        gymnasium_utils.batch_differing_spaces([theirs, theirs]),
    )


@pytest.mark.parametrize("first", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
@pytest.mark.parametrize("second", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
def test_dtype_of_discretes_of_two_dtypes(first, second):
    ours, theirs = (
        utils.batch_differing_spaces(
            [
                spaces.Discrete(100, dtype=first, seed=3),
                spaces.Discrete(20, dtype=second, start=7),
            ]
        )
        for utils, spaces in (
            (gymcore.vector.utils, gymcore.spaces),
            (gymnasium_utils, gymnasium.spaces),
        )
    )
    assert_same(ours, theirs)
    assert ours.dtype.str == theirs.dtype.str
    assert_same(ours.sample(), theirs.sample())


def test_discretes_that_the_wider_dtype_does_not_hold():
    spaces = [Discrete(3, dtype=np.uint8), Discrete(4, dtype=np.int8, start=-1)]
    batch = batch_differing_spaces(spaces)
    assert batch == MultiDiscrete([3, 4], dtype=np.int16, start=[0, -1])
    spaces = [Discrete(3, dtype=np.uint64), Discrete(4, start=-1)]
    assert batch_differing_spaces(spaces) == MultiDiscrete([3, 4], start=[0, -1])
    spaces = [Discrete(3), Discrete(2**63 + 5, dtype=np.uint64)]
    assert batch_differing_spaces(spaces) == MultiDiscrete([3, 2**63 + 5], dtype=np.uint64)
    with pytest.raises((ValueError, OverflowError)):
        batch_differing_spaces([Discrete(3, start=-1), Discrete(2**63 + 5, dtype=np.uint64)])


# User-defined spaces


def make_color(gym):
    class Color(gym.Space):
        """A space unknown to all functions."""

        def sample(self, mask=None, probability=None):
            return ("red", "green", "blue")[self.np_random.integers(3)]

        def contains(self, x):
            return x in ("red", "green", "blue")

        def __repr__(self):
            return "Color()"

    return Color


@pytest.mark.parametrize("n", [0, 1, 4])
def test_copies_of_a_custom_space_as_in_gymnasium(n):
    ours, theirs = (make_color(gym)(seed=5) for gym in (gymcore, gymnasium))
    our_batch, their_batch = batch_space(ours, n), gymnasium_utils.batch_space(theirs, n)
    assert repr(our_batch) == repr(their_batch)
    assert random_states(our_batch) == random_states(their_batch)
    assert our_batch.sample() == their_batch.sample()
    assert ours.sample() == theirs.sample()


@pytest.mark.parametrize("gym", [gymcore, gymnasium])
def test_a_subclass_is_batched_as_its_base_and_can_be_registered(gym):
    utils, color = gym.vector.utils, make_color(gym)

    class Angle(gym.spaces.Box):
        def __init__(self):
            super().__init__(-np.pi, np.pi, (1,), np.float64)

    assert type(utils.batch_space(Angle(), 2)) is gym.spaces.Box
    assert utils.batch_space(Angle(), 2).shape == (2, 1)

    @utils.batch_space.register(color)
    def _(space, n=1):
        return gym.spaces.MultiDiscrete([3] * n)

    @utils.batch_differing_spaces.register(color)
    def _(spaces):
        return gym.spaces.MultiDiscrete([3] * len(spaces))

    nested = gym.spaces.Dict(a=gym.spaces.Tuple([color(), gym.spaces.Discrete(2)]))
    for batch in (utils.batch_space(nested, 2), utils.batch_differing_spaces([nested, nested])):
        assert repr(batch) == "Dict('a': Tuple(MultiDiscrete([3 3]), MultiDiscrete([2 2])))"


@pytest.mark.parametrize("name", ["batch_space", "batch_differing_spaces"])
def test_the_same_types_are_known_as_in_gymnasium(name):
    ours, theirs = (getattr(utils, name) for utils in (gymcore.vector.utils, gymnasium_utils))
    for kind in gymcore.spaces.__all__:
        kinds = (getattr(gym.spaces, kind) for gym in (gymcore, gymnasium))
        known = [
            isinstance(cls, type) and function.dispatch(cls) is not function.dispatch(object)
            for function, cls in zip((ours, theirs), kinds, strict=True)
        ]
        assert known[0] == known[1], kind


def test_unseeded_spaces_share_their_stream_with_their_batch():
    single = Discrete(1000)
    batch = batch_space(single, 1)
    assert single.np_random.bit_generator.state == batch.np_random.bit_generator.state
    assert isinstance(single, Space)
