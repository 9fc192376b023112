"""Texts as arrays of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore import error, spaces
from gymcore.spaces.text_numbers import numbers_of_texts, space_of_numbers
from gymcore.spaces.utils import flatten, unflatten

TEXT = spaces.Text(4, min_length=0, charset="bä a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", [4, 4, 4, 4]),
        ("äb", [1, 0, 4, 4]),
        (("a", "b b "), [[3, 4, 4, 4], [0, 2, 0, 2]]),
        (["a"], [[3, 4, 4, 4]]),
        (np.array([["a"], ["a"]]), [[[3, 4, 4, 4]]] * 2),
        (np.array(["a", "ä"], object), [[3, 4, 4, 4], [1, 4, 4, 4]]),
        ((), np.empty((0, 4))),
    ],
)
def test_the_numbers_are_indices_of_characters(value, expected):
    numbers = numbers_of_texts(TEXT, value)
    assert numbers.dtype == np.uint8
    np.testing.assert_array_equal(numbers, expected)


def test_elements_belong_to_the_space_and_equal_flattened_ones():
    many = spaces.Text(3, min_length=0, charset=map(chr, range(65, 400)))
    space = spaces.Dict(a=TEXT, b=spaces.Tuple((many, spaces.Discrete(3))))
    numbers = space_of_numbers(space)
    assert numbers["a"] == spaces.MultiDiscrete([5] * 4, np.uint8)
    assert numbers["b"][0] == spaces.MultiDiscrete([336] * 3, np.int32)
    assert numbers["b"][1] == spaces.Discrete(3)
    space.seed(1)
    for _ in range(20):
        element = space.sample()
        found = numbers_of_texts(space, element)
        assert found in numbers
        np.testing.assert_array_equal(found["a"], flatten(TEXT, element["a"]))
        assert unflatten(many, found["b"][0]) == element["b"][0]
        assert found["b"][1] == element["b"][1]


def test_a_space_without_texts_and_its_elements_are_returned_as_they_are():
    space, value = spaces.Box(0, 1, (2,)), np.zeros(2)
    assert space_of_numbers(space) is space and numbers_of_texts(space, value) is value


@pytest.mark.parametrize("value", ["x", "aaaaa", ("a", "x")])
def test_a_text_outside_the_space_is_refused(value):
    with pytest.raises(error.InvalidArgument, match="is not an element of"):
        numbers_of_texts(TEXT, value)
