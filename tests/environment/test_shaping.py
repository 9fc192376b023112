"""Expressions that shape rewards: their results, and the limits on what they can reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gymcore.environment.shaping import parse_expression
from gymcore.error import ArgumentTypeError, InvalidArgument

VARIABLES = {
    "states": {"x": np.array([1.0, -2.0, 3.0])},
    "actions": 1,
    "terminal": 2,
    "reward": 0.5,
    "next_states": np.array([[1.0, 2.0], [3.0, 4.0]]),
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("reward", 0.5),
        ("  reward * 2 - 1", 0.0),
        ("-reward + +1", 0.5),
        ("reward ** 2", 0.25),
        ("7 // 2 + 7 % 4", 6),
        ("states['x'][1]", -2.0),
        ("abs(states['x'][-2]) + len(states['x'])", 5.0),
        ("sum(states['x'][0:2])", -1.0),
        ("next_states[1, 0] + next_states[0][1]", 5.0),
        ("next_states[:, 1][::-1][0]", 4.0),
        ("1 if terminal == 1 else 2 if terminal == 2 else 3", 2),
        ("0 < reward < 1", True),
        ("0 < reward < 0.25", False),
        ("not terminal", False),
        ("reward > 1 or actions == 1", True),
        ("reward > 1 and 1 / 0", False),
        ("min(reward, 0.25) + max(1, 2, 3)", 3.25),
        ("math.exp(0) + math.pi", 1 + math.pi),
        ("np.sum(np.square(states['x']))", 14.0),
        ("np.where(terminal == 2, 1, 0)", 1),
        ("0 <= random.random() < 1", True),
        ("float(True) + int(2.5) + round(1.6) + bool(3)", 6.0),
        ("(reward, 1)", (0.5, 1)),
    ],
)
def test_values(expression, expected):
    assert parse_expression(expression)(VARIABLES) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "reward +",
        "reward = 1",
        "__import__('os').system('true')",
        "().__class__.__bases__[0].__subclasses__()",
        "reward.__class__",
        "states.tofile('x')",
        "np.load('x')",
        "np.random.seed(0)",
        "np.zeros(10)",
        "math.factorial(100000)",
        "math",
        "np.exp",
        "abs",
        "open('x')",
        "print(1)",
        "getattr(reward, 'x')",
        "[0] * 10",
        "[x for x in states]",
        "(x for x in states)",
        "{1: 2}",
        "lambda: 0",
        "(lambda: 0)()",
        "'text'",
        "'a' * 1000000000",
        "f'{reward}'",
        "b'x'",
        "None",
        "1j",
        "x := 1",
        "(y := 1)",
        "reward is None",
        "reward in states",
        "reward << 100",
        "~actions",
        "states @ states",
        "np.sum(states, axis=0)",
        "max(*states)",
        "await reward",
        "(1, 2, 3)",
        "(reward, (0, 1))",
        "1" * 20_000,
        "-" * 9_000 + "1",
        "np.sum(np.exp(states, next_states))",
        "np.max(states, 0, next_states)",
        "np.clip(states, 0, 1, states)",
        "np.where(next_states)",
        "np.exp()",
        "next_states[:, True]",
        "reward\nreward",
        "reward\0",
    ],
)
def test_refused(expression):
    with pytest.raises(InvalidArgument, match="reward_shaping"):
        parse_expression(expression)


def test_numbers_cannot_grow_without_bound():
    assert parse_expression("10 ** 10 ** 10 > 1")(VARIABLES)  # inf, at once
    with pytest.raises(InvalidArgument, match="int too large"):
        parse_expression("9" * 400)
    assert parse_expression("2 ** 0.5")(VARIABLES) == math.sqrt(2)


@pytest.mark.parametrize(
    "expression",
    [
        "round(1, -1000000000)",
        "np.round(1, -1000000000)",
        "sum(np.diff(next_states, 30000000))",
        "next_states[indices][:, :, indices]".replace("indices", "states['i']"),
        "next_states[states['i']] * next_states[:, 0 < 1]",
        "np.dot(next_states[:, 0 < 1], next_states[0 < 1])",
        "np.where(next_states[:, 0 < 1], next_states, 0)",
        "next_states[:, 0 < 1] < next_states",
        "random.uniform(next_states[:, 0 < 1], next_states)",
        "random.gauss(next_states[:, 0 < 1], next_states)",
        "sum(next_states, next_states)",
        "sum(next_states[0 < 1], next_states[:, 0 < 1])",
        "max(next_states[:, 0 < 1], next_states)",
        "min(next_states, next_states[:, 0 < 1])",
        "next_states[:, 0 < 1][next_states > -1, np.cumsum(next_states[:, 0 < 1] < 0, 1)]",
        "next_states[0 < 1][np.cumsum(next_states[:, 0 < 1] < 0, 1), next_states > -1]",
        "states['text'] * 1000000000",
        "states * 2",
    ],
)
def test_values_cannot_grow_without_bound(expression):
    variables = {
        "states": {"i": np.zeros(500, np.int64), "text": "x"},
        "next_states": np.arange(500.0),
    }
    with pytest.raises(InvalidArgument, match=r"reward_shaping: .*expected"):
        parse_expression(expression)(variables)


def test_integers_of_more_than_64_bits_are_floats():
    assert parse_expression("int(1e300) * int(1e300)")(VARIABLES) == math.inf
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert parse_expression("np.power(int(1e300), int(1e300))")(VARIABLES) == math.inf
    assert parse_expression("2 ** 62 * 1 + int(2 ** 40)")(VARIABLES) == 2**62 + 2**40


def test_lists_are_added_by_element():
    assert parse_expression("max(states['x'] + states['x'])")({"states": {"x": [1, 2]}}) == 4


def test_an_expression_is_a_string():
    with pytest.raises(ArgumentTypeError, match="expected a string, got <class 'int'>"):
        parse_expression(3)


def test_what_fails_in_an_expression_names_it():
    with pytest.raises(InvalidArgument, match=r"states\['y'\] failed: KeyError: 'y'") as caught:
        parse_expression("states['y']")(VARIABLES)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(InvalidArgument, match="1 / 0 failed: ZeroDivisionError: "):
        parse_expression("1 / 0")(VARIABLES)


def test_a_number_is_not_called():
    with pytest.raises(InvalidArgument, match=r"expected a function, got 'np\.e'"):
        parse_expression("np.e(1)")
