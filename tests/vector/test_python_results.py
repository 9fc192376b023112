"""What environments written in Python return, and what they change: infos, rewards, actions."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, spaces
from gymcore.learn import RolloutCollector
from gymcore.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymcore.vector.workers.default_loop import _async_worker
from tests.vector.contract import same_bytes

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode
ENGINES: dict[str, Any] = {
    "sync": SyncVectorEnv,
    "async": AsyncVectorEnv,
    "pipes": lambda fns, **options: AsyncVectorEnv(fns, shared_memory=False, **options),
    "loops": lambda fns, **options: AsyncVectorEnv(fns, worker=_async_worker, **options),
}


@pytest.fixture(params=ENGINES)
def make(request):
    """Return a function that makes a vector environment of each engine, and close it."""
    made = []

    def make_envs(env_fns, **options):
        options.setdefault("num_workers", 2) if request.param in ("async", "pipes") else None
        made.append(ENGINES[request.param](env_fns, **options))
        return made[-1]

    yield make_envs
    for envs in made:
        envs.close()


class Base(gym.Env):
    """Environment whose episodes have two steps. It observes the number of steps, at first -7."""

    observation_space = spaces.Box(-10.0, 10.0, (1,), np.float64)
    action_space: Any = spaces.Discrete(5)

    def __init__(self) -> None:
        self.state = np.zeros(1)
        self.words = [0.0]

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        self.state[:] = self.words[0] = -7.0
        return self.state, self.info()

    def step(self, action):
        self.steps += 1
        self.state[:] = self.words[0] = self.steps
        return self.state, self.reward(action), self.steps == 2, False, self.info()

    def reward(self, action) -> Any:
        return 1.0

    def info(self) -> Any:
        return {}


class Live(Base):
    """Environment whose infos are its own arrays and lists, which it changes in place."""

    def info(self):
        return {
            "state": self.state,
            "view": self.state[:1],
            "number": self.state[0:1].reshape(()),
            "nested": {"state": self.state},
            "words": self.words,
            "parts": (self.state, self.words),
        }


class Locked(Live):
    """Environment with a value in its infos that cannot be copied."""

    lock = threading.Lock()

    def info(self):
        return {**super().info(), "lock": self.lock, "deep": {"lock": [self.lock, self.state]}}


def final_infos(envs):
    """Return the final infos of an episode of two steps."""
    envs.reset()
    envs.step([0, 0])
    return envs.step([0, 0])[4]["final_info"]


def test_final_infos_are_those_before_the_reset(make):
    envs = make([Live, Live], autoreset_mode=SAME_STEP)
    final = final_infos(envs)
    for column in (final["state"], final["view"], final["nested"]["state"]):
        assert column.tolist() == [[2.0], [2.0]]
    assert final["number"].tolist() == [2.0, 2.0]
    assert final["words"].tolist() == [[2.0], [2.0]]
    for state, words in final["parts"]:
        assert (state.tolist(), words) == ([2.0], [2.0])


class Whole(Live):
    """Environment whose rewards and frames are its own arrays too, and infos differ in shape."""

    metadata: Any = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    render_mode = "rgb_array"

    def __init__(self, extra=0):
        super().__init__()
        self.extra = extra

    def reward(self, action):
        return self.state.reshape(())

    def info(self):
        ragged = np.broadcast_to(self.state, 2 + self.extra)
        return {**super().info(), "ragged": ragged, "sets": [{1}, {"x": self.words}]}

    def render(self):
        return self.state


@pytest.mark.slow
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
def test_results_stay_as_they_were(make, mode):
    envs = make([Whole, lambda: Whole(1)], autoreset_mode=mode)
    results, copies = [], []
    for _ in range(4):
        for call in (envs.reset, lambda: envs.step([0, 0]), lambda: envs.step([0, 0]), envs.render):
            results.append(call())
            copies.append(copy.deepcopy(results[-1]))
    assert all(map(same_bytes, results, copies))
    assert [results[k][1].tolist() for k in (1, 2)] == [[1.0, 1.0], [2.0, 2.0]]


def test_frames_of_a_stack_are_copies():
    env = gym.wrappers.FrameStack(Live(), 3)
    env.reset()
    stacks = [env.step(0)[0] for _ in range(2)]
    assert [np.asarray(stack).ravel().tolist() for stack in stacks] == [[-7, -7, 1], [-7, 1, 2]]


def test_what_cannot_be_copied_is_in_the_final_info_itself():
    final = final_infos(SyncVectorEnv([Locked, Locked], autoreset_mode=SAME_STEP))
    assert final["lock"].tolist() == [Locked.lock] * 2
    assert final["state"].tolist() == [[2.0], [2.0]]
    for lock, state in final["deep"]["lock"]:
        assert lock is Locked.lock
        assert state.tolist() == [2.0]


def test_final_infos_of_the_eras():
    from gymcore.compat import gym26, gymnasium029

    envs = gymnasium029.vector.SyncVectorEnv([Live, Live])
    envs.reset()
    envs.step([0, 0])
    infos = envs.step([0, 0])[4]
    assert [info["state"].tolist() for info in infos["final_info"]] == [[2.0], [2.0]]
    assert [last.tolist() for last in infos["final_observation"]] == [[2.0], [2.0]]
    env = gym26.wrappers.AutoResetWrapper(Whole())
    env.reset()
    env.step(0)
    observation, reward, _, _, info = env.step(0)
    assert reward == 2.0
    assert observation.tolist() == [-7.0]
    assert info["final_observation"].tolist() == info["final_info"]["state"].tolist() == [2.0]


class Bare(Base):
    """Environment that has no infos."""

    def info(self):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
def test_no_infos(make, mode):
    envs = make([Bare, Bare], autoreset_mode=mode)
    assert envs.reset()[1] == {}
    for _ in range(2):
        infos = envs.step([0, 0])[4]
    assert set(infos) <= {"final_obs", "_final_obs", "final_info", "_final_info"}


# Rewards that are vectors


class Vectors(Base):
    def reward(self, action):
        return [np.array([1.0, 2.0]), np.array([3.0]), [5.0, 6.0], 7.0, np.zeros((2, 2))][action]


@pytest.mark.slow
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
def test_rewards_that_are_vectors(make, mode):
    envs = make([Vectors] * 3, autoreset_mode=mode)
    envs.reset()
    rewards = envs.step([0, 2, 0])[1]
    assert rewards.dtype == np.float64
    assert rewards.tolist() == [[1, 2], [5, 6], [1, 2]]
    assert envs.step([2, 0, 0])[1].tolist() == [[5, 6], [1, 2], [1, 2]]
    if mode is not DISABLED:
        envs.reset(options={"reset_mask": np.array([True, False, False])})
        began = [0, 0] if mode is NEXT_STEP else [1, 2]
        assert envs.step([0, 0, 0])[1].tolist() == [[1, 2], began, began]
    assert rewards.tolist() == [[1, 2], [5, 6], [1, 2]]  # the caller's


def test_rewards_that_are_vectors_of_some_lanes():
    for envs in (SyncVectorEnv([Vectors] * 3), AsyncVectorEnv([Vectors] * 3, num_workers=2)):
        envs.reset()
        assert envs.step([0, 2], env_ids=[2, 0])[1].tolist() == [[1, 2], [5, 6]]
        envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("actions", [(0, 3), (3, 0), (4, 4)])
def test_rewards_of_different_shapes(make, actions):
    envs = make([Vectors] * 2)
    envs.reset()
    with pytest.raises(ValueError, match="reward"):
        envs.step(list(actions))


def test_statistics_are_those_of_numbers():
    envs = SyncVectorEnv([Vectors] * 2, episode_statistics=True)
    envs.reset()
    with pytest.raises(error.InvalidArgument, match=r"numbers, got an array of shape \(2,\)"):
        envs.step([0, 0])


@pytest.mark.parametrize("wrap", ["RecordEpisodeStatistics", "NormalizeReward"])
def test_wrappers_of_numbers_refuse_vectors(wrap):
    envs = getattr(gym.wrappers.vector, wrap)(SyncVectorEnv([Vectors] * 2))
    envs.reset()
    with pytest.raises(error.InvalidArgument, match=r"a number for each lane, got shape \(2, 2\)"):
        envs.step([0, 0])
    env = gym.wrappers.NormalizeReward(Vectors())
    env.reset()
    with pytest.raises(error.InvalidArgument, match="reward: expected a number"):
        env.step(0)


def test_collectors_refuse_vectors():
    def policy(observations):
        zeros = np.zeros(len(observations), np.float32)
        return np.zeros(len(observations), np.int64), zeros, zeros

    collector = RolloutCollector(SyncVectorEnv([Vectors] * 2), policy, 2)
    with pytest.raises(error.InvalidArgument, match="a number for each lane"):
        collector.collect()


# Errors and actions


class Refuses(Base):
    def reward(self, action):
        if action == 4:
            raise error.InvalidAction("illegal move")
        return 1.0


@pytest.mark.parametrize("engine", ["sync", "async", "pipes"])
def test_after_an_environment_refuses_an_action_all_are_reset(engine):
    envs = ENGINES[engine]([Base, Base, Refuses, Base])
    envs.reset()
    with pytest.raises(error.InvalidAction, match=r"environment 2 .*illegal move") as caught:
        envs.step([4, 4, 4, 4])
    assert isinstance(caught.value, error.EnvironmentFailed)
    with pytest.raises(error.ResetNeeded):
        envs.step([0, 0, 0, 0])
    envs.reset()
    assert envs.step([0, 0, 0, 0])[0].tolist() == [[1.0]] * 4
    envs.close()


class Greedy(Base):
    """Environment that changes the action that it is given."""

    action_space = spaces.Dict(a=spaces.Box(-9.0, 9.0, (2,), np.float64), n=spaces.Discrete(5))

    def reward(self, action):
        action["a"] *= 2
        return float(action["a"].sum())


class GreedyArrays(Greedy):
    action_space: Any = spaces.Box(-9.0, 9.0, (2,), np.float64)

    def reward(self, action):
        return super().reward({"a": action})


class GreedySequences(Greedy):
    action_space: Any = spaces.Sequence(spaces.Box(-9.0, 9.0, (2,), np.float64))

    def reward(self, action):
        return super().reward({"a": action[0]})


@pytest.mark.slow
def test_actions_of_the_caller_are_not_changed(make):
    def numbers():
        return np.arange(4.0).reshape(2, 2)

    for cls, actions, array in (
        (GreedyArrays, kept := numbers(), kept),
        (Greedy, {"a": (kept := numbers()), "n": np.array([1, 2])}, kept),
        (GreedySequences, ((kept := numbers())[:1], kept[1:]), kept),
    ):
        envs = make([cls, cls])
        envs.reset()
        assert envs.step(actions)[1].tolist() == [2.0, 10.0]
        assert array.tolist() == numbers().tolist()
