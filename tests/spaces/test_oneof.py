"""Elements of any one of several spaces."""

import json

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import Box, Dict, Discrete, OneOf, Sequence, Text, Tuple
from tests.spaces.parity import assert_same, assert_same_result, i8

TWO = "OneOf([Discrete(3), Box(0, 1)])"


@pytest.mark.parametrize(
    "expression",
    [
        TWO,
        "OneOf(iter([Discrete(2)]))",
        "OneOf([Discrete(2)], seed=(1, 2)).sample()",
        "OneOf([Discrete(2), Discrete(3)], seed=5).sample()",
        "OneOf([])",
        "OneOf(Discrete(2))",
        "OneOf([1])",
        "OneOf([Discrete(2), 'a'])",
        "OneOf(3)",
        "OneOf('ab')",
        "OneOf([Discrete(2)], seed='a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    "seed",
    [
        "3",
        "2**40",
        "(1, 2, 3)",
        "[1, 2, 3]",
        "(1, 2)",
        "(1, 2, 3, 4)",
        "'a'",
        "-1",
        "(1, 'a', 2)",
        "1.5",
        "{}",
    ],
)
def test_seeds(seed):
    assert_same_result(f"{TWO}.seed({seed})")
    assert_same_result(f"[({seed}, s.seed(4), s.sample(), s.sample()) for s in [{TWO}]]")


def test_an_integer_and_the_tuple_that_it_returns_start_the_same_stream():
    nested = [Dict(a=Discrete(9)), Tuple([Discrete(9)] * 2)]
    one, other = OneOf(nested, seed=7), OneOf([Dict(a=Discrete(9)), Tuple([Discrete(9)] * 2)])
    seeds = one.seed(7)
    assert seeds[0] == 7
    assert other.seed(seeds) == seeds
    assert [one.sample() for _ in range(9)] == [other.sample() for _ in range(9)]


def test_fresh_entropy():
    space = OneOf([Discrete(3), Box(0, 1)])
    assert len({*space.seed(), *space.seed((None, None, None))}) == 6


@pytest.mark.parametrize(
    "value",
    [
        "(0, 1)",
        "(np.int64(0), 1)",
        "(1, np.ones(1, 'f4'))",
        "(0, np.ones(1, 'f4'))",
        "[0, 1]",
        "(2, 1)",
        "(-1, np.ones(1, 'f4'))",
        "(0,)",
        "(0, 1, 2)",
        "None",
        "3",
        "(0.0, 1)",
        "('a', 1)",
        "(np.int8(0), 2)",
        "(True, np.ones(1, 'f4'))",
        "(np.array(0), 2)",
        "(1, 1)",
        "np.array([0, 1])",
        "(2**70, 1)",
        "(np.bool_(0), 1)",
    ],
)
def test_contains_gives_gymnasiums_verdict(value):
    assert_same_result(f"{value} in {TWO}")


@pytest.mark.parametrize("expression", ["len(o)", "o[0]", "o[-1]", "list(o)", "o[0:1]", "o[5]"])
def test_its_subspaces(expression):
    assert_same_result(f"[{expression} for o in [{TWO}]]")


@pytest.mark.parametrize(
    "mask",
    [
        "(None, None)",
        "(i8(0, 1, 0), None)",
        "(i8(0, 1, 0), i8(0, 1))",
        "(i8(0, 1, 0),)",
        "(None, None, None)",
        "(None, 3)",
        "(3, None)",
        "[None, None]",
        "3",
        "{}",
    ],
)
def test_masked_samples(mask):
    space = "OneOf([Discrete(3), Discrete(2)], seed={})"
    for seed in range(4):
        assert_same_result(f"{space.format(seed)}.sample(mask={mask})")
        assert_same_result(f"{space.format(seed)}.sample(probability={mask.replace('i8', 'f8')})")
    assert_same_result(f"{space.format(0)}.sample(mask={mask}, probability={mask})")


def test_a_refused_mask_draws_nothing():
    space = OneOf([Discrete(3), Discrete(2)], seed=1)
    before = space.np_random.bit_generator.state
    with pytest.raises(error.InvalidMask, match="Expected length of `mask` is 2"):
        space.sample(mask=(i8(1, 1, 1),))
    assert space.np_random.bit_generator.state == before


@pytest.mark.parametrize(
    "expression",
    [
        f"repr({TWO})",
        f"{TWO} == {TWO}",
        f"{TWO} == OneOf([Discrete(3)])",
        f"{TWO} == 3",
        f"hash({TWO})",
        f"{TWO}.is_np_flattenable",
        "OneOf([Graph(Discrete(2), None)]).is_np_flattenable",
        f"{TWO}.to_jsonable([(np.int64(0), np.int64(2)), (1, np.ones(1, 'f4'))])",
        f"{TWO}.to_jsonable([])",
        f"{TWO}.from_jsonable([[0, 2], [1, [0.5]]])",
        f"{TWO}.from_jsonable([[5, 2]])",
        "OneOf([Tuple([Discrete(2)])]).to_jsonable([(0, (1,))])",
        "OneOf([Tuple([Discrete(2)])]).from_jsonable([[0, [1]]])",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    "subspace",
    [
        Dict(a=Discrete(2), b=Box(0, 1)),
        Tuple([Discrete(2), Box(0, 1)]),
        Sequence(Dict(a=Discrete(2)), stack=True),
        Sequence(Text(3), stack=True),
        OneOf([Dict(a=Discrete(2))]),
    ],
)
def test_json_of_subspaces_that_gymnasium_loses(subspace):
    subspace.seed(3)
    space = OneOf([Discrete(2), subspace])
    elements = [(np.int64(1), subspace.sample()) for _ in range(5)]
    text = json.dumps(space.to_jsonable(elements))
    assert_same(space.from_jsonable(json.loads(text)), elements)
