"""Vector wrappers that take an action more than once equal the single wrappers in each lane."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import InvalidAction, InvalidProbability, UnsupportedMode
from gymcore.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import RepeatAction, StickyAction
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.walk_env import make_walk_env

modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
Walk = make_walk_env(gym)


@in_modes("kind", ["box", "discrete", "dict", "text"])
def test_repeat(kind: str, mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: RepeatAction(envs, 3),
        lambda env: gym.wrappers.RepeatAction(env, 3),
        lambda: Walk(kind),
        mode=mode,
        steps=15,
    )


@in_modes("action_kind", ["box", "dict"])
def test_repeat_other_actions(action_kind: str, mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: RepeatAction(envs, 5),
        lambda env: gym.wrappers.RepeatAction(env, 5),
        lambda: Walk("box", action_kind),
        mode=mode,
        steps=15,
    )


@modes
def test_repeat_of_repeats(mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: RepeatAction(RepeatAction(envs, 2), 2),
        lambda env: gym.wrappers.RepeatAction(gym.wrappers.RepeatAction(env, 2), 2),
        mode=mode,
        steps=18,
    )


@in_modes("action_kind, duration", [("discrete", 1), ("dict", (2, 4)), ("text", 2)])
def test_sticky(action_kind: str, duration: Any, mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: StickyAction(envs, 0.4, duration),
        lambda env: gym.wrappers.StickyAction(env, 0.4, duration),
        lambda: Walk("box", action_kind),
        mode=mode,
        steps=24,
    )


@modes
def test_sticky_within_repeats(mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: RepeatAction(StickyAction(envs, 0.5, 2), 3),
        lambda env: gym.wrappers.RepeatAction(gym.wrappers.StickyAction(env, 0.5, 2), 3),
        mode=mode,
        steps=18,
    )


@in_modes(
    "id, name, args",
    [
        ("CartPole-v1", "RepeatAction", (4,)),
        ("Pendulum-v1", "RepeatAction", (4,)),
        ("CartPole-v1", "StickyAction", (0.5, (1, 3))),
        ("Pendulum-v1", "StickyAction", (0.5, (1, 3))),
    ],
)
def test_native_equals_single_lanes(
    id: str, name: str, args: tuple[Any, ...], mode: AutoresetMode
) -> None:
    kwargs = {"max_episode_steps": 11}
    engine = gym.make_vec(id, 5, vector_kwargs={"autoreset_mode": mode}, **kwargs)
    ours = getattr(gym.wrappers.vector, name)(engine, *args)

    def make() -> Any:
        return getattr(gym.wrappers, name)(gym.make(id, **kwargs), *args)

    theirs = SyncVectorEnv([make] * 5, autoreset_mode=mode)
    theirs.action_space.seed(1)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    for step in range(40):
        actions = theirs.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one[:4], other[:4], f"step {step}")
        assert set(one[4]) == set(other[4])
        if "final_obs" in other[4]:
            for i in np.flatnonzero(other[4]["_final_obs"]):
                assert_same(one[4]["final_obs"][i], other[4]["final_obs"][i])
        ended = other[2] | other[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            options = {"reset_mask": ended}
            assert_same(ours.reset(options=options)[0], theirs.reset(options=options)[0])
    theirs.close()


def test_statistics_of_lanes_that_ended_at_different_times() -> None:
    envs = RepeatAction(
        gym.make_vec("CartPole-v1", 4, vector_kwargs={"episode_statistics": True}), 5
    )
    envs.reset(seed=1)
    lengths = []
    totals = np.zeros(4)
    for _ in range(20):
        _, rewards, terminated, _, infos = envs.step(np.ones(4, np.int64))
        totals += rewards
        if terminated.any():
            assert (infos["_episode"] == terminated).all()
            assert (infos["episode"]["r"][terminated] == totals[terminated]).all()
            assert not infos["episode"]["l"][~terminated].any()
            lengths += infos["episode"]["l"][terminated].tolist()
        totals[terminated] = 0
    assert len(lengths) > 4 and any(length % 5 for length in lengths)


def test_async_sticky_draws_from_generators_of_its_own() -> None:
    lanes = [lambda: gym.make("CartPole-v1")] * 3

    def taken(envs: Any, seed: Any) -> list[Any]:
        wrapped = StickyAction(envs, 0.5, (1, 3))
        wrapped.reset(seed=seed)
        found = []
        for step in range(12):
            wrapped.step(np.full(3, step % 2))
            found.append(wrapped.last_action.tolist())
        wrapped.close()
        return found

    first = taken(AsyncVectorEnv(lanes, num_workers=1), 5)
    assert first == taken(AsyncVectorEnv(lanes, num_workers=2), 5)
    assert first == taken(AsyncVectorEnv(lanes, num_workers=1), [5, 6, 7])
    assert first != taken(AsyncVectorEnv(lanes, num_workers=1), 9)


def test_sticky_state_and_copies() -> None:
    envs = StickyAction(gym.make_vec("CartPole-v1", 3), 0.8, 2)
    assert envs.last_action is None
    envs.reset(seed=1)
    for _ in range(4):
        envs.step([0, 1, 0])
    assert envs.is_sticky_actions.dtype == np.bool_ and envs.num_repeats.max() <= 2
    again = pickle.loads(pickle.dumps(envs))
    for step in range(12):
        actions = np.full(3, step % 2)
        assert_same(again.step(actions), envs.step(actions))
        assert (again.last_action == envs.last_action).all()


def test_sticky_steps_of_some_lanes_before_any_of_all() -> None:
    envs = StickyAction(gym.make_vec("CartPole-v1", 3), 0.9, 2)
    envs.reset(seed=1)
    for lanes in ([2], [0, 2], [1, 0]):
        results = envs.step_lanes(np.ones(len(lanes), np.int64), lanes)
        assert results[4]["env_id"].tolist() == lanes
    assert envs.last_action.tolist() == [1, 1, 1]


def test_bad_arguments() -> None:
    envs = gym.make_vec("CartPole-v1", 3)
    with pytest.raises(ValueError, match="num_repeats value needs to be equal or greater"):
        RepeatAction(envs, 0)
    with pytest.raises(TypeError, match="num_repeats is expected to be an integer"):
        RepeatAction(envs, 1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidProbability):
        StickyAction(envs, 1.0)
    with pytest.raises(ValueError, match="larger or equal than 1"):
        StickyAction(envs, 0.1, 0)


def test_environments_that_cannot_step_some_lanes() -> None:
    class Doubled(gym.vector.VectorRewardWrapper):
        def rewards(self, rewards: Any) -> Any:
            return 2 * rewards

    envs = Doubled(gym.make_vec("CartPole-v1", 3))
    with pytest.raises(UnsupportedMode, match="RepeatAction: expected an environment that can"):
        RepeatAction(envs, 2)
    RepeatAction(envs, 1).reset()
    twice = Doubled(RepeatAction(gym.make_vec("CartPole-v1", 3), 2))
    twice.reset(seed=1)
    assert twice.step([0, 1, 0])[1].tolist() == [4.0] * 3


def test_actions_that_do_not_fit_change_nothing():
    envs = StickyAction(gym.make_vec("CartPole-v1", num_envs=4), 0.9, 3)
    envs.reset(seed=3)
    for actions in ([0, 1, 0, 1], [1, 1, 0, 0]):
        envs.step(np.array(actions))

    def state():
        kept = (envs.last_action, envs.is_sticky_actions, envs.num_repeats, envs.repeats_taken)
        return [array.tolist() for array in kept]

    before = state()
    assert any(before[1])
    for bad in (np.zeros(5, np.int64), 3, None):
        with pytest.raises(InvalidAction, match=r"actions: expected a batch of 4, got"):
            envs.step(bad)
        assert state() == before
    envs.reset(options={"reset_mask": np.array([True, False, False, False])})
    before = state()
    with pytest.raises(InvalidAction, match=r"actions\[0\] = 9"):  # no action sticks in lane 0
        envs.step(np.array([9, 1, 0, 1]))
    assert state() == before
