"""Steps of some lanes through wrappers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import UnsupportedMode
from gymcore.vector import AutoresetMode, VectorWrapper
from gymcore.wrappers import vector as wrappers
from tests.testing_env import assert_same


def native(**kwargs: Any) -> Any:
    return gym.make_vec("CartPole-v1", num_envs=4, **kwargs)


class Passing(VectorWrapper):
    """A wrapper that overrides no stepping method."""


class Doubling(VectorWrapper):
    """A wrapper whose `step` takes `env_ids`."""

    @property
    def steps_some_lanes(self) -> bool:
        return self.env.steps_some_lanes

    def step(self, actions: Any, env_ids: Any = None) -> Any:
        call = self.env.step if env_ids is None else lambda a: self.env.step_lanes(a, env_ids)
        observations, rewards, *rest = call(actions)
        return observations, 2 * rewards, *rest


class Whole(VectorWrapper):
    """A wrapper that can only step all lanes."""

    def step(self, actions: Any) -> Any:
        return self.env.step(actions)


def test_engines_and_wrappers_that_pass_steps_on() -> None:
    plain = native()
    plain.reset(seed=1)
    expected = plain.step_lanes([1, 0], [3, 1])
    again = native()
    again.reset(seed=1)
    assert_same(again.step([1, 0], env_ids=[3, 1]), expected)
    for wrap in (Passing, lambda envs: Passing(Passing(envs))):
        envs = wrap(native())
        assert envs.steps_some_lanes
        envs.reset(seed=1)
        assert_same(envs.step_lanes([1, 0], np.array([3, 1])), expected)


def test_wrappers_that_take_env_ids() -> None:
    envs = Passing(Doubling(Passing(native())))
    assert envs.steps_some_lanes
    envs.reset(seed=1)
    assert envs.step_lanes([1, 0], [3, 1])[1].tolist() == [2.0, 2.0]


def test_wrappers_that_step_all_or_none() -> None:
    for envs in (Whole(native()), Passing(Whole(native())), Doubling(Whole(native()))):
        assert not envs.steps_some_lanes
        envs.reset(seed=1)
        with pytest.raises(UnsupportedMode, match="cannot step some of its environments"):
            envs.step_lanes([1], [0])
        envs.step([0] * 4)


def test_gyms_engine() -> None:
    envs = gym.vector.make("CartPole-v1", num_envs=4)
    assert envs.steps_some_lanes
    envs.reset(seed=1)
    infos: dict[str, Any] = {}
    while "final_obs" not in infos:
        infos = envs.step_lanes([1, 1], [0, 2])[4]
    assert infos["env_id"].tolist() == [0, 2]
    assert infos["final_observation"].shape == (2,)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda envs: wrappers.FrameStackObservation(envs, 3),
        lambda envs: wrappers.DelayObservation(envs, 2),
        lambda envs: wrappers.TimeAwareObservation(envs),
        lambda envs: wrappers.TimeLimit(envs, 6),
        lambda envs: wrappers.MaxAndSkipObservation(envs, 2),
        lambda envs: wrappers.RepeatAction(envs, 2),
        lambda envs: wrappers.StickyAction(envs, 0.5),
    ],
    ids=["stack", "delay", "time", "limit", "skip", "repeat", "sticky"],
)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lanes_one_after_another_equal_all_at_once(wrap: Any, mode: AutoresetMode) -> None:
    kwargs = {"vector_kwargs": {"autoreset_mode": mode}, "max_episode_steps": 9}
    whole, parts = wrap(native(**kwargs)), wrap(native(**kwargs))
    assert parts.steps_some_lanes
    assert_same(parts.reset(seed=2), whole.reset(seed=2))
    rng = np.random.default_rng(1)
    for step in range(30):
        actions = rng.integers(2, size=4)
        expected = whole.step(actions)
        for lanes in ([2, 0], [3], [1]):
            observations, *rest, infos = parts.step_lanes(actions[lanes], lanes)
            assert_same(observations, expected[0][lanes], f"step {step}")
            for one, other in zip(rest, expected[1:4], strict=True):
                assert_same(one, other[lanes], f"step {step}")
            assert infos["env_id"].tolist() == lanes
            if "final_obs" in infos:
                mask = infos["_final_obs"]
                assert_same(mask, expected[4]["_final_obs"][lanes])
                assert_same(infos["final_obs"][mask], expected[4]["final_obs"][lanes][mask])
