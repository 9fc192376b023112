"""Sequences of any length."""

import json

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, OneOf, Sequence, Text, Tuple
from tests.spaces.catalogue import STACKED_OTHERS, label
from tests.spaces.parity import assert_same, assert_same_outcome, assert_same_result


@pytest.mark.parametrize(
    "expression",
    [
        "Sequence(Box(0, 1))",
        "Sequence(Box(0, 1), stack=True)",
        "Sequence(Box(0, 1), stack=True).stacked_feature_space",
        "Sequence(Text(3), stack=True).stacked_feature_space",
        "Sequence(Graph(Box(0, 1), None), stack=True).stacked_feature_space",
        "Sequence(Box(0, 1), (1, 2)).sample()",
        "Sequence(Discrete(3), 5).sample()",
        "Sequence(3)",
        "Sequence(None)",
        "Sequence([Box(0, 1)])",
        "Sequence(Box(0, 1), 'a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize(
    "seed", ["3", "2**40", "(1, 2)", "[1, 2]", "(1,)", "(1, 2, 3)", "'a'", "-1", "1.5", "{}"]
)
def test_seeds(seed):
    assert_same_result(f"Sequence(Box(0, 1)).seed({seed})")
    assert_same_result(f"Sequence(Dict(a=Discrete(2), b=Discrete(3))).seed({seed})")


def test_seeds_of_the_feature_space():
    space = "Sequence(Dict(a=Discrete(2), b=Discrete(3)))"
    assert_same_result(f"{space}.seed((3, {{'a': 1, 'b': 2}}))")
    assert_same_result(f"{space}.seed((3, {{'a': 1}}))")


def test_fresh_entropy_and_refused_seeds():
    space = Sequence(Discrete(5))
    assert len({*space.seed(), *space.seed((None, None))}) == 4
    before = space.np_random
    with pytest.raises(error.Error, match="actual value: -1"):
        space.seed((5, -1))
    assert space.np_random is before


def test_sampling_does_not_reseed_a_seeded_feature_space():
    one, other = (Sequence(Discrete(1000, seed=3)) for _ in range(2))
    assert one.sample(mask=(5, None)) == other.sample(mask=(5, None))


@pytest.mark.parametrize("stack", [False, True])
@pytest.mark.parametrize(
    "mask",
    [
        "(None, None)",
        "(2, None)",
        "(2, i8(0, 1, 0))",
        "(None, i8(0, 1, 0))",
        "(np.array([3, 4]), i8(0, 1, 0))",
        "(np.array([3]), None)",
        "(np.array([3, 4], np.uint8), None)",
        "(np.int64(2), None)",
        "[2, None]",
        "(-1, None)",
        "(2.5, None)",
        "(np.array([2.5]), None)",
        "(np.array([-1, 2]), None)",
        "(np.array([[1]]), None)",
        "(np.array(2), None)",
        "(True, None)",
        "('a', None)",
        "([2, 3], None)",
        "(2, 3)",
    ],
)
def test_masked_samples(stack, mask):
    space = f"Sequence(Discrete(3), seed=i, stack={stack})"
    assert_same_result(f"[{space}.sample(mask={mask}) for i in range(8)]")
    weights = mask.replace("i8", "f8")
    assert_same_result(f"[{space}.sample(probability={weights}) for i in range(8)]")
    assert_same_result(f"[{space} for i in [0]][0].sample(mask={mask}, probability={mask})")


def test_masks_of_other_feature_spaces():
    assert_same_result("Sequence(MultiBinary(2), seed=1).sample(mask=(2, i8(1, 2)))")
    pair = "Tuple([Discrete(2), Discrete(2)])"
    assert_same_result(f"Sequence({pair}, seed=1).sample(mask=(2, (i8(1, 0), None)))")
    assert_same_result("Sequence(Box(0, 1)).sample(mask=(2, 3))")


@pytest.mark.parametrize(
    ("mask", "kind", "problem"),
    [
        (3, TypeError, r"`mask` of a Sequence to be a tuple .*actual type: <class 'int'>"),
        ((2,), ValueError, "actual length: 1"),
        ((2, None, None), ValueError, "actual length: 3"),
        ((np.array([], dtype=np.int64), None), ValueError, "at least one length"),
    ],
)
def test_masks_that_are_no_pairs(mask, kind, problem):
    with pytest.raises(kind, match=problem) as caught:
        Sequence(Discrete(3)).sample(mask=mask)
    assert isinstance(caught.value, AssertionError)


@pytest.mark.parametrize("length", ["None", "3", "np.int8(4)", "np.array([2, 3])", "-3", "2.5"])
@pytest.mark.parametrize("kind", ["mask", "probability"])
def test_sample_length(kind, length):
    space = "Sequence(Discrete(3), seed=5)"
    assert_same_result(f"int({space}.generate_sample_length({length}, '{kind}'))")


EMPTY = [
    (Box(0, 1, (2, 3)), np.zeros((0, 2, 3), np.float32)),
    (Discrete(3, dtype=np.int8), np.zeros(0, np.int8)),
    (MultiBinary([2, 2]), np.zeros((0, 2, 2), np.int8)),
    (Dict(a=Discrete(3)), {"a": np.zeros(0, np.int64)}),
    (Tuple([Discrete(3), Text(3)]), (np.zeros(0, np.int64), ())),
    (OneOf([Discrete(3)]), ()),
]


@pytest.mark.parametrize(("feature", "empty"), EMPTY, ids=lambda value: repr(value)[:30])
def test_an_empty_stacked_sequence(feature, empty):
    space = Sequence(feature, stack=True)
    sample = space.sample(mask=(0, None))
    assert_same(sample, empty)
    assert sample in space
    assert_same(space.from_jsonable(json.loads(json.dumps(space.to_jsonable([sample])))), [empty])


ROWS = "np.zeros((2, 1), np.float32)"


@pytest.mark.parametrize(
    "value",
    [
        "()",
        "[]",
        "(f, f)",
        "[f, f]",
        "np.array([f, f])",
        "np.array([f, f]) + 5",
        "(f, 2)",
        "(f+5,)",
        "np.zeros((0, 1), 'f4')",
        "np.zeros((2, 2), 'f4')",
        "np.zeros((2, 1))",
        "{b'a': 1}",
    ],
)
def test_contains_gives_gymnasiums_verdict(value):
    for stack in (False, True):
        code = f"[({value}) in Sequence(Box(0, 1), stack={stack}) for f in [np.ones(1, 'f4')]]"
        assert_same_result(code)


@pytest.mark.parametrize(
    "value",
    [
        f"{{'a': np.array([1, 2]), 'b': {ROWS}}}",
        f"{{'a': np.array([1, 5]), 'b': {ROWS}}}",
        f"{{'a': np.array([], int), 'b': {ROWS}[:0]}}",
    ],
)
def test_contains_of_stacked_dicts(value):
    space = "Sequence(Dict(a=Discrete(3), b=Box(0, 1)), stack=True)"
    assert_same_result(f"{value} in {space}")


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        {"a": np.array([1, 2])},
        {"a": np.array([1, 2]), "b": np.zeros((3, 1), np.float32)},
        ({"a": 1, "b": np.zeros(1, np.float32)},),
    ],
)
def test_what_is_no_batch_is_no_element(value):
    assert value not in Sequence(Dict(a=Discrete(3), b=Box(0, 1)), stack=True)
    assert value not in Sequence(Discrete(3), stack=True)
    assert value not in Sequence(Discrete(3))


