"""NormalizeObservation and NormalizeReward of a batch, in every autoreset mode."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.utils import RunningMeanStd
from gymcore.wrappers.vector import NormalizeObservation, NormalizeReward
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import MODES, assert_close, check_lane_by_lane, in_modes
from tests.wrappers.side_by_side import check_vectors_side_by_side
from tests.wrappers.walk_env import make_walk_env

KINDS = ("box", "image", "scalar", "discrete", "multi_discrete", "multi_binary")
NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


def rms(statistics: Any) -> dict[str, Any]:
    return {name: getattr(statistics, name) for name in ("mean", "var", "count")}


def sync(mode: AutoresetMode, num_envs: int = 3, **kwargs: Any) -> SyncVectorEnv:
    lanes = [lambda: make_walk_env()(**kwargs)] * num_envs
    return SyncVectorEnv(lanes, autoreset_mode=mode)


# --- observations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_observations_are_gymnasiums_to_the_bit(kind):
    made: dict[Any, Any] = {}

    def wrap(package, envs):
        made[package] = package.wrappers.vector.NormalizeObservation(envs, 1e-6)
        return made[package]

    check_vectors_side_by_side(wrap, kind=kind)
    assert_same(rms(made[gymcore].obs_rms), rms(made[gymnasium].obs_rms))


@in_modes("kind", KINDS)
def test_one_lane_is_the_single_wrapper(mode, kind):
    check_lane_by_lane(
        NormalizeObservation,
        wrappers.NormalizeObservation,
        lambda: make_walk_env()(kind),
        mode=mode,
        num_envs=1,
    )


@pytest.mark.parametrize("mode", MODES)
def test_lanes_share_what_is_frozen(mode):
    """With the same frozen statistics every lane equals the single wrapper."""
    state = {"mean": [1.0, -2.0], "var": [4.0, 0.5], "count": 9, "dtype": "float32"}

    def freeze(wrapper):
        wrapper.set_statistics(state)
        wrapper.update_running_mean = False
        return wrapper

    check_lane_by_lane(
        lambda envs: freeze(NormalizeObservation(envs)),
        lambda env: freeze(wrappers.NormalizeObservation(env)),
        mode=mode,
    )


def test_same_step_is_a_masked_reset_after_the_step():
    """The same rows and statistics; the reset's result equals the step's."""
    same, disabled = (NormalizeObservation(sync(mode)) for mode in (SAME, DISABLED))
    assert_same(same.reset(seed=1)[0], disabled.reset(seed=1)[0])
    ends = 0
    for _ in range(60):
        actions = np.array([1, 2, 3])
        observations, _, terminated, truncated, infos = same.step(actions)
        last, _, _, _, _ = disabled.step(actions)
        ended = terminated | truncated
        if ended.any():
            ends += 1
            for i in np.flatnonzero(ended):
                assert_same(infos["final_obs"][i], last[i])
            last, _ = disabled.reset(options={"reset_mask": ended})
        assert_same(observations, last)
        assert_same(rms(same.obs_rms), rms(disabled.obs_rms))
    assert ends > 5


def test_native_final_observations_stay_one_array():
    envs = gymcore.make_vec("CartPole-v1", 4, vector_kwargs={"autoreset_mode": SAME})
    plain = gymcore.make_vec("CartPole-v1", 4, vector_kwargs={"autoreset_mode": SAME})
    wrapped = NormalizeObservation(envs)
    wrapped.reset(seed=0)
    plain.reset(seed=0)
    seen = 4
    for _ in range(60):
        actions = np.ones(4, np.int64)
        observations, _, _, _, infos = wrapped.step(actions)
        raw, _, _, _, raw_infos = plain.step(actions)
        seen += 4
        if "final_obs" not in infos:
            continue
        mask = infos["_final_obs"]
        seen += int(mask.sum())
        assert infos["final_obs"].dtype == np.float32
        assert (infos["final_obs"][~mask] == 0).all()
        assert not (infos["final_obs"][mask] == raw_infos["final_obs"][mask]).all()
        again = (raw[mask] - wrapped.obs_rms.mean) / np.sqrt(wrapped.obs_rms.var + 1e-8)
        np.testing.assert_array_equal(observations[mask], again)
    assert wrapped.obs_rms.count == pytest.approx(seen + 1e-4, rel=1e-12)
    assert seen > 4 * 61


@pytest.mark.parametrize("mode", MODES)
def test_every_observation_enters_once(mode):
    """Gymnasium's masked resets and same-step resets do not do this."""
    seen: list[Any] = []
    space = gymcore.spaces.Box(-5, 5, (2,), np.float64)

    class Noting(make_walk_env()):
        def _observe(self):
            seen.append(self.observation_space.sample())
            return seen[-1]

    lanes = [lambda: Noting(observation_space=copy.deepcopy(space))] * 3
    envs = NormalizeObservation(SyncVectorEnv(lanes, autoreset_mode=mode))
    envs.reset(seed=0)
    ended = np.zeros(3, np.bool_)
    for step in range(40):
        mask = ended if mode is DISABLED else np.array([step % 9 == 5, False, False])
        if mask.any():
            envs.reset(options={"reset_mask": mask})
        _, _, terminated, truncated, _ = envs.step(np.array([1, 2, 3]))
        ended = terminated | truncated
    assert envs.obs_rms.count == pytest.approx(len(seen) + 1e-4, rel=1e-12)
    whole = RunningMeanStd(shape=(2,))
    whole.update(np.stack(seen))
    np.testing.assert_allclose(envs.obs_rms.mean, whole.mean, 1e-6)
    np.testing.assert_allclose(envs.obs_rms.var, whole.var, 1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_a_masked_reset_leaves_the_other_rows(mode):
    envs = NormalizeObservation(sync(mode))
    first, _ = envs.reset(seed=0)
    kept, count = first.copy(), envs.obs_rms.count
    options = {"reset_mask": np.array([False, True, False])}
    again, _ = envs.reset(options=options)
    assert_same(again[[0, 2]], kept[[0, 2]])
    assert (again[1] != kept[1]).any()
    assert_same(first, kept)
    assert envs.obs_rms.count == count + 1
    assert list(options) == ["reset_mask"]


# --- rewards --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("num_envs", [1, 3, 20])
def test_rewards_are_gymnasiums(mode, num_envs):
    made: dict[Any, Any] = {}

    def wrap(package, envs):
        made[package] = package.wrappers.vector.NormalizeReward(envs, 0.9)
        return made[package]

    check_vectors_side_by_side(wrap, mode=mode, num_envs=num_envs, exact=False)
    ours, theirs = made[gymcore], made[gymnasium]
    assert_close(rms(ours.return_rms), rms(theirs.return_rms))
    assert_same(ours.accumulated_reward, theirs.accumulated_reward)
    count = ours.return_rms.count
    assert ours.normalize(3.0) == 3 / np.sqrt(ours.return_rms.var + 1e-8)
    assert ours.return_rms.count == count  # Gymnasium adds the sums once more


def test_one_lane_scales_rewards_as_the_single_wrapper():
    check_lane_by_lane(
        NormalizeReward,
        wrappers.NormalizeReward,
        mode=NEXT,
        num_envs=1,
        masked=False,
        exact=False,
    )


@pytest.mark.parametrize("mode", MODES)
def test_lanes_are_scaled_alike_when_frozen(mode):
    def freeze(wrapper):
        wrapper.set_statistics({"mean": 1.0, "var": 4.0, "count": 9})
        wrapper.update_running_mean = False
        return wrapper

    check_lane_by_lane(
        lambda envs: freeze(NormalizeReward(envs)),
        lambda env: freeze(wrappers.NormalizeReward(env)),
        mode=mode,
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_masked_reset_leaves_the_other_returns(mode):
    envs = NormalizeReward(sync(mode, terminate=0.0), gamma=1.0)
    envs.reset(seed=0)
    rewards = sum(envs.step(np.array([1, 2, 3]))[1] * 0 + 1 for _ in range(2))
    before = envs.accumulated_reward.copy()
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert_same(envs.accumulated_reward, np.where([True, False, True], before, np.float32(0)))
    assert rewards.tolist() == [2, 2, 2]
    envs.reset()
    assert not envs.accumulated_reward.any()


def test_a_step_that_only_resets_is_not_counted():
    envs = NormalizeReward(sync(NEXT, limit=2, terminate=0.0))
    envs.reset(seed=0)
    counts = []
    for _ in range(6):
        rewards = envs.step(np.array([1, 2, 3]))[1]
        counts.append(round(envs.return_rms.count))
    assert counts == [3, 6, 6, 9, 12, 12]
    assert not rewards.any()


def test_episodes_that_a_time_limit_ends():
    """An outer wrapper shows which lanes the next step resets."""
    inner = NormalizeReward(sync(NEXT, limit=100, terminate=0.0))
    envs = wrappers.vector.TimeLimit(inner, 2)
    envs.reset(seed=0)
    counts = []
    for _ in range(6):
        envs.step(np.array([1, 2, 3]))
        counts.append(round(inner.return_rms.count))
    assert counts == [3, 6, 6, 9, 12, 12]


# --- both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", [NormalizeObservation, NormalizeReward])
@pytest.mark.parametrize("mode", MODES)
def test_a_copy_goes_its_own_way(wrapper, mode):
    name = "obs_rms" if wrapper is NormalizeObservation else "return_rms"
    envs = wrapper(gymcore.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": mode}))
    envs.reset(seed=0)
    envs.step(np.array([1, 0, 1]))
    other = copy.deepcopy(envs)
    assert_same(other.step(np.array([1, 0, 1])), envs.step(np.array([1, 0, 1])))
    count = getattr(envs, name).count
    other.step(np.array([1, 0, 1]))
    assert getattr(envs, name).count == count < getattr(other, name).count


def test_workers_are_merged():
    start = NormalizeObservation(sync(NEXT))
    start.reset(seed=0)
    kept = start.get_statistics()
    workers = []
    for seed in (10, 20):
        worker = NormalizeObservation(sync(NEXT))
        worker.set_statistics(kept)
        worker.reset(seed=seed)
        worker.step(np.array([1, 2, 3]))
        workers.append(worker.obs_rms)
    start.obs_rms.merge(workers, start=copy.deepcopy(start.obs_rms))
    assert start.obs_rms.count == pytest.approx(15.0001)


@pytest.mark.parametrize("wrapper", [NormalizeObservation, NormalizeReward])
def test_wrong_arguments(wrapper):
    with pytest.raises(error.ArgumentTypeError, match="Expected env to be a"):
        wrapper(make_walk_env()())
    with pytest.raises(error.InvalidBound, match="`epsilon` should be strictly positive"):
        wrapper(sync(NEXT), epsilon=0)
    for mask, kind in (
        (np.zeros(3, np.bool_), error.InvalidArgument),
        (np.ones(2, np.bool_), error.InvalidArgument),
        ([True, False, False], error.ArgumentTypeError),
    ):
        envs = wrapper(sync(NEXT))
        envs.reset(seed=0)
        with pytest.raises(kind, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})


def test_wrong_spaces_and_gammas():
    with pytest.raises(error.InvalidArgument, match="requires the observation space to have a"):
        NormalizeObservation(sync(NEXT, kind="dict"))
    with pytest.raises(error.InvalidBound, match="gamma"):
        NormalizeReward(sync(NEXT), gamma=2)


@pytest.mark.parametrize("wrapper", [NormalizeObservation, NormalizeReward])
def test_wrong_rewards_or_a_step_before_reset(wrapper):
    envs = wrapper(gymcore.make_vec("CartPole-v1", 2))
    with pytest.raises(error.ResetNeeded):
        envs.step(np.array([0, 1]))


@pytest.mark.parametrize("mode", MODES)
def test_truncations_begin_sums_anew_where_the_single_wrapper_goes_on(mode):
    """Gymnasium differs: its single wrapper never discards the sum of a truncated episode."""
    make = lambda: gymcore.make("CartPole-v1", max_episode_steps=3)  # noqa: E731
    ours = NormalizeReward(SyncVectorEnv([make], autoreset_mode=mode))
    single = wrappers.NormalizeReward(make())
    ours.reset(seed=1), single.reset(seed=1)
    for _ in range(3):
        truncated = ours.step(np.array([0]))[3]
        single.step(0)
    assert truncated.all()
    assert single.discounted_reward == pytest.approx(1 + 0.99 + 0.99**2)
    if mode is AutoresetMode.NEXT_STEP:
        ours.step(np.array([0]))  # only resets, without changes
        assert ours.accumulated_reward[0] == pytest.approx(1 + 0.99 + 0.99**2)
    else:
        ours.reset(options={"reset_mask": np.array([True])})
        assert ours.accumulated_reward[0] == 0
    single.reset()
    assert single.discounted_reward == pytest.approx(1 + 0.99 + 0.99**2)
