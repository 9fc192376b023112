"""Arrays of zeros and ones."""

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import MultiBinary
from tests.spaces.parity import assert_same_result, f8, i8


@pytest.mark.parametrize(
    "expression",
    [
        "MultiBinary(3)",
        "MultiBinary([2, 3])",
        "MultiBinary((2,))",
        "MultiBinary(np.array([2, 3]))",
        "MultiBinary(np.array([2.0, 3.0]))",
        "MultiBinary(True)",
        "MultiBinary([])",
        "MultiBinary(3, seed=4).sample()",
        "MultiBinary(n=[3, 2], seed=3).sample()",
        "MultiBinary(0)",
        "MultiBinary(-1)",
        "MultiBinary([2, 0])",
        "MultiBinary(2.5)",
        "MultiBinary(None)",
        "MultiBinary({2: 1})",
        "MultiBinary(3, seed='a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


def test_any_integer_is_a_number_of_elements():
    assert MultiBinary(np.int8(3)) == MultiBinary(3)
    assert MultiBinary(np.array(3)) == MultiBinary(3)
    assert type(MultiBinary(np.int8(3)).n) is int


@pytest.mark.parametrize("n", ["23", [2.5], [[2, 3]], ["a"], b"ab"])
def test_what_is_no_shape(n):
    with pytest.raises(error.InvalidArgument, match="an int or a sequence of ints, actual"):
        MultiBinary(n)


VALUES = [
    "[0, 1, 1]",
    "(0, 1, 1)",
    "[0, 1]",
    "[0, 1, 2]",
    "[0, 1, -1]",
    "[0.0, 1.0, 1.0]",
    "[True, False, True]",
    "['a', 'b', 'c']",
    "[[0], [1], [1]]",
    "(0, 1, None)",
    "'abc'",
    "None",
    "3",
    "i8(0, 1, 1)",
    "i8(0, 1, 2)",
    "i8(0, 1, -1)",
    "np.array([0, 1, 1])",
    "np.array([0, 1, 1.0])",
    "np.array([0, 1, 0.5])",
    "np.array([0, 1, np.nan])",
    "np.array([True, False, True])",
    "np.array([None, 0, 1])",
    "np.array([0, 1, 1], dtype=object)",
    "np.array([0, 1, 1], dtype=complex)",
    "np.array(['0', '1', '1'])",
    "np.array([0, 1, 1], dtype='m8')",
    "np.array([1, 257, 0], np.int16)",
]


@pytest.mark.parametrize("value", VALUES)
def test_contains_gives_gymnasiums_verdict(value):
    assert_same_result(f"MultiBinary(3).contains({value})")
    assert_same_result(f"MultiBinary([3, 1]).contains({value})")


def test_ragged_lists_are_no_elements():
    assert [[0], [1, 2], 3] not in MultiBinary(3)


@pytest.mark.parametrize(
    "expression",
    [
        "repr(MultiBinary(np.array([2])))",
        "MultiBinary(3) == MultiBinary(3)",
        "MultiBinary(3) == MultiBinary([3])",
        "MultiBinary(3) == MultiBinary(4)",
        "MultiBinary(3) == 3",
        "MultiBinary([2, 3]) == MultiBinary(np.array([2, 3]))",
        "hash(MultiBinary(3))",
        "MultiBinary(3)[0]",
        "MultiBinary(3).to_jsonable([[0, 1, 1]])",
        "MultiBinary(3).to_jsonable(np.array([[0, 1, 1]], np.int8))",
        "MultiBinary(3).from_jsonable([[0, 1.5, 7]])",
        "MultiBinary(3).from_jsonable(3)",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


MASKS = [
    "i8(0, 1, 2)",
    "i8(2, 2, 2)",
    "i8(0, 0, 0)",
    "i8(0, 1, 3)",
    "i8(0, 1, -1)",
    "i8(0, 1)",
    "np.array([0, 1, 2])",
    "np.array([0, 1, 2], np.uint8)",
    "np.array([[0, 1, 2]], np.int8)",
    "[0, 1, 2]",
    "3",
]
PROBABILITIES = [
    "f8(0, 1, 0.5)",
    "f8(0.2, 0.2, 0.2)",
    "f8(2, 0, 0)",
    "f8(-1, 0, 0)",
    "f8(np.nan, 0, 1)",
    "np.array([0, 1, 1], np.int64)",
    "[0, 0.5, 0.5]",
    "3",
]


@pytest.mark.parametrize("mask", MASKS)
def test_masked_samples(mask):
    assert_same_result(f"[MultiBinary(3, seed=i).sample(mask={mask}) for i in range(10)]")


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_weighted_samples(probability):
    assert_same_result(
        f"[MultiBinary(3, seed=i).sample(probability={probability}) for i in range(10)]"
    )


def test_masks_of_more_axes():
    assert_same_result("MultiBinary([2, 3], 1).sample(np.array([[0, 1, 2], [2] * 3], np.int8))")
    assert_same_result("MultiBinary([2, 3], 1).sample(None, np.full((2, 3), 0.3))")
    assert_same_result("MultiBinary([2, 3]).sample(mask=np.zeros(6, np.int8))")
    assert_same_result("MultiBinary(3).sample(mask=3, probability=3)")


def test_the_message_of_a_wrong_shape_of_probabilities_names_it():
    with pytest.raises(error.InvalidMask, match=r"is \(3,\), actual shape: \(2,\)"):
        MultiBinary(3).sample(probability=f8(0, 0.5))


@pytest.mark.parametrize("options", [{"mask": i8(3, 0, 0)}, {"probability": f8(1, 0, 2)}])
def test_a_refused_mask_draws_nothing(options):
    space = MultiBinary(3, seed=1)
    before = space.np_random.bit_generator.state
    with pytest.raises(AssertionError):
        space.sample(**options)
    assert space.np_random.bit_generator.state == before
