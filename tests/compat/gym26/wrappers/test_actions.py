"""Action and reward wrappers of Gym 0.26."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore import spaces
from gymcore.compat.gym26.wrappers import ClipAction, RescaleAction, TransformReward
from tests.compat.gym26.scripted import Scripted


def test_clipped_actions() -> None:
    env = ClipAction(Scripted([0.0] * 3))
    assert env.action_space == spaces.Box(-2.0, 2.0, (2,), np.float32)  # unchanged
    env.reset()
    given = np.array([-5.0, 1.5], np.float32)
    env.step(given)
    env.step([3, 0])
    assert [a.tolist() for a in env.actions] == [[-2.0, 1.5], [2.0, 0.0]]
    assert {a.dtype for a in env.actions} == {np.dtype(np.float32)}
    assert given.tolist() == [-5.0, 1.5]


def test_rescaled_actions() -> None:
    space = spaces.Box(np.float32([-2.0, 0.0]), np.float32([2.0, 8.0]))
    env = RescaleAction(Scripted([0.0] * 5, action_space=space), min_action=-1, max_action=1)
    assert env.action_space == spaces.Box(-1.0, 1.0, (2,), np.float32)
    env.reset()
    for action in ([-1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [0.5, -0.5]):
        env.step(np.array(action, np.float32))
    assert [a.tolist() for a in env.actions] == [[-2, 0], [0, 4], [2, 8], [1, 2]]
    with pytest.raises(AssertionError, match=r"action: expected values in"):
        env.step(np.array([1.1, 0.0], np.float32))
    assert len(env.actions) == 4


def test_rounding_stays_inside() -> None:
    space = spaces.Box(-0.1, 0.3, (1,), np.float32)
    env = RescaleAction(Scripted(action_space=space), np.float32([-0.7]), np.float32([0.9]))
    for action in np.linspace(-0.7, 0.9, 1001, dtype=np.float32):
        assert env.action(np.array([action])) in space


def test_bounds_of_each_component() -> None:
    env = RescaleAction(Scripted(), np.array([0.0, -1.0]), np.array([1.0, 3.0]))
    assert env.action(np.array([0.5, 1.0], np.float32)).tolist() == [0.0, 0.0]
    assert env.min_action.dtype == np.float32


@pytest.mark.parametrize("wrap", [ClipAction, lambda env: RescaleAction(env, 0, 1)])
def test_actions_without_bounds(wrap: Any) -> None:
    with pytest.raises(AssertionError, match="expected a Box action space, got Discrete"):
        wrap(Scripted(action_space=spaces.Discrete(2)))


def test_wrong_bounds() -> None:
    with pytest.raises(AssertionError, match="min_action: expected at most max_action"):
        RescaleAction(Scripted(), 1, 0)


def test_transformed_rewards() -> None:
    env = TransformReward(Scripted([1.0, 2.0]), f=lambda reward: 10 * reward)
    env.reset()
    assert [env.step(None)[1] for _ in range(2)] == [10.0, 20.0]
    assert env.secret == "found"
    with pytest.raises(AssertionError, match="f: expected a function, got 3"):
        TransformReward(Scripted(), 3)
