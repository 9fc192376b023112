"""The check that all environments have the spaces of the first one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gymcore.error import SpaceMismatch
from gymcore.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Text, Tuple
from gymcore.vector.engine_options import check_equal_spaces, check_equivalent_spaces


def nested(high=1.0, n=3, key="c"):
    return Dict({"a": Tuple([Discrete(n), Box(0, high, (2,))]), key: MultiDiscrete([2, 3])})


def test_the_space_itself_is_not_compared():
    class Odd(Discrete):
        def __eq__(self, other):
            raise AssertionError("compared")

        __hash__ = None

    space = Odd(3)
    check_equal_spaces("action", space, [space, space], "SyncVectorEnv")


def message(wanted, spaces, kind="observation"):
    with pytest.raises(SpaceMismatch) as caught:
        check_equal_spaces(kind, wanted, spaces, "SyncVectorEnv")
    return str(caught.value)


def test_spaces_that_are_equal_pass():
    check_equal_spaces("action", nested(), [nested() for _ in range(4)], "SyncVectorEnv")
    check_equivalent_spaces(nested(), [nested(high=2), nested(n=9)], "SyncVectorEnv")


@pytest.mark.parametrize(
    ("wanted", "odd", "words"),
    [
        (Box(0, 1, (2,)), Box(0, 1, (3,)), "shape (3,) instead of (2,)"),
        (Box(0, 1, (2,)), Box(0, 1, (2,), np.float64), "dtype float64 instead of float32"),
        (nested(), nested(key="d"), "without .c"),
        (
            nested(),
            nested(high=2),
            ".a.1: Box(0.0, 2.0, (2,), float32) instead of Box(0.0, 1.0, (2,), float32)",
        ),
        (nested(), nested(n=4), ".a.0: Discrete(4) instead of Discrete(3)"),
        (Tuple([Text(2)]), Tuple([]), "without .0"),
        (MultiBinary(2), MultiBinary(3), "shape (3,) instead of (2,)"),
    ],
)
def test_the_message_names_the_environment_and_the_difference(wanted, odd, words):
    text = message(wanted, [wanted, odd, wanted])
    assert text.startswith(f"Some environments have an observation space different from `{wanted}`")
    assert f"env 1 has {odd} ({words})." in text
    assert "env 0" not in text
    assert "env 2" not in text


@pytest.mark.parametrize(
    ("wanted", "odd"),
    [
        (Discrete(2), Discrete(3)),
        (Graph(Discrete(2), None), Graph(Discrete(3), None)),
        (Box(0, 1, (2,)), Box(-1, 2, (2,))),
        (Box(0, 1, (2,)), Discrete(2)),
    ],
)
def test_a_difference_that_the_spaces_show_is_not_said_again(wanted, odd):
    assert f"env 0 has {odd}." in message(wanted, [odd], "action")


def test_many_odd_environments_are_counted():
    text = message(Discrete(2), [Discrete(2 + i % 3) for i in range(512)])
    assert "env 1 has Discrete(3), env 2 has Discrete(4), env 4 has Discrete(3), " in text
    assert re.search(r"and 336 more\. SyncVectorEnv", text)


def test_a_difference_that_is_allowed_is_not_named():
    wanted = Dict(a=Box(0, 1, (2,)), b=Box(0, 1, (2,)))
    odd = Dict(a=Box(0, 5, (2,)), b=Box(0, 1, (3,)))
    with pytest.raises(SpaceMismatch, match=r"env 1 has .* \(\.b: shape \(3,\) instead of"):
        check_equivalent_spaces(wanted, [wanted, odd], "SyncVectorEnv")
