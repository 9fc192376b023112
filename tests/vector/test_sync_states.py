"""Saving and restoring environments of a SyncVectorEnv, and copies of it."""

import copy
import pickle

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.vector import SyncVectorEnv
from gymcore.vector.lane_states import LaneState
from tests.testing_env import assert_same, make_counting_env, make_random_env
from tests.vector.contract import draw_actions, make_envs, same_bytes

CountingEnv = make_counting_env(gym)


class Saved(CountingEnv):
    """Environment whose state is its count."""

    def get_state(self):
        return {"elapsed": self.elapsed, "seed": self.seed}

    def set_state(self, state):
        self.elapsed, self.seed = state["elapsed"], state["seed"]


def limited(length=9, limit=4):
    return gym.wrappers.TimeLimit(Saved(length), limit)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_steps_after_a_state_are_the_same_again(env_id, mode):
    envs = make_envs(
        env_id, "sync", mode, max_episode_steps=6, vector_kwargs={"episode_statistics": True}
    )
    envs.reset(seed=1)
    actions = draw_actions(envs, 20)
    for batch in actions[:8]:
        envs.step(batch)
    states = pickle.loads(pickle.dumps(envs.get_state()))
    runs = []
    for _ in range(2):
        run = [envs.step(batch) for batch in actions]
        for step in run:
            step[4].get("episode", {}).pop("t", None)
        runs.append(run)
        envs.set_state(states)
    assert same_bytes(*runs)
    assert any(step[3].any() for step in runs[0])


def test_lanes_of_another_batch():
    one, other = (SyncVectorEnv([limited] * 3) for _ in range(2))
    one.reset(seed=1)
    one.step([0] * 3)
    one.step([0] * 3)
    with pytest.raises(error.ResetNeeded, match="states of all lanes"):
        other.set_state(one.get_state([2]), [0])
    other.set_state(one.get_state([2, 2 - 1, 0]))
    assert other.step([0] * 3)[0].tolist() == [[3, 3], [2, 3], [1, 3]]
    assert other.step([0] * 3)[3].tolist() == [True] * 3  # the wrappers have kept counting
    other.reset(seed=7)
    other.set_state(one.get_state(np.array([False, True, False])), [2])
    assert other.step([0] * 3)[0].tolist() == [[7, 1], [8, 1], [2, 3]]
    assert one.step([0] * 3)[0].tolist() == [[1, 3], [2, 3], [3, 3]]


def test_the_state_has_ended_and_the_last_observation():
    envs = SyncVectorEnv([lambda n=n: Saved(n) for n in (1, 9)])
    envs.reset(seed=3)
    envs.step([0, 0])
    states = envs.get_state()
    assert isinstance(states[0], LaneState)
    assert [state.ended for state in states] == [True, False]
    assert [state.elapsed for state in states] == [1, 1]
    assert [state.env for state in states] == [{"elapsed": 1, "seed": s} for s in (3, 4)]
    envs.step([0, 0])
    envs.set_state(states)
    masked = envs.reset(options={"reset_mask": np.array([False, True])})[0]
    assert masked.tolist() == [[3, 1], [4, 0]]
    assert envs.step([0, 0])[0].tolist() == [[3, 0], [4, 1]]


def test_a_failed_batch_goes_on_from_states():
    envs = SyncVectorEnv([Saved] * 2)
    envs.reset(seed=3)
    states = envs.get_state()
    envs.envs[0].step = None
    with pytest.raises(TypeError):
        envs.step([0, 0])
    del envs.envs[0].step
    envs.set_state(states)
    assert envs.step([0, 0])[0].tolist() == [[3, 1], [4, 1]]


class Drawing(Saved):
    """Environment whose `get_state` does not mention its random generator."""

    def step(self, action):
        _, reward, terminated, truncated, info = super().step(action)
        draw = self.np_random.integers(1000)
        return np.array([draw, self.elapsed]), reward, terminated, truncated, info


def make_drawing():
    env = gym.wrappers.TimeLimit(Drawing(99), 4)
    return gym.wrappers.TransformReward(env, lambda reward: reward / 2)


