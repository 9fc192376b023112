"""Exploration bonuses equal those of minigrid's wrappers, lane by lane."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.envs.minigrid.wrappers import ActionBonus, PositionBonus

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("minigrid")
    from minigrid import wrappers

ENV_ID = "MiniGrid-Dynamic-Obstacles-5x5-v0"  # its episodes are short
BONUSES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "action": (ActionBonus, wrappers.ActionBonus, {}),
    "position": (PositionBonus, wrappers.PositionBonus, {}),
    "scaled position": (PositionBonus, wrappers.PositionBonus, {"scale": 0.25}),
}


def pair(bonus: str, num_envs: int, mode: str) -> tuple[Any, list[Any]]:
    ours, theirs, arguments = BONUSES[bonus]
    options = {"autoreset_mode": mode}
    envs = ours(gym.make_vec(ENV_ID, num_envs=num_envs, vector_kwargs=options), **arguments)
    make = lambda: gymnasium.make(ENV_ID, disable_env_checker=True)  # noqa: E731
    singles = [theirs(make(), **arguments) for _ in range(num_envs)]
    envs.reset(seed=3)
    for i, single in enumerate(singles):
        single.reset(seed=3 + i)
    return envs, singles


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
@pytest.mark.parametrize("bonus", BONUSES)
def test_bonuses_of_all_lanes(bonus: str, mode: str) -> None:
    envs, singles = pair(bonus, 4, mode)
    ended, episodes = np.zeros(4, np.bool_), 0
    rng = np.random.default_rng(2)
    for _ in range(150):
        if mode == "Disabled" and ended.any():
            envs.reset(options={"reset_mask": ended})
            _ = [single.reset() for single, end in zip(singles, ended, strict=True) if end]
            ended[:] = False
        actions = rng.integers(0, 3, 4)
        _, rewards, terminated, truncated, _ = envs.step(actions)
        for i, single in enumerate(singles):
            if ended[i]:
                single.reset()
                assert rewards[i] == 0.0
            else:
                assert rewards[i] == pytest.approx(single.step(int(actions[i]))[1], abs=1e-15)
        ended = terminated | truncated
        episodes += ended.sum()
    assert episodes > 20


@pytest.mark.parametrize("bonus", BONUSES)
def test_bonuses_of_some_lanes(bonus: str) -> None:
    envs, singles = pair(bonus, 3, "NextStep")
    rng = np.random.default_rng(2)
    for _ in range(6):
        actions = rng.integers(0, 2, 2)  # turns, which end no episode
        rewards = envs.step_lanes(actions, [2, 0])[1]
        expected = [
            singles[i].step(int(action))[1] for i, action in zip((2, 0), actions, strict=True)
        ]
        assert rewards == pytest.approx(expected)
    assert envs.counts.sum(axis=tuple(range(1, envs.counts.ndim))).tolist() == [6, 0, 6]


@pytest.mark.parametrize("wrapper", [ActionBonus, PositionBonus])
def test_what_has_no_bonus(wrapper: Any) -> None:
    with pytest.raises(error.ArgumentTypeError, match="expected a batch of MiniGrid's levels"):
        wrapper(gym.make_vec("CartPole-v1", num_envs=2))
    options = {"autoreset_mode": "SameStep"}
    envs = gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=2, vector_kwargs=options)
    with pytest.raises(error.UnsupportedMode, match="same-step autoreset hides"):
        wrapper(envs)
