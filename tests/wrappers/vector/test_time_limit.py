"""The time limit of vector environments, over every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import ResetNeeded, UnsupportedMode
from gymcore.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import FrameStackObservation, RepeatAction, TimeLimit
from tests.testing_env import OBSERVATION_KINDS, assert_same
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.walk_env import make_walk_env

modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
Walk = make_walk_env(gym)


@in_modes("limit", [4, 1, 50])
def test_equals_single_lanes(limit: int, mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: TimeLimit(envs, limit),
        lambda env: gym.wrappers.TimeLimit(env, limit),
        mode=mode,
        steps=24,
    )


@in_modes("kind", OBSERVATION_KINDS)
def test_kinds_of_observations(kind: str, mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: TimeLimit(envs, 3),
        lambda env: gym.wrappers.TimeLimit(env, 3),
        lambda: Walk(kind, limit=7),
        mode=mode,
        steps=12,
    )


@modes
@pytest.mark.parametrize("inside", [True, False])
def test_with_repeats(inside: bool, mode: AutoresetMode) -> None:
    def wrapped(w: Any) -> Any:
        if inside:
            return lambda env: w.RepeatAction(w.TimeLimit(env, 4), 3)
        return lambda env: w.TimeLimit(w.RepeatAction(env, 3), 2)

    check_lane_by_lane(wrapped(gym.wrappers.vector), wrapped(gym.wrappers), mode=mode, steps=18)


@modes
def test_around_wrappers_that_keep_something_for_each_lane(mode: AutoresetMode) -> None:
    def wrapped(w: Any) -> Any:
        return lambda env: w.TimeLimit(
            w.StickyAction(
                w.FrameStackObservation(
                    w.TimeAwareObservation(w.DelayObservation(w.TimeLimit(env, 6), 1)), 3
                ),
                0.3,
            ),
            4,
        )

    check_lane_by_lane(wrapped(gym.wrappers.vector), wrapped(gym.wrappers), mode=mode)


def engines(mode: AutoresetMode) -> list[Any]:
    lanes = [lambda: gym.make("CartPole-v1")] * 3
    return [
        gym.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": mode}),
        SyncVectorEnv(lanes, autoreset_mode=mode),
        AsyncVectorEnv(lanes, autoreset_mode=mode, num_workers=2),
    ]


@modes
def test_equals_the_limit_of_the_compiled_engine(mode: AutoresetMode) -> None:
    for engine in engines(mode):
        ours = TimeLimit(engine, 12)
        theirs = gym.make_vec(
            "CartPole-v1", 3, vector_kwargs={"autoreset_mode": mode}, max_episode_steps=12
        )
        theirs.action_space.seed(2)
        assert_same(ours.reset(seed=4), theirs.reset(seed=4))
        cut = 0
        for _ in range(60):
            actions = theirs.action_space.sample()
            one, other = ours.step(actions), theirs.step(actions)
            assert_same(one[:4], other[:4])
            cut += other[3].sum()
            assert list(one[4]) == list(other[4])
            if "final_obs" in other[4]:
                for i in np.flatnonzero(other[4]["_final_obs"]):
                    assert_same(one[4]["final_obs"][i], other[4]["final_obs"][i])
            if isinstance(engine, type(theirs)):
                assert_same(one[4], other[4])
            ended = other[2] | other[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                with pytest.raises(ResetNeeded):
                    ours.step(actions)
                options = {"reset_mask": ended}
                assert_same(ours.reset(options=options), theirs.reset(options=options))
        assert cut > 3
        ours.close()


def test_steps_of_some_lanes() -> None:
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        for engine in engines(mode):
            envs = TimeLimit(engine, 3)
            envs.reset(seed=1)
            for _ in range(2):
                assert not envs.step_lanes([1], [2])[3].any()
            envs.step([1, 0, 1])
            results = envs.step_lanes([0, 1], [2, 0])
            assert results[3].tolist() == [False, False]
            assert results[4]["env_id"].tolist() == [2, 0]
            if mode is AutoresetMode.NEXT_STEP:
                assert results[1].tolist() == [0.0, 1.0]  # lane 2 has restarted
            results = envs.step_lanes([1], [0])
            assert results[3].tolist() == [True]
            assert ("final_obs" in results[4]) == (mode is AutoresetMode.SAME_STEP)
            envs.close()


def test_gyms_names_for_cut_episodes() -> None:
    envs = TimeLimit(gym.vector.make("CartPole-v1", num_envs=3), 2)
    envs.reset(seed=1)
    assert envs.step([0, 1, 0])[4] == {}
    observations, _, _, truncated, infos = envs.step([0, 1, 0])
    assert truncated.all() and infos["_final_observation"].all()
    assert infos["final_info"].tolist() == [{}, {}, {}]
    assert infos["final_observation"][1].shape == (4,)
    assert (infos["final_observation"][1] != observations[1]).any()


def test_results_are_the_callers() -> None:
    envs = TimeLimit(gym.make_vec("CartPole-v1", 3), 2)
    envs.reset(seed=1)
    results = [envs.step([0, 1, 0]) for _ in range(4)]
    assert [result[3].tolist() for result in results] == [
        [False] * 3,
        [True] * 3,
        [False] * 3,
        [False] * 3,
    ]


def test_spec() -> None:
    envs = TimeLimit(gym.make_vec("CartPole-v1", 2), 7)
    assert envs.spec is not None and envs.spec.max_episode_steps == 7
    assert envs.env.spec.max_episode_steps == 500
    assert TimeLimit(SyncVectorEnv([Walk] * 2), 3).spec is None


@pytest.mark.parametrize(
    ("limit", "kind", "problem"),
    [
        (0, ValueError, "Expect the `max_episode_steps` to be positive, actually: 0"),
        (1.5, TypeError, "Expect the `max_episode_steps` to be an integer, actually"),
        (None, TypeError, "to be an integer"),
    ],
)
def test_bad_limits(limit: Any, kind: type, problem: str) -> None:
    with pytest.raises(kind, match=problem):
        TimeLimit(gym.make_vec("CartPole-v1", 2), limit)


class Plain(gym.vector.VectorEnv):
    """A user-defined vector environment."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    num_envs = 2
    single_action_space = gym.spaces.Discrete(2)
    single_observation_space = gym.spaces.Discrete(2)


