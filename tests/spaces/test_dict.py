"""Dictionaries of elements of several spaces."""

import types
from collections import OrderedDict, UserDict

import pytest

from gymcore import error
from gymcore.spaces import Dict, Discrete
from tests.spaces.parity import assert_same_outcome, assert_same_result

PAIRS = "{'b': Discrete(2), 'a': Discrete(3)}"


@pytest.mark.parametrize(
    "expression",
    [
        f"Dict({PAIRS})",
        f"Dict({PAIRS}, sort_keys=False)",
        f"Dict({PAIRS}, sort_keys=False, z=Discrete(2), c=Discrete(2))",
        f"Dict({PAIRS}, z=Discrete(2), c=Discrete(2))",
        f"Dict({PAIRS}.items().__iter__().__next__() and list({PAIRS}.items()))",
        f"Dict(tuple({PAIRS}.items()))",
        "Dict(b=Discrete(2), a=Box(0, 1))",
        "Dict({1: Discrete(2), 'a': Discrete(2)})",
        "Dict({'a': Discrete(2), 1: Discrete(2)})",
        "Dict({2: Discrete(2), 1: Discrete(2)})",
        "Dict({(2, 1): Discrete(2), (1, 2): Discrete(2)})",
        "Dict(Dict([('b', Discrete(2)), ('a', Discrete(3))]))",
        "Dict(Dict([('b', Discrete(2)), ('a', Discrete(3))]), sort_keys=False)",
        "Dict([('a', Discrete(2)), ('a', Discrete(3))])",
        "Dict()",
        "Dict(None, None)",
        "Dict({'seed': Discrete(2)})",
        f"Dict({PAIRS}, 3).sample()",
        f"Dict({PAIRS}, {{'a': 3, 'b': 4}}).sample()",
        "Dict({'b': {'y': Discrete(2)}})",
        "Dict({'a': 3})",
        "Dict({'a': Discrete})",
        "Dict(a=3)",
        "Dict({'a': Discrete(2)}, a=Discrete(2))",
        "Dict(3)",
        "Dict('ab')",
        "Dict([1, 2])",
        "Dict(seed=Discrete(2))",
        "Dict(spaces=Discrete(2))",
        f"Dict({PAIRS}, 3, False)",
        f"Dict({PAIRS}, seed='a')",
    ],
)
def test_constructor_does_what_gymnasiums_does(expression):
    assert_same_result(expression)


@pytest.mark.parametrize("kind", [OrderedDict, types.MappingProxyType, UserDict])
def test_other_mappings(kind):
    def run(spaces):
        content = kind({"b": spaces.Discrete(2), "a": spaces.Discrete(3)})
        space = spaces.Dict(content)
        return space, type(space.spaces), space.spaces is content

    assert_same_outcome(run)


@pytest.mark.parametrize(
    "seed",
    [
        "3",
        "2**40",
        "{'a': 3, 'b': 4}",
        "{'b': 3, 'a': 4}",
        "{'a': 3}",
        "{'a': 3, 'b': 4, 'c': 5}",
        "{}",
        "(1, 2)",
        "'a'",
        "1.5",
        "-1",
        "{'a': 1, 'b': 'x'}",
        "{'a': 1, 'b': -1}",
    ],
)
def test_seeds(seed):
    assert_same_result(f"Dict({PAIRS}).seed({seed})")


def test_seeds_follow_the_order_of_the_space():
    assert_same_result(f"Dict({PAIRS}, sort_keys=False).seed(3)")
    assert_same_result(f"Dict({PAIRS}, sort_keys=False, seed=3).sample()")


def test_seeds_of_all_kinds_of_subspaces():
    space = (
        "Dict(x=Dict(a=Discrete(2), b=Discrete(3)), y=Tuple([Discrete(2)]), w=Sequence(Box(0, 1)),"
        "z=Graph(Box(0, 1), Discrete(3)), v=OneOf([Discrete(2), Box(0, 1)]))"
    )
    full = "{'x': {'a': 1, 'b': 2}, 'y': (3,), 'z': (1, 2, 3), 'w': (1, 2), 'v': (1, 2, 3)}"
    for seed in ("3", full, "{'x': 1, 'y': 3, 'z': 4, 'w': 2, 'v': 3}"):
        assert_same_result(f"{space}.seed({seed})")