@pytest.mark.parametrize("engine", [SyncVectorEnv, gym.vector.AsyncVectorEnv])
def test_copied_lanes_draw_the_same_numbers(engine):
    with engine([make_drawing] * 3) as envs:
        envs.reset(seed=1)
        envs.step([0] * 3, env_ids=[0, 1, 2])
        envs.step([0], env_ids=[1])
        envs.copy_lanes([1, 1], [0, 2])
        for _ in range(8):  # beyond the time limit
            observations, rewards, *_ = envs.step([0] * 3)
            assert (observations == observations[1]).all()
            assert (rewards == rewards[1]).all()


# Errors


def test_environments_without_states():
    envs = SyncVectorEnv([Saved, CountingEnv, lambda: gym.wrappers.TimeLimit(CountingEnv(), 3)])
    envs.reset()
    for lanes, name in ((None, "1: CountingEnv"), ([2], "2: CountingEnv")):
        with pytest.raises(error.StateNotSupported, match=f"environment {name} has no get_state"):
            envs.get_state(lanes)
        with pytest.raises(AttributeError):
            envs.set_state(envs.get_state([0]) * (3 if lanes is None else 1), lanes)
    assert len(envs.get_state([0])) == 1


def test_wrappers_that_cannot_be_copied():
    def make():
        env = limited()
        env.lines = (line for line in ())
        return env

    envs = SyncVectorEnv([make])
    envs.reset()
    with pytest.raises(error.StateNotSupported, match=r"0: .* wrapper TimeLimit cannot be copied"):
        envs.get_state()


@pytest.mark.parametrize(
    ("change", "exception"),
    [
        (lambda states: states[:1], ValueError),
        (lambda states: [states[0].env] * 2, TypeError),
        (lambda states: [states[0], states[1]._replace(layers=())], ValueError),
        (lambda states: [states[0], None], TypeError),
    ],
)
def test_bad_states_change_nothing(change, exception):
    envs = SyncVectorEnv([limited] * 2)
    envs.reset(seed=1)
    states = envs.get_state()
    envs.step([0, 0])
    with pytest.raises(exception, match="state: ") as caught:
        envs.set_state(change(states))
    assert isinstance(caught.value, error.Error)
    assert envs.step([0, 0])[0].tolist() == [[1, 2], [2, 2]]


def test_states_before_reset_and_after_close():
    envs = SyncVectorEnv([Saved] * 2)
    with pytest.raises(error.ResetNeeded, match="get_state"):
        envs.get_state()
    envs.reset()
    states = envs.get_state()
    envs.send([0, 0])
    with pytest.raises(error.AlreadyPendingCallError):
        envs.set_state(states)
    envs.close()
    for call in (envs.get_state, lambda: envs.set_state(states)):
        with pytest.raises(error.ClosedEnvironmentError):
            call()


def test_exceptions_of_set_state_name_the_environment():
    envs = SyncVectorEnv([Saved] * 2)
    envs.reset()
    states = envs.get_state()
    with pytest.raises(KeyError, match="environment 1 raised KeyError in set_state") as caught:
        envs.set_state([states[0], states[1]._replace(env={})])
    assert caught.value.lanes == [1]


# Copies


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_copies_go_on_apart(mode):
    RandomEnv = make_random_env(gym)
    envs = SyncVectorEnv([RandomEnv] * 3, autoreset_mode=mode, episode_statistics=True)
    never_reset = copy.deepcopy(envs)
    with pytest.raises(error.ResetNeeded):
        never_reset.step(envs.action_space.sample())
    envs.reset(seed=1)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(30)]
    for batch in actions[:7]:
        ended = np.logical_or(*envs.step(batch)[2:4])
        if mode == "Disabled" and ended.any():
            envs.reset(options={"reset_mask": ended})
    other = copy.deepcopy(envs)
    for batch in actions:
        steps = envs.step(batch), other.step(batch)
        for step in steps:
            step[4].get("episode", {}).pop("t", None)
        assert_same(*steps)
        ended = np.logical_or(*steps[0][2:4])
        if mode == "Disabled" and ended.any():
            options = {"reset_mask": ended}
            assert_same(envs.reset(options=options), other.reset(options=options))
