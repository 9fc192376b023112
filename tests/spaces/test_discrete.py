"""Ranges of integers."""

import enum
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error
from gymcore.spaces import Discrete
from tests.spaces.parity import assert_same_outcome, assert_same_result, f8, i8


@pytest.mark.parametrize(
    "expression",
    [
        "Discrete(3)",
        "Discrete(np.int8(3))",
        "Discrete(3, 4).sample()",
        "Discrete(3, start=np.int8(-4))",
        "Discrete(3, dtype='int16')",
        "Discrete(3, dtype=int)",
        "Discrete(3, dtype='>i4')",
        "Discrete(2**63, dtype=np.uint64)",
        "Discrete(0)",
        "Discrete(-1)",
        "Discrete(2.5)",
        "Discrete('a')",
        "Discrete(True)",
        "Discrete(np.array(3))",
        "Discrete(np.float64(3))",
        "Discrete(3, start=1.5)",
        "Discrete(3, start=True)",
        "Discrete(3, dtype=np.float32)",
        "Discrete(3, dtype=bool)",
        "Discrete(3, dtype=None)",
        "Discrete(3, dtype='foo')",
        "Discrete(3, dtype=np.uint8, start=-1)",
        "Discrete(300, dtype=np.int8)",
        "Discrete(3, seed='a')",
        "Discrete(3)[0]",
        "len(Discrete(3))",
        "hash(Discrete(3))",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


def test_too_many_elements_for_64_bits():
    with pytest.raises(OverflowError, match="9223372036854775808 out of bounds for int64"):
        Discrete(2**63)


def test_elements_that_do_not_fit_the_dtype():
    with pytest.raises(error.InvalidArgument, match="start \\+ n - 1 = 199"):
        Discrete(100, dtype=np.int8, start=100)
    assert 127 in Discrete(28, dtype=np.int8, start=100)


@pytest.mark.parametrize(
    "expression",
    [
        "repr(Discrete(3, start=2))",
        "repr(Discrete(3, dtype=np.int32))",
        "repr(Discrete(3, start=-2, dtype=np.int8))",
        "str(Discrete(3))",
        "Discrete(3) == Discrete(3)",
        "Discrete(3) == Discrete(3, dtype=np.int32)",
        "Discrete(3) == 3",
        "bool(Discrete(3) == Discrete(4))",
        "bool(Discrete(3) == Discrete(3, start=1))",
        "Discrete(3).to_jsonable((1, np.int64(2)))",
        "Discrete(3).to_jsonable(np.array([1, 2]))",
        "Discrete(3).to_jsonable(['a'])",
        "Discrete(3).from_jsonable([1, 2])",
        "Discrete(3, dtype=np.int8).from_jsonable([1, 2.5])",
        "[Discrete(9, seed=5).sample() for _ in range(3)]",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


VALUES = [
    "0, 2, 3, -1, True, False, 2**70, -2**70, 251, 300",
    "1.0, '1', None, [1], (1,), 1j",
    "np.int64(1), np.int32(2), np.int8(1), np.uint8(2), np.uint64(1), np.int64(3), np.int64(-1)",
    "np.bool_(True), np.float32(1), np.timedelta64(1), np.datetime64('2020'), np.str_('1')",
    "np.array(1), np.array(1, np.int8), np.array(5), np.array([1]), np.array(1.0)",
    "np.array(True), np.array(1, dtype=object), np.array(1, np.uint64), np.array(1, np.uint8)",
]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(
    "space",
    [
        "Discrete(3)",
        "Discrete(3, start=-1)",
        "Discrete(3, dtype=np.int8)",
        "Discrete(3, dtype=np.uint8)",
        "Discrete(3, start=250, dtype=np.uint8)",
        "Discrete(3, dtype=np.uint64)",
    ],
)
def test_contains_gives_gymnasiums_verdict(space, values):
    assert_same_result(f"[{space}.contains(x) for x in [{values}]]")


class Color(enum.IntEnum):
    RED = 1
    BLUE = 7


class HasIndex:
    def __index__(self):
        return 1


def test_subclasses_of_int_are_integers_and_other_classes_are_not():
    assert Color.RED in Discrete(3)
    assert Color.BLUE not in Discrete(3)
    assert HasIndex() not in Discrete(3)
    assert isinstance(Discrete(3).contains(np.int64(1)), bool)


def test_contains_follows_changes_of_the_attributes():
    space = Discrete(3)
    space.n = 7
    assert 6 in space
    space.start = 10
    assert 6 not in space
    assert 16 in space


MASKS = [
    "i8(1, 0, 1)",
    "i8(0, 0, 0)",
    "i8(0, 0, 1)",
    "i8(1, 1, 1)[::-1]",
    "np.ma.array([1, 0, 1], dtype=np.int8)",
    "i8(1, 1)",
    "i8(0, 2, 1)",
    "i8(0, -1, 1)",
    "np.array([1, 0, 1])",
    "np.array([True, False, True])",
    "np.array([[1, 0, 1]], np.int8)",
    "[1, 0, 1]",
    "3",
]
PROBABILITIES = [
    "f8(0.5, 0.5, 0)",
    "f8(1 / 3, 1 / 3, 1 / 3)",
    "f8(1, 0, 0)",
    "f8(0.1, 0.2, 0.7)",
    "f8(0.5, 0.2, 0)",
    "f8(0, 0, 0)",
    "f8(-0.5, 0.5, 1)",
    "f8(2, -1, 0)",
    "f8(np.nan, 0.5, 0.5)",
    "f8(inf, 0, 0)",
    "f8(0.5, 0.5)",
    "np.array([1, 1, 0], np.int64)",
    "[0.5, 0.5, 0]",
    "3",
]


@pytest.mark.parametrize("space", ["3", "3, start=5, dtype=np.int8", "3, start=-5, dtype='>i4'"])
@pytest.mark.parametrize("mask", MASKS)
def test_masked_samples(space, mask):
    assert_same_result(f"[Discrete({space}, seed=i).sample(mask={mask}) for i in range(20)]")


@pytest.mark.parametrize("space", ["3", "3, start=5, dtype=np.int8"])
@pytest.mark.parametrize("probability", PROBABILITIES)
def test_weighted_samples(space, probability):
    assert_same_result(
        f"[Discrete({space}, seed=i).sample(probability={probability}) for i in range(20)]"
    )


def test_mask_and_probability_exclude_each_other():
    assert_same_result("Discrete(3).sample(mask=i8(1, 0, 1), probability=f8(1, 0, 0))")
    assert_same_result("Discrete(3).sample(mask=3, probability=4)")


@pytest.mark.parametrize("options", [{"mask": i8(2, 0, 0)}, {"probability": f8(1, 0, 1)}])
def test_a_refused_mask_draws_nothing_and_is_both_kinds_of_error(options):
    space = Discrete(3, seed=1)
    before = space.np_random.bit_generator.state
    with pytest.raises(error.InvalidMask) as caught:
        space.sample(**options)
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, ValueError)
    assert space.np_random.bit_generator.state == before


def test_probabilities_that_numpy_would_refuse_get_our_message():
    with pytest.raises(error.InvalidMask, match=r"should be equal to 1, actual sum: 1\.00001"):
        Discrete(2).sample(probability=f8(0.5, 0.50001))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 300),
    start=st.integers(-(2**40), 2**40),
    seed=st.integers(0, 2**64),
    data=st.data(),
)
def test_any_discrete_is_gymnasiums(n, start, seed, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.int8)
    near = data.draw(st.integers(start - 2, start + n + 2))

    def run(spaces):
        space = spaces.Discrete(n, start=start, seed=seed)
        samples = [space.sample(), space.sample(mask), space.sample(), near in space]
        return space, samples, space.np_random.bit_generator.state

    assert_same_outcome(run)


def test_old_pickles_start_at_zero():
    state = dict(Discrete(3, start=2).__dict__)
    del state["start"]
    space = Discrete.__new__(Discrete)
    space.__setstate__(state)
    assert space.start == 0
    assert [x in space for x in (-1, 0, 2, 3)] == [False, True, True, False]
    assert repr(space) == "Discrete(3)"


def test_pickles_keep_the_limits():
    space = pickle.loads(pickle.dumps(Discrete(3, start=5)))
    assert [x in space for x in (4, 5, 7, 8)] == [False, True, True, False]