def test_fresh_entropy_and_refused_seeds():
    space = Dict(a=Discrete(1000), b=Discrete(1000))
    assert len({*space.seed().values(), *space.seed().values()}) == 4
    before = [sub.np_random for sub in space.values()]
    with pytest.raises(error.Error, match="actual value: -1"):
        space.seed({"a": 5, "b": -1})
    assert [sub.np_random for sub in space.values()] == before


@pytest.mark.parametrize(
    "value",
    [
        "{'b': 1, 'a': 2}",
        "{'a': 2, 'b': 1}",
        "{'b': 1}",
        "{'b': 1, 'a': 2, 'c': 3}",
        "{'b': 7, 'a': 2}",
        "None",
        "3",
        "[('b', 1), ('a', 2)]",
        "'ab'",
        "'a'",
    ],
)
def test_contains_gives_gymnasiums_verdict(value):
    assert_same_result(f"{value} in Dict({PAIRS})")


def test_only_dicts_are_elements():
    space = Dict(a=Discrete(2))
    assert OrderedDict(a=1) in space
    assert UserDict(a=1) not in space
    assert types.MappingProxyType({"a": 1}) not in space


@pytest.mark.parametrize(
    "expression",
    [
        "len(d)",
        "d['a']",
        "list(d)",
        "list(d.keys())",
        "list(d.values())",
        "d.get('zz')",
        "d['zz']",
        "d[0]",
        "'a' in d.keys()",
        "'zz' in d.keys()",
        "d.keys() == {'a', 'b'}",
        "Discrete(2) in d.values()",
        "('b', Discrete(2)) in d.items()",
        "dict(d)",
        "{**d}",
    ],
)
def test_it_is_a_mapping_of_its_subspaces(expression):
    assert_same_result(f"[{expression} for d in [Dict({PAIRS})]]")


def test_subspaces_can_be_set():
    def run(spaces):
        space = spaces.Dict(b=spaces.Discrete(2))
        space["a"] = spaces.Discrete(3)
        space["b"] = spaces.Discrete(4)
        return space, list(space.sample())

    assert_same_outcome(run)
    with pytest.raises(error.ArgumentTypeError, match=r"not a gymcore space, actual type: .*int"):
        Dict()["a"] = 3


@pytest.mark.parametrize(
    "mask",
    [
        "{'a': None, 'b': None}",
        "{'b': i8(0, 1), 'a': None}",
        "{'b': i8(0, 1)}",
        "{'b': i8(0, 1), 'a': None, 'c': 3}",
        "{'a': 3, 'b': None}",
        "{}",
        "3",
        "(3, None)",
    ],
)
def test_masked_samples(mask):
    space = f"Dict({PAIRS}, seed=i)"
    assert_same_result(f"[{space}.sample(mask={mask}) for i in range(5)]")
    weights = mask.replace("i8", "f8")
    assert_same_result(f"[{space}.sample(probability={weights}) for i in range(5)]")
    assert_same_result(f"Dict({PAIRS}).sample(mask={mask}, probability={mask})")


@pytest.mark.parametrize(
    "expression",
    [
        "repr(Dict({1: Discrete(2), 'a': Box(0, 1)}))",
        f"Dict({PAIRS}) == Dict(b=Discrete(2), a=Discrete(3))",
        f"Dict({PAIRS}) == Dict(b=Discrete(2), a=Discrete(4))",
        f"Dict({PAIRS}) == {PAIRS}",
        "hash(Dict())",
        "Dict(a=Sequence(Discrete(2))).is_np_flattenable",
        f"Dict({PAIRS}).to_jsonable([{{'a': 1, 'b': 0}}, {{'a': 2, 'b': 1}}])",
        f"Dict({PAIRS}).to_jsonable([])",
        f"Dict({PAIRS}).from_jsonable({{'a': [1, 2], 'b': [0, 1], 'c': 3}})",
        f"Dict({PAIRS}).from_jsonable({{'a': [1]}})",
        "Dict().to_jsonable([{}])",
    ],
)
def test_other_methods(expression):
    assert_same_result(expression)


def test_json_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError):
        Dict(a=Discrete(3), b=Discrete(2)).from_jsonable({"a": [1], "b": [0, 1]})
    assert Dict().from_jsonable({}) == []