def test_environments_whose_episodes_cannot_be_ended() -> None:
    with pytest.raises(UnsupportedMode, match="TimeLimit: expected an environment whose episodes"):
        TimeLimit(Plain(), 3)
    with pytest.raises(UnsupportedMode, match="does not let a wrapper end episodes"):
        Plain().end_episodes(np.array([True, False]))


@pytest.mark.parametrize("bad", [[True, False, False], np.ones(3), np.ones(2, np.bool_)])
def test_bad_masks_of_episodes_to_end(bad: Any) -> None:
    for engine in engines(AutoresetMode.NEXT_STEP):
        engine.reset(seed=1)
        with pytest.raises(ValueError, match=r"mask: expected a bool array of shape \(3,\)"):
            engine.end_episodes(bad)
        engine.close()


def test_no_episodes_to_end() -> None:
    mask = np.array([True, False, True])
    for engine in engines(AutoresetMode.SAME_STEP):
        engine.reset(seed=1)
        with pytest.raises(UnsupportedMode, match="same-step autoreset leaves no episode ended"):
            engine.end_episodes(mask)
        engine.close()
    for engine in engines(AutoresetMode.DISABLED):
        with pytest.raises(ResetNeeded):
            engine.end_episodes(mask)
        engine.close()


def test_within_a_stack_of_frames() -> None:
    envs = FrameStackObservation(RepeatAction(TimeLimit(gym.make_vec("Pendulum-v1", 2), 5), 2), 3)
    envs.reset(seed=1)
    cut = [envs.step(np.zeros((2, 1), np.float32))[3].tolist() for _ in range(4)]
    assert cut == [[False] * 2, [False] * 2, [True] * 2, [False] * 2]


def test_around_a_collection_of_frames() -> None:
    envs = gym.make_vec("CartPole-v1", 2, render_mode="rgb_array")
    envs = TimeLimit(gym.wrappers.vector.RenderCollection(envs, pop_frames=False), 2)
    envs.reset(seed=1)
    counts = []
    for _ in range(3):
        envs.step([0, 1])
        counts.append([len(frames) for frames in envs.render()])
    assert counts == [[2, 2], [3, 3], [1, 1]]
