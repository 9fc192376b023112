"""Subclasses that override what Gymnasium's steps call: asked, or refused when they are defined."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from tests.for_each import for_each
from tests.testing_env import assert_same

OBSERVERS = {"Pendulum-v1": "_get_obs", "Acrobot-v1": "_get_ob", "Blackjack-v1": "_get_obs"}
REFUSED = {
    "Acrobot-v1": "_terminal",
    "BipedalWalker-v3": "_generate_terrain",
    "CliffWalking-v1": "_limit_coordinates",
    "Taxi-v4": "_pickup",
}


def subclass(gym: Any, env_id: str, **members: Any) -> type:
    return type("Mine", (type(gym.make(env_id).unwrapped),), members)


@for_each("env_id", list(OBSERVERS))
def test_a_subclass_may_observe(env_id: str) -> None:
    results: list[Any] = []
    for gym in (gymcore, gymnasium):
        name = OBSERVERS[env_id]
        base = type(gym.make(env_id).unwrapped)

        def observe(self: Any, base: Any = base, name: str = name) -> Any:
            return np.array([*getattr(base, name)(self)[:-1], 7.0])

        env = subclass(gym, env_id, **{name: observe})()
        action = env.action_space
        action.seed(1)
        results.append([env.reset(seed=1)[0], *(env.step(action.sample())[0] for _ in range(2))])
    for ours, theirs in zip(*results, strict=True):
        assert ours[-1] == 7.0
        assert_same(ours.shape, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@for_each("env_id", list(REFUSED))
def test_what_compiled_steps_never_call_is_refused(env_id: str) -> None:
    name = REFUSED[env_id]
    with pytest.raises(error.Error, match=rf"Mine\.{name}: the compiled step never calls it"):
        subclass(gymcore, env_id, **{name: lambda self: None})

    def step(self: Any, action: Any) -> Any:
        return 0, 0.0, False, False, {}

    env = subclass(gymcore, env_id, **{name: lambda self: None, "step": step})()
    env.reset(seed=1)
    assert env.step(0)[0] == 0
