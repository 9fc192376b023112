"""Strings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error
from gymcore.spaces import Text
from gymcore.spaces.text import alphanumeric
from tests.spaces.parity import assert_same_outcome, assert_same_result, f8, i8


@pytest.mark.parametrize(
    "expression",
    [
        "Text(5)",
        "Text(np.int64(4), min_length=np.int8(2))",
        "Text(5, min_length=0, charset='abcb')",
        "Text(5, charset={'a', 'c', 'b'})",
        "Text(5, charset=['z', 'a', 'z'])",
        "Text(5, charset=iter('zay'))",
        "Text(5, charset='')",
        "Text(5, charset='cab')",
        "Text(0, min_length=0)",
        "Text(max_length=5, seed=3).sample()",
        "Text(5, charset=3)",
        "Text(5, charset={'ab', 'c'})",
        "Text(5, charset={''})",
        "Text(0)",
        "Text(-1)",
        "Text(2.5)",
        "Text('a')",
        "Text(True)",
        "Text(5, min_length=6)",
        "Text(5, min_length=-1)",
        "Text(5, min_length=2.5)",
        "Text(5, seed='a')",
        "Text(5, 3)",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    "space", ["5", "5, charset='zay'", "5, charset=['z', 'a']", "5, charset=frozenset('zéß')"]
)
def test_characters_and_their_order(space):
    for name in ("character_list", "characters", "max_length", "min_length", "shape", "dtype"):
        assert_same_result(f"Text({space}).{name}")
    assert_same_result(f"sorted(Text({space}).character_set)")
    assert_same_result(f"[Text({space}).character_index(c) for c in Text({space}).character_list]")
    assert_same_result(f"Text({space}).character_index('!')")


def test_a_charset_holds_strings():
    with pytest.raises(error.ArgumentTypeError, match=r"to be strings, actual elements: .*1"):
        Text(5, charset={1, 2})


def test_the_default_characters():
    assert len(alphanumeric) == 62
    assert "".join(sorted(alphanumeric)).isalnum()


@pytest.mark.parametrize(
    "expression",
    [
        "repr(Text(5, min_length=2, charset='cab'))",
        "[Text(5, min_length=2, charset='ab').contains(x) for x in ('a', 'ab', 'aaaaaa', 'abc')]",
        "[Text(5).contains(x) for x in (1, None, b'a', ['a'], np.str_('a'), ('a', 'b'), '', 'é')]",
        "'' in Text(5, min_length=0)",
        "Text(5) == Text(5)",
        "Text(5) == Text(6)",
        "Text(5) == Text(5, min_length=2)",
        "Text(5) == 3",
        "Text(5, charset='abc') == Text(5, charset='cba')",
        "hash(Text(5))",
        "Text(5).to_jsonable(('a', 'b'))",
        "Text(5).from_jsonable(['a', 'b'])",
        "[Text(5, seed=i).sample() for i in range(10)]",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


MASKS = [
    "(3, i8(1, 0, 1))",
    "(None, i8(1, 0, 1))",
    "(3, None)",
    "(None, None)",
    "(np.int64(2), None)",
    "(0, None)",
    "(0, i8(0, 0, 0))",
    "(None, i8(0, 0, 0))",
    "(3, i8(0, 0, 0))",
    "(6, None)",
    "(-1, None)",
    "(2.5, None)",
    "('a', None)",
    "(True, None)",
    "(np.array([2]), None)",
    "(None, i8(1, 2, 0))",
    "(None, i8(1, -1, 0))",
    "(None, i8(1, 1))",
    "(None, np.array([1, 1, 1]))",
    "(None, [1, 1, 1])",
    "(3,)",
    "(3, None, 3)",
    "[3, None]",
    "3",
    "'ab'",
]
PROBABILITIES = [
    "(3, f8(0.5, 0, 0.5))",
    "(None, f8(0.1, 0.2, 0.7))",
    "(None, None)",
    "(0, f8(0, 1, 0))",
    "(9, f8(1, 0, 0))",
    "('a', f8(1, 0, 0))",
    "(None, f8(0, 0, 0))",
    "(None, f8(0.5, 0, 0.4))",
    "(None, f8(-0.5, 1, 0.5))",
    "(None, f8(np.nan, 0, 1))",
    "(None, f8(0.5, 0.5))",
    "(None, np.array([1, 0, 0], np.int64))",
    "(None, [0.5, 0, 0.5])",
    "[3, None]",
    "3",
]


@pytest.mark.parametrize("space", ["5, charset='abc'", "5, min_length=0, charset='abc'"])
@pytest.mark.parametrize("mask", MASKS)
def test_masked_samples(space, mask):
    def run(spaces):
        result = []
        for seed in range(10):
            text = spaces.Text(5, min_length=int("=0" not in space), charset="abc", seed=seed)
            result += [text.sample(mask=eval(mask, {"np": np, "i8": i8})), text.sample()]
        return result

    assert_same_outcome(run)


@pytest.mark.parametrize("space", ["5, charset='abc'", "5, min_length=0, charset='abc'"])
@pytest.mark.parametrize("probability", PROBABILITIES)
def test_weighted_samples(space, probability):
    assert_same_result(
        f"[Text({space}, seed=i).sample(probability={probability}) for i in range(10)]"
    )


def test_without_characters_only_the_empty_string_can_be_drawn():
    assert_same_result("Text(5, charset='').sample()")
    assert_same_result("Text(5, min_length=0, charset='').sample()")
    assert_same_result("Text(5).sample(mask=3, probability=3)")


@pytest.mark.parametrize("mask", [(None, i8(0, 0)), (7, None), (None, i8(1, 5))])
def test_a_refused_mask_draws_nothing(mask):
    space = Text(5, charset="ab", seed=1)
    before = space.np_random.bit_generator.state
    with pytest.raises(error.InvalidMask):
        space.sample(mask=mask)
    assert space.np_random.bit_generator.state == before


def test_probabilities_that_numpy_would_refuse_get_our_message():
    with pytest.raises(error.InvalidMask, match=r"mask to be 1, actual sum: 1\.00001"):
        Text(5, charset="ab").sample(probability=(None, f8(0.5, 0.50001)))


@settings(max_examples=30, deadline=None)
@given(
    # Gymnasium draws an empty string instead of the character NUL.
    charset=st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=30),
    lengths=st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted),
    seed=st.integers(0, 2**64),
    other=st.text(max_size=5),
)
def test_any_text_is_gymnasiums(charset, lengths, seed, other):
    def run(spaces):
        space = spaces.Text(lengths[1], min_length=lengths[0], charset=charset, seed=seed)
        samples = [space.sample() for _ in range(3)]
        inside = [text in space for text in (*samples, other, charset)]
        return space, samples, inside, space.np_random.bit_generator.state

    assert_same_outcome(run)
