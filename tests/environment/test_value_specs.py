"""Specifications of states and actions: their full form, and the values that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore.environment.value_specs import check_values, checked_spec, leaves
from gymcore.error import ArgumentTypeError, InvalidArgument


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"shape": 3}, {"type": "float", "shape": (3,)}),
        ({"type": "bool"}, {"type": "bool", "shape": ()}),
        ({"type": np.float32, "shape": [2, 3]}, {"type": "float", "shape": (2, 3)}),
        ({"type": np.uint8, "shape": ()}, {"type": "int", "shape": ()}),
        ({"type": bool, "shape": np.int64(2)}, {"type": "bool", "shape": (2,)}),
        (
            {"type": "int", "num_states": 4},
            {"type": "int", "shape": (), "num_states": 4, "num_values": 4},
        ),
        (
            {"type": "int", "num_values": np.int8(4), "num_actions": 4},
            {"type": "int", "shape": (), "num_states": 4, "num_values": 4},
        ),
        (
            {"type": "float", "min_value": -1, "max_value": 2.5},
            {"type": "float", "shape": (), "min_value": -1, "max_value": 2.5},
        ),
        ({"a": {"b": {"type": "bool"}}}, {"a": {"b": {"type": "bool", "shape": ()}}}),
    ],
)
def test_full_form(spec, expected):
    found = checked_spec(spec, "states")
    assert found == expected
    assert checked_spec(found, "states") == found


def test_counts_of_actions_have_the_name_of_actions():
    assert checked_spec({"type": "int", "num_states": 2}, "actions") == {
        "type": "int",
        "shape": (),
        "num_actions": 2,
        "num_values": 2,
    }


def test_bounds_may_have_the_first_axes_of_the_shape():
    spec = {"type": "float", "shape": (2, 3), "min_value": [0, 1], "max_value": 5}
    assert checked_spec(spec, "states")["min_value"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "got an empty dict"),
        ({"type": "text"}, "type: expected 'bool', 'int' or 'float', got 'text'"),
        ({"type": complex}, "type: expected"),
        ({"type": "float", "shape": (2, 0)}, r"shape: expected axes of at least 1, got \(2, 0\)"),
        ({"type": "float", "size": 2}, r"got \['size'\]"),
        ({"type": "float", "num_values": 2}, "num_values: expected only with type 'int'"),
        ({"type": "int", "num_values": 0}, "num_values: expected at least 1, got 0"),
        ({"type": "int", "num_values": 2, "num_states": 3}, "expected one number of values"),
        ({"type": "int", "num_values": 2, "min_value": 0}, "expected one number of values"),
        ({"type": "bool", "max_value": 1}, "expected no bounds for type 'bool'"),
        ({"type": "float", "min_value": 1.0, "max_value": 1.0}, "expected min_value below"),
        ({"type": "float", "min_value": np.nan}, "min_value: expected numbers, got nan"),
        (
            {"type": "float", "shape": (2,), "min_value": [1, 2, 3]},
            "min_value: expected a prefix of shape",
        ),
        ({"a/b": {"type": "int"}}, "got 'a/b'"),
        ({"": {"type": "int"}}, "got ''"),
        ({"reward": {"type": "int"}}, "got 'reward'"),
        ({"a": {"b": {"type": "text"}}}, "component 'a/b': type"),
    ],
)
def test_impossible_values(spec, message):
    with pytest.raises(InvalidArgument, match=message):
        checked_spec(spec, "states")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (3, r"states\(\): expected a dict, got 3"),
        ({"a": 3}, "component 'a': expected a dict"),
        ({1: {"type": "int"}}, "expected component names, got 1"),
        ({"type": "int", "shape": 2.5}, "shape: expected integers, got 2.5"),
        ({"type": "int", "num_values": 2.0}, "num_values: expected an integer, got 2.0"),
        ({"type": "float", "min_value": "low"}, "min_value: expected numbers, got 'low'"),
    ],
)
def test_wrong_types(spec, message):
    with pytest.raises(ArgumentTypeError, match=message):
        checked_spec(spec, "states")


def test_an_action_has_a_type():
    with pytest.raises(InvalidArgument, match=r"actions\(\): expected a type"):
        checked_spec({"shape": ()}, "actions")


def test_leaves():
    spec = checked_spec({"a": {"b": {"type": "int"}}, "c": {"type": "bool"}}, "states")
    assert [path for path, _ in leaves(spec)] == ["a/b", "c"]
    assert [path for path, _ in leaves(spec["c"])] == [""]


SPEC = checked_spec({"x": {"type": "float", "shape": 2}, "y": {"z": {"type": "bool"}}}, "states")


@pytest.mark.parametrize(
    ("values", "num"),
    [
        ({"x": [0.0, 1.0], "y": {"z": True}}, None),
        ({"x": [0, 1], "y": {"z": np.True_}, "a_mask": [True]}, None),
        ({"x": np.zeros((3, 2)), "y": {"z": np.zeros(3, bool)}}, 3),
    ],
)
def test_good_values(values, num):
    check_values(values, SPEC, "states", num)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1], "states: expected a dict of"),
        ({"x": [0.0, 1.0]}, r"states: expected \['x', 'y'\], got \['x'\]"),
        ({"x": [0.0, 1.0], "y": {"z": True}, "v": 0}, r"got \['v', 'x', 'y'\]"),
        ({"x": [0.0], "y": {"z": True}}, r"states of 'x': expected shape \(2,\), got \(1,\)"),
        ({"x": [True, False], "y": {"z": True}}, "states of 'x': expected values of type 'float'"),
        ({"x": [0.0, 1.0], "y": {"z": 1}}, "states of 'y/z': expected values of type 'bool'"),
        ({"x": [0.0, 1.0], "y": True}, "states of 'y': expected a dict"),
    ],
)
def test_bad_values(values, message):
    with pytest.raises(InvalidArgument, match=message):
        check_values(values, SPEC, "states")


def test_masks_stand_beside_a_single_state_and_not_among_actions():
    spec = checked_spec({"type": "int", "num_values": 3}, "states")
    check_values({"state": 2, "action_mask": [True, False]}, spec, "states")
    actions = checked_spec({"x": {"type": "bool"}}, "actions")
    with pytest.raises(InvalidArgument, match="actions: expected"):
        check_values({"x": True, "x_mask": True}, actions, "actions")
