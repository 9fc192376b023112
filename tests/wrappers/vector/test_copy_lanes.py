"""`copy_lanes` through vector wrappers: copies continue as their originals, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.wrappers import vector as w

CAN = {
    "no wrapper": lambda envs: envs,
    "ArrayConversion": lambda envs: w.ArrayConversion(envs, np, np),
    "ClipReward": lambda envs: w.ClipReward(envs, -1, 1),
    "DelayObservation": lambda envs: w.DelayObservation(envs, 2),
    "DictInfoToList": w.DictInfoToList,
    "FlattenObservation": w.FlattenObservation,
    "FrameStackObservation": lambda envs: w.FrameStackObservation(envs, 2),
    "MaxAndSkipObservation": lambda envs: w.MaxAndSkipObservation(envs, 2),
    "NormalizeObservation": w.NormalizeObservation,
    "NormalizeReward": w.NormalizeReward,
    "RecordEpisodeStatistics": w.RecordEpisodeStatistics,
    "RepeatAction": lambda envs: w.RepeatAction(envs, 2),
    "StickyAction": lambda envs: w.StickyAction(envs, 0.5),
    "TimeAwareObservation": w.TimeAwareObservation,
    "TimeLimit": lambda envs: w.TimeLimit(envs, 5),
    "VectorWrapper": gym.vector.VectorWrapper,
    "several": lambda envs: w.RecordEpisodeStatistics(
        w.TimeAwareObservation(w.TimeLimit(w.NormalizeReward(envs), 5))
    ),
}


TEXTS = gym.spaces.Dict(
    x=gym.spaces.Box(-np.inf, np.inf, (4,)), text=gym.spaces.Text(9, charset="-.0123456789")
)


class Stepping(gym.vector.VectorWrapper):
    def step(self, actions):
        return self.env.step(actions)


CANNOT = {
    "Stepping": Stepping,
    "Stepping inside": lambda envs: w.TimeLimit(Stepping(envs), 5),
}


def make(wrap: Any, mode: str, **kwargs: Any) -> Any:
    return wrap(gym.make_vec("Pendulum-v1", 3, vector_kwargs={"autoreset_mode": mode}, **kwargs))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("name", CAN)
def test_copies_continue_as_their_originals(name, mode):
    envs = make(CAN[name], mode, max_episode_steps=9)
    envs.reset(seed=1)
    torques = np.random.default_rng(0).uniform(-2, 2, (20, 1, 1)).astype(np.float32)
    for torque in torques[:3]:
        envs.step(np.float32([[0.5], [1.0], [1.5]]) * torque)
        envs.reset(options={"reset_mask": np.array([True, False, False])})
    envs.copy_lanes([1, 1], [0, 2])
    ended = 0
    for torque in torques:
        observations, rewards, terminated, truncated, infos = envs.step(torque.repeat(3, axis=0))
        values = [observations, rewards, terminated, truncated]
        if isinstance(infos, dict) and "episode" in infos:
            values += [infos["episode"]["r"], infos["episode"]["l"]]
        for value in values:
            assert (value == value[1]).all()
        ended += truncated.all()
        if mode == "Disabled" and truncated.any():
            first, _ = envs.reset(options={"reset_mask": truncated})
            assert (first == first[1]).all()
    assert ended


@pytest.mark.parametrize("name", CANNOT)
def test_wrappers_that_cannot_copy_change_nothing(name):
    envs = make(CANNOT[name], "NextStep")
    envs.reset(seed=1)
    before = envs.unwrapped.get_state().tobytes()
    kind = type(envs.env if name == "Stepping inside" else envs).__name__
    with pytest.raises(error.UnsupportedMode, match=f"copy_lanes: {kind}"):
        envs.copy_lanes([0], [1])
    assert envs.unwrapped.get_state().tobytes() == before


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_frames_of_any_space_and_generators_of_other_processes_are_copied(mode):
    def make_env():
        env = gym.make("CartPole-v1")
        return gym.wrappers.TransformObservation(
            env, lambda x: {"x": x, "text": str(round(float(x[0]), 3))}, TEXTS
        )

    engine = gym.vector.SyncVectorEnv if mode == "sync" else gym.vector.AsyncVectorEnv
    with w.StickyAction(w.FrameStackObservation(engine([make_env] * 3), 2), 0.5) as envs:
        envs.reset(seed=1)
        envs.step(np.array([0, 1, 1]))
        envs.copy_lanes([1, 1], [0, 2])
        for action in (1, 0, 0, 1, 0):
            observations = envs.step(np.full(3, action))[0]
            assert (observations["x"] == observations["x"][1]).all()
            assert [len(set(texts)) for texts in observations["text"]] == [1, 1]


def test_batches_of_gym_026_are_copied():
    envs = gym.vector.make("Pendulum-v1", num_envs=2)
    envs.reset(seed=1)
    envs.copy_lanes([0], [1])
    observations = envs.step(np.zeros((2, 1), np.float32))[0]
    assert (observations[0] == observations[1]).all()
