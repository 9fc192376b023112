"""RolloutCollector: every row is the environment's result, in every mode and on every engine."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore as gym
from gymcore import error
from gymcore.learn import RolloutCollector
from gymcore.vector import AsyncVectorEnv, SyncVectorEnv
from gymcore.vector.vector_env import AutoresetMode
from gymcore_ext.rollouts import store
from tests.learn.policies import count_policy, halves_policy, value_of
from tests.learn.reference import Episode, Line, returns_by_definition

MODES = [mode.value for mode in AutoresetMode]
T, N, SEED = 23, 6, 5


def reference_steps(policy, steps, lanes, skip_resets, seed=SEED):
    """Return the rows, episodes and returns of each lane of `Line` when stepped alone."""
    rows, episodes, returns = [], [], []
    for lane in range(lanes):
        env = Line()
        observation, _ = env.reset(seed=seed + lane)
        here, episode, total, ended = [], Episode([], [], [], 0.0), 0.0, False
        for t in range(steps):
            action, _, value = (output[0] for output in policy(observation[None]))
            if ended and skip_resets:
                # The action is ignored; the row begins with the last observation.
                after, _ = env.reset()
                here.append((observation, 0.0, False, False, None, True))
                observation, ended = after, False
                continue
            after, reward, terminated, truncated, _ = env.step(action)
            ended, total = terminated or truncated, total + reward
            here.append(
                (observation, reward, terminated, truncated, after if ended else None, False)
            )
            episode.rows.append(t), episode.rewards.append(reward), episode.values.append(value)
            observation = after
            if ended:
                last = 0.0 if terminated else float(value_of(after[None])[0])
                episodes.append((lane, episode._replace(last_value=last)))
                returns.append(total)
                episode, total = Episode([], [], [], 0.0), 0.0
                if not skip_resets:
                    observation, _ = env.reset()
        if episode.rows:
            last = float(value_of(observation[None])[0])
            episodes.append((lane, episode._replace(last_value=last)))
        rows.append(here)
    return rows, episodes, returns


ENGINES = {
    "sync": lambda mode, n: SyncVectorEnv([Line] * n, autoreset_mode=mode, episode_statistics=True),
    "async": lambda mode, n: AsyncVectorEnv(
        [Line] * n, autoreset_mode=mode, episode_statistics=True, num_workers=2
    ),
}


def check_against_reference(engine, mode, halves, steps, n, seed, gamma, gae_lambda):
    """Compare a rollout with the reference; return the (terminated, truncated) that occur."""
    rows, episodes, returns = reference_steps(count_policy, steps, n, mode == "NextStep", seed)
    with ENGINES[engine](mode, n) as envs:
        collector = RolloutCollector(envs, count_policy, steps, double_buffered=halves, seed=seed)
        rollout = collector.collect()
        advantages, targets = collector.advantages(gamma, gae_lambda)
    for lane, lane_rows in enumerate(rows):
        for t, (observation, reward, terminated, truncated, final, reset) in enumerate(lane_rows):
            assert rollout.observations[t, lane].tolist() == observation.tolist()
            assert rollout.rewards[t, lane] == reward
            assert rollout.terminated[t, lane] == terminated
            assert rollout.truncated[t, lane] == truncated
            assert rollout.reset_steps[t, lane] == reset
            if final is not None:
                assert rollout.final_observations[t, lane].tolist() == final.tolist()
    acted = count_policy(rollout.observations.reshape(-1, 2))
    for array, expected in zip(
        (rollout.actions, rollout.log_probs, rollout.values), acted, strict=True
    ):
        assert (array.ravel() == expected).all()
    wanted = np.zeros((steps, n))
    for lane, episode in episodes:
        wanted[episode.rows, lane] = returns_by_definition(episode, gamma, gae_lambda)
    np.testing.assert_allclose(advantages, wanted, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(targets, wanted + rollout.values, rtol=1e-5, atol=2e-5)
    assert sorted(collector.episode_returns) == pytest.approx(sorted(returns))
    finals = [row[4] for lane_rows in rows for row in lane_rows if row[4] is not None]
    assert sorted(collector.episode_lengths) == sorted(final[1] for final in finals)
    return {row[2:4] for lane in rows for row in lane}


@pytest.mark.slow
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "engine", ["sync", pytest.param("async", marks=pytest.mark.starts_processes)]
)
def test_rows_and_advantages_equal_a_slow_reference(engine, mode, halves):
    endings = check_against_reference(engine, mode, halves, T, N, SEED, 0.9, 0.8)
    assert len(endings) == 4, "an episode terminates, is truncated, and both at once"


@settings(max_examples=40, deadline=None)
@given(
    mode=st.sampled_from(MODES),
    halves=st.booleans(),
    steps=st.integers(1, 20),
    pairs=st.integers(1, 4),
    seed=st.integers(0, 2**31),
    gamma=st.floats(0, 1),
    gae_lambda=st.floats(0, 1),
)
def test_any_rollout_equals_a_slow_reference(mode, halves, steps, pairs, seed, gamma, gae_lambda):
    check_against_reference("sync", mode, halves, steps, 2 * pairs, seed, gamma, gae_lambda)


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_native_engines_equal_python_ones(env_id, mode, halves):
    """Two rollouts in a row; a single long one equals them too."""

    def policy(observations):
        actions, log_probs, values = halves_policy(observations)
        if env_id == "Pendulum-v1":
            actions = 4 * np.sin(values)[:, None]  # beyond the bounds too
        return actions, log_probs, values

    options = {"autoreset_mode": mode, "episode_statistics": True}
    results = []
    for engine, double, lengths in (
        ("native", halves, (30, 30)), ("native", False, (60,)), ("sync", False, (60,)),
    ):  # fmt: skip
        with gym.make_vec(
            env_id, 4, vectorization_mode=None if engine == "native" else engine,
            vector_kwargs=options, max_episode_steps=17,
        ) as envs:  # fmt: skip
            collector = RolloutCollector(envs, policy, lengths[0], double_buffered=double, seed=3)
            parts = []
            for _ in lengths:
                rollout = collector.collect()
                ended = rollout.terminated | rollout.truncated
                finals = rollout.final_observations.copy()
                finals[~ended] = 0
                parts.append([*(array.copy() for array in rollout), finals])
                parts[-1][7] = finals
            results.append([np.concatenate(arrays) for arrays in zip(*parts, strict=True)])
    assert (results[0][5] | results[0][6]).sum() >= 8
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
    if env_id == "Pendulum-v1":
        assert np.abs(results[0][1]).max() > 2, "actions are stored as they were"


def test_arrays_are_allocated_once():
    envs = gym.make_vec("CartPole-v1", 4)
    collector = RolloutCollector(envs, halves_policy, 5, seed=1)
    first, before = collector.collect(), collector.rollout.observations.copy()
    last = collector.collect()
    assert all(one is other for one, other in zip(first, last, strict=True))
    assert (first.observations != before).any()


def test_rows_that_are_not_numbers():
    """Objects are counted, and values that are not arrays have no memory."""
    given, row = object(), np.empty(2, object)
    count = sys.getrefcount(given)
    store((row,), (np.array([given, given]),), error)
    assert sys.getrefcount(given) == count + 2
    with pytest.raises(TypeError):
        store((None,), (row,), error)


def test_a_state_goes_on():
    options = {"autoreset_mode": "SameStep"}
    envs = gym.make_vec("CartPole-v1", 4, vector_kwargs=options)
    collector = RolloutCollector(envs, halves_policy, 12, seed=1)
    collector.collect()
    lanes, observations = envs.get_state(), collector.next_observations.copy()
    wanted = [array.copy() for array in collector.collect()]
    other = gym.make_vec("CartPole-v1", 4, vector_kwargs=options)
    again = RolloutCollector(other, halves_policy, 12)
    other.set_state(lanes)
    again.next_observations[...] = observations
    ended = wanted[5] | wanted[6]
    for k, (expected, got) in enumerate(zip(wanted, again.collect(), strict=True)):
        if k == 7:  # final observations
            expected, got = expected[ended], got[ended]
        np.testing.assert_array_equal(expected, got)


def test_the_policy_gets_as_many_rows_each_time():
    sizes = set()

    def policy(observations):
        sizes.add(len(observations))
        return halves_policy(observations)

    options = {"autoreset_mode": "SameStep"}
    envs = gym.make_vec("CartPole-v1", 6, vector_kwargs=options, max_episode_steps=3)
    RolloutCollector(envs, policy, 10, seed=1).collect()
    assert sizes == {6}
    sizes.clear()
    RolloutCollector(envs, policy, 10, double_buffered=True, seed=1).collect()
    assert sizes == {3}


@pytest.mark.parametrize("halves", [False, True])
def test_infos_reach_the_caller(halves):
    found = []
    envs = gym.make_vec("CartPole-v1", 6, vector_kwargs={"autoreset_mode": "SameStep"})
    collector = RolloutCollector(
        envs, halves_policy, 40, double_buffered=halves, seed=1, on_infos=found.append
    )
    rollout = collector.collect()
    assert len(found) == 40 * (1 + halves)
    ended = sum(int(np.sum(infos.get("_final_obs", 0))) for infos in found)
    assert ended == (rollout.terminated | rollout.truncated).sum() > 6
    lanes = {tuple(infos["env_id"]) for infos in found if "env_id" in infos}
    assert lanes == ({(0, 1, 2), (3, 4, 5)} if halves else set())


def test_nonsense_is_an_error():
    envs = gym.make_vec("CartPole-v1", 3)
    with pytest.raises(error.InvalidArgument, match="T: expected"):
        RolloutCollector(envs, halves_policy, 0)
    with pytest.raises(error.InvalidArgument, match="even number of lanes to halve, got 3"):
        RolloutCollector(envs, halves_policy, 2, double_buffered=True)
    with pytest.raises(error.ArgumentTypeError, match="observation_space of arrays, got Tuple"):
        RolloutCollector(gym.make_vec("Blackjack-v1", 2), halves_policy, 2)
    ones = np.ones(3, np.float32)
    wrong_type, wrong = error.ArgumentTypeError, error.InvalidArgument
    for policy, problem, message in (
        (lambda o: (np.zeros(3, np.int64), ones), wrong_type, "expected a tuple.*got 2 of them"),
        (lambda o: np.zeros(3), wrong_type, "expected a tuple.*got ndarray"),
        (lambda o: (np.zeros(3), ones, ones), wrong, r"actions int64 \(3,\), got float64"),
        (lambda o: (np.zeros(3, int), ones, ones[:, None]), wrong, r"values.* \(3, 1\)"),
        (lambda o: (np.full(3, 7), ones, ones), error.InvalidAction, r"\[0\] = 7 is outside"),
    ):  # fmt: skip
        with pytest.raises(problem, match=message):
            RolloutCollector(envs, policy, 2, seed=1).collect()


def test_an_error_in_a_half_reaches_the_caller():
    def policy(observations):
        actions, log_probs, values = halves_policy(observations)
        return actions + 5, log_probs, values

    envs = gym.make_vec("CartPole-v1", 4)
    with pytest.raises(error.InvalidAction, match="outside"):
        RolloutCollector(envs, policy, 3, double_buffered=True, seed=1).collect()
