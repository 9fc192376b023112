"""Spaces as specifications and back, with their values."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore.environment.space_specs import space_of_spec, spec_of_space
from gymcore.environment.value_specs import check_values, checked_spec
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)
from gymcore.spaces.batching import batch_space
from tests.testing_env import assert_same

SPACES = [
    Discrete(3),
    Discrete(3, start=-1),
    MultiBinary(4),
    MultiBinary((2, 3)),
    MultiDiscrete([3, 3]),
    MultiDiscrete([2, 3, 4]),
    MultiDiscrete(np.arange(2, 14)),
    MultiDiscrete([[2, 3], [4, 5]], start=[[1, 2], [3, 4]]),
    MultiDiscrete([3, 3], start=[1, 2]),
    Box(-1, 1, (3,)),
    Box(np.array([0, -1]), np.array([1, 5]), dtype=np.float64),
    Box(0, 255, (2, 2, 3), np.uint8),
    Tuple([Discrete(2), Box(0, 1)]),
    Dict({"a": Discrete(2), "type": MultiBinary(2), "type_": Discrete(3), "x/y": Discrete(2)}),
    Dict({"a": Dict({"b": Tuple([Discrete(2, start=5)])}), "c": MultiDiscrete([2, 3])}),
]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("kind", ["states", "actions"])
def test_values_go_there_and_back(space, kind):
    spec, to_values, from_values = spec_of_space(space, kind)
    full = checked_spec(spec, kind)
    assert_same(full, spec)
    space.seed(1)
    for _ in range(20):
        element = space.sample()
        values = to_values(element)
        check_values(values, full, kind)
        again = from_values(values)
        assert again in space
        assert_same(again, element)


@pytest.mark.parametrize("space", SPACES)
def test_batches_go_there_and_back(space):
    spec, to_values, from_values = spec_of_space(space, "states")
    batched = batch_space(space, 5)
    batched.seed(1)
    batch = batched.sample()
    values = to_values(batch)
    check_values(values, checked_spec(spec, "states"), "states", 5)
    assert_same(from_values(values), batch)


@pytest.mark.parametrize("space", SPACES)
def test_a_space_of_its_own_specification(space):
    spec, to_values, _ = spec_of_space(space, "states")
    found = space_of_spec(spec)
    space.seed(1)
    for _ in range(5):
        values = to_values(space.sample())
        element = found.to_element(values)
        assert element in found.space
        assert_same(spec_of_space(found.space, "states").spec.keys(), spec.keys())
        back = found.from_element(element)
        check_values(back, spec, "states")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([0, 0], [1, 1], {"min_value": 0.0, "max_value": 1.0}),
        ([-np.inf] * 2, [np.inf] * 2, {}),
        ([-1e6] * 2, [3] * 2, {"max_value": 3.0}),
        ([0, 1], [2, 2], {"min_value": [0.0, 1.0], "max_value": 2.0}),
        ([0, -np.inf], [2, 1e9], {"min_value": [0.0, -np.inf], "max_value": [2.0, np.inf]}),
    ],
)
def test_bounds_of_a_box(low, high, expected):
    box = Box(np.array(low), np.array(high), dtype=np.float64)
    spec = spec_of_space(box, "states").spec
    assert spec.pop("type") == "float" and spec.pop("shape") == (2,)
    assert {name: np.asarray(bound).tolist() for name, bound in spec.items()} == expected


def test_bounds_of_actions_are_all_finite_or_all_infinite():
    box = Box(np.array([0, -np.inf]), np.array([1, 1]), dtype=np.float64)
    with pytest.raises(InvalidArgument, match="finite or all infinite"):
        spec_of_space(box, "actions")


def test_masks_are_no_part_of_the_specification_of_states():
    space = Dict({"observation": Discrete(3), "action_mask": MultiBinary(2)})
    spec, to_values, _ = spec_of_space(space, "states")
    assert list(spec) == ["observation"]
    values = to_values({"observation": 1, "action_mask": np.array([1, 0], np.int8)})
    assert values["action_mask"].tolist() == [True, False]
    check_values(values, spec, "states")


@pytest.mark.parametrize(
    "space", [Sequence(Text(3)), Graph(Discrete(2), None), Dict({"a": Sequence(Text(2))})]
)
def test_spaces_without_a_specification(space):
    with pytest.raises(ArgumentTypeError, match=r"states\(\): expected a space of Discrete"):
        spec_of_space(space, "states")


def test_texts_are_numbers_of_characters():
    spec, to_values, from_values = spec_of_space(Text(3, charset="abc"), "states")
    assert spec == {"type": "int", "shape": (3,), "num_states": 4, "num_values": 4}
    check_values(to_values("cab"), spec, "states")
    assert to_values("b").tolist() == [1, 3, 3]
    assert to_values(("b", "ca")).tolist() == [[1, 3, 3], [2, 0, 3]]
    assert from_values([1, 3, 3]) == "b"
    assert from_values(np.array([[1, 3, 3], [2, 0, 3]])) == ("b", "ca")


def test_spaces_without_components():
    for space in (Tuple([]), Dict({})):
        with pytest.raises(InvalidArgument, match="with components"):
            spec_of_space(space, "states")


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        ({"type": "bool"}, MultiBinary(1)),
        ({"type": "int", "num_values": 4}, Discrete(4)),
        ({"type": "int", "shape": 2, "num_values": 4}, MultiDiscrete([4, 4])),
        ({"type": "float", "shape": 2, "min_value": 0}, Box(0, np.inf, (2,))),
        ({"type": "int", "min_value": 0, "max_value": 5}, Box(0, 5, (), np.int64)),
        (
            {"type": "float", "shape": (2, 2), "min_value": [0, 1], "max_value": 3.0},
            Box(np.array([[0, 0], [1, 1]], np.float32), np.full((2, 2), 3.0, np.float32)),
        ),
        ({"a": {"type": "bool", "shape": 3}}, Dict({"a": MultiBinary((3,))})),
    ],
)
def test_spaces_of_specifications(spec, space):
    assert space_of_spec(checked_spec(spec, "states")).space == space


def test_unbounded_integers():
    space = space_of_spec(checked_spec({"type": "int"}, "states")).space
    assert np.int64(2**63 - 1) in space and np.array(-(2**63)) in space