@pytest.mark.parametrize(
    "expression",
    [
        "repr(Sequence(Discrete(2), stack=True))",
        "Sequence(Box(0, 1)) == Sequence(Box(0, 1))",
        "Sequence(Box(0, 1)) == Sequence(Box(0, 2))",
        "Sequence(Box(0, 1)) == Sequence(Box(0, 1), stack=True)",
        "Sequence(Box(0, 1)) == 3",
        "hash(Sequence(Box(0, 1)))",
        "Sequence(Discrete(3)).to_jsonable([(1, 2), ()])",
        "Sequence(Discrete(3)).from_jsonable([[1, 2], []])",
        "Sequence(Dict(a=Discrete(3))).to_jsonable([({'a': 1},), ()])",
        "Sequence(Dict(a=Discrete(3)), stack=True).to_jsonable([{'a': np.array([2, 0])}])",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


@pytest.mark.parametrize("factory", STACKED_OTHERS, ids=label)
def test_stacks_of_other_things_than_arrays(factory):
    def run(spaces):
        space = factory(spaces)
        space.seed(5)
        samples = [space.sample() for _ in range(4)]
        return samples, [sample in space for sample in samples]

    assert_same_outcome(run)


@pytest.mark.parametrize("factory", STACKED_OTHERS, ids=label)
def test_json_of_stacks_that_gymnasium_loses(factory):
    import gymcore.spaces

    space = factory(gymcore.spaces)
    space.seed(5)
    samples = [space.sample() for _ in range(5)]
    assert_same(space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))), samples)
