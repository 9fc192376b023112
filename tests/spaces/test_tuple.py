"""Tuples of elements of several spaces."""

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import Box, Discrete, Tuple
from tests.spaces.parity import assert_same_outcome, assert_same_result, i8

TWO = "Tuple([Discrete(2), Discrete(3)])"


@pytest.mark.parametrize(
    "expression",
    [
        "Tuple([Discrete(2), Box(0, 1)])",
        "Tuple([])",
        "Tuple(iter([Discrete(2), Discrete(3)]))",
        "Tuple([Discrete(2), Discrete(3)], seed=[1, 2]).sample()",
        "Tuple([Discrete(2), Discrete(3)], seed=5).sample()",
        "Tuple([Discrete(2, seed=3), Discrete(9, seed=4)], seed=None).sample()",
        "Tuple(Discrete(2))",
        "Tuple([1, 2])",
        "Tuple([Discrete(2), 'a'])",
        "Tuple(3)",
        "Tuple({'a': Discrete(2)})",
        "Tuple([Discrete(2)], seed='a')",
        "Tuple([Discrete(2), Discrete(3)], seed=(1,))",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    "seed",
    [
        "3",
        "2**40",
        "(1, 2)",
        "[1, 2]",
        "(1,)",
        "(1, 2, 3)",
        "'ab'",
        "1.5",
        "-1",
        "(1, 'a')",
        "(1, -2)",
        "{1: 2}",
        "np.array([1, 2])",
    ],
)
def test_seeds(seed):
    assert_same_result(f"{TWO}.seed({seed})")


def test_nested_seeds():
    space = "Tuple([Discrete(2), Tuple([Discrete(2), Discrete(3)]), Dict(a=Discrete(2))])"
    for seed in ("3", "(1, 2, 3)", "(1, (2, 3), {'a': 1})", "(1, (2,), 3)", "(1, 2, {'b': 1})"):
        assert_same_result(f"{space}.seed({seed})")


def test_fresh_entropy_differs_between_subspaces_and_calls():
    space = Tuple([Discrete(2), Discrete(2)])
    seeds = {*space.seed(), *space.seed(None), *space.seed((None, None))}
    assert len(seeds) == 6


def test_a_refused_seed_changes_no_subspace():
    space = Tuple([Discrete(1000), Discrete(1000)], seed=1)
    before = [sub.np_random for sub in space]
    with pytest.raises(error.Error, match="python integer, actual type: <class 'str'>"):
        space.seed((5, "a"))
    assert [sub.np_random for sub in space] == before


def test_it_is_a_sequence_of_its_subspaces():
    for expression in ("len(t)", "t[0]", "t[-1]", "t[0:1]", "list(t)", "list(reversed(t))"):
        assert_same_result(f"[{expression} for t in [{TWO}]]")
    for expression in ("t[5]", "t['a']", "t.index(Discrete(3))", "t.count(Discrete(2))"):
        assert_same_result(f"[{expression} for t in [{TWO}]]")
    assert_same_result(f"Discrete(2) in {TWO}")


VALUES = [
    "(1, 2)",
    "[1, 2]",
    "np.array([1, 2])",
    "np.array([1.0, 2])",
    "np.array([[1], [2]])",
    "np.array([3, 2])",
    "(1,)",
    "(1, 2, 0)",
    "(5, 2)",
    "None",
    "3",
    "{0: 1, 1: 2}",
    "'ab'",
    "iter((1, 2))",
    "range(2)",
    "()",
]


@pytest.mark.parametrize("value", VALUES)
def test_contains_gives_gymnasiums_verdict(value):
    assert_same_result(f"{TWO}.contains({value})")
    assert_same_result(f"{value} in Tuple([])")


def test_an_array_without_axes_is_no_element():
    assert np.array(1) not in Tuple([Discrete(2)])


@pytest.mark.parametrize(
    "mask",
    [
        "(None, None)",
        "(i8(0, 1), None)",
        "(i8(0, 1), i8(1, 1, 0))",
        "(i8(0, 1),)",
        "(i8(0, 1), None, None)",
        "[i8(0, 1), None]",
        "(3, None)",
        "3",
        "np.array([1, 0])",
    ],
)
def test_masked_samples(mask):
    space = "Tuple([Discrete(2), Discrete(3)], seed=i)"
    assert_same_result(f"[{space}.sample(mask={mask}) for i in range(5)]")
    weights = mask.replace("i8(0, 1)", "f8(0, 1)").replace("i8(1, 1, 0)", "f8(0.5, 0.5, 0)")
    assert_same_result(f"[{space}.sample(probability={weights}) for i in range(5)]")
    assert_same_result(f"{space.replace('i)', '1)')}.sample(mask={mask}, probability={mask})")


def test_custom_subspaces_need_no_mask_arguments():
    def run(spaces):
        class Three(spaces.Space):
            def sample(self):
                return 3

            def contains(self, x):
                return x == 3

        space = spaces.Tuple([Three(), spaces.Dict(a=Three())])
        return space.sample(), (3, {"a": 3}) in space, (3, {"a": 4}) in space

    assert_same_outcome(run)


@pytest.mark.parametrize(
    "expression",
    [
        "repr(Tuple([Discrete(2)]))",
        "Tuple([Discrete(2)]) == Tuple([Discrete(2)])",
        "Tuple([Discrete(2)]) == Tuple([Discrete(2), Discrete(2)])",
        "Tuple([Discrete(2)]) == (Discrete(2),)",
        "hash(Tuple([]))",
        "Tuple([Discrete(2), Graph(Discrete(2), None)]).is_np_flattenable",
        f"{TWO}.to_jsonable(((1, 2), (0, 0)))",
        f"{TWO}.to_jsonable([])",
        f"{TWO}.from_jsonable([[0, 1], [2, 0]])",
        f"{TWO}.from_jsonable([[0], [2], [1]])",
        f"{TWO}.from_jsonable([[0, 1]])",
        f"{TWO}.from_jsonable([[0, 1], [2]])",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


def test_a_refused_mask_is_found_before_any_subspace_draws():
    space = Tuple([Discrete(2), Box(0, 1)], seed=1)
    before = space[0].np_random.bit_generator.state
    with pytest.raises(error.InvalidMask, match="Expected length of `mask` to be 2"):
        space.sample(mask=(i8(1, 1),))
    assert space[0].np_random.bit_generator.state == before
