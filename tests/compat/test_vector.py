"""Conversion of vector environments between the interfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, spaces
from gymcore.compat import DoneVectorEnv, VectorEnvCompatibility, from_done_api, to_done_api
from gymcore.vector import AutoresetMode, SyncVectorEnv
from tests.compat.old import OldEnv, OldVectorEnv

MODES = ("NextStep", "SameStep", "Disabled")


def sync(mode: str, lengths: Any = (2, 3)) -> SyncVectorEnv:
    fns = [lambda n=n: from_done_api(OldEnv(length=n, limited=n == 3)) for n in lengths]
    return SyncVectorEnv(fns, autoreset_mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_todays_batch_as_an_old_one(mode: str) -> None:
    envs = to_done_api(sync(mode))
    assert envs.seed(5) == [[5], [6]]
    assert envs.reset().tolist() == [[5, 0], [6, 0]]
    observations, rewards, dones, infos = envs.step([1, 2])
    assert observations.tolist() == [[5, 1], [6, 1]] and rewards.tolist() == [1, 2]
    assert dones.tolist() == [False, False] and infos == [{"elapsed": 1}] * 2

    observations, rewards, dones, infos = envs.step([3, 4])
    assert observations.tolist() == [[5, 0], [6, 2]] and rewards.tolist() == [3, 4]
    assert dones.tolist() == [True, False]
    assert infos[0].pop("terminal_observation").tolist() == [5, 2]
    assert infos == [{"elapsed": 2, "TimeLimit.truncated": False}, {"elapsed": 2}]

    observations, rewards, dones, infos = envs.step([1, 1])  # lane 0 continues
    assert observations.tolist() == [[5, 1], [6, 0]] and rewards.tolist() == [1, 1]
    assert infos[1].pop("terminal_observation").tolist() == [6, 3]
    assert infos == [{"elapsed": 1}, {"elapsed": 3, "TimeLimit.truncated": True}]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vectorization_mode", ["sync", "vector_entry_point"])
def test_engines_agree(mode: str, vectorization_mode: str) -> None:
    def rollout(mode: str, vectorization_mode: str) -> list[Any]:
        kwargs = {"autoreset_mode": mode}
        envs = to_done_api(
            gymcore.make_vec(
                "CartPole-v1",
                num_envs=3,
                vectorization_mode=vectorization_mode,
                vector_kwargs=kwargs,
                max_episode_steps=12,
            )
        )
        envs.seed([1, 2, 3])
        out: list[Any] = [envs.reset().tolist()]
        for step in range(60):
            observations, rewards, dones, infos = envs.step([step % 2, 1, 0])
            ends = [info.get("terminal_observation", np.zeros(0)).tolist() for info in infos]
            limits = [info.get("TimeLimit.truncated") for info in infos]
            out += [observations.tolist(), rewards.tolist(), dones.tolist(), ends, limits]
        return out

    assert rollout(mode, vectorization_mode) == rollout("SameStep", "vector_entry_point")


def test_calls_in_two_parts() -> None:
    envs = to_done_api(sync("SameStep"))
    envs.reset()
    with pytest.raises(error.NoAsyncCallError):
        envs.step_wait()
    envs.step_async([1, 2])
    with pytest.raises(error.AlreadyPendingCallError):
        envs.step_async([1, 2])
    assert envs.step_wait()[1].tolist() == [1, 2]


def test_seeds_and_attributes() -> None:
    envs = to_done_api(sync("SameStep"))
    assert len(envs.envs) == 2 and envs.num_envs == 2
    assert envs.seed([7, 3]) == [[7], [3]]
    assert envs.seed(np.array(4)) == [[4], [5]]
    assert envs.seed([7, 3]) == [[7], [3]]
    assert envs.reset().tolist() == [[7, 0], [3, 0]]
    observations, infos = envs.reset(seed=1, return_info=True)
    assert observations.tolist() == [[1, 0], [2, 0]] and infos == [{}, {}]
    (first,), (second,) = envs.seed()
    assert second == first + 1
    with pytest.raises(error.InvalidArgument, match="length must match num_envs=2"):
        envs.seed([1])
    with pytest.raises(error.UnsupportedMode):
        envs.render(mode="rgb_array")
    frames = gymcore.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
    frames = to_done_api(frames)
    frames.reset()
    assert len(frames.render(mode="rgb_array")) == 2


def test_nested_observations() -> None:
    class Nested(gymcore.Env):
        observation_space = spaces.Dict(a=spaces.Discrete(9), b=spaces.Tuple([spaces.Discrete(9)]))
        action_space = spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return {"a": 0, "b": (0,)}, {}

        def step(self, action: Any) -> Any:
            return {"a": 1, "b": (2,)}, 0.0, True, False, {}

    for mode in MODES:
        envs = to_done_api(SyncVectorEnv([Nested] * 2, autoreset_mode=mode))
        envs.reset()
        observations, _, _, infos = envs.step([0, 0])
        assert observations["a"].tolist() == [0, 0]
        last = infos[1]["terminal_observation"]
        assert last["a"] == 1 and last["b"] == (2,)


# From the old interface


def old_batch() -> OldVectorEnv:
    return OldVectorEnv([OldEnv(length=2), OldEnv(length=3, limited=True)])


def test_an_old_batch() -> None:
    old = old_batch()
    envs = from_done_api(old)
    assert type(envs) is VectorEnvCompatibility
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.single_observation_space == OldEnv.observation_space
    assert envs.observation_space.shape == (2, 2)
    assert envs.action_space == spaces.MultiDiscrete([5, 5])
    observations, infos = envs.reset(seed=5)
    assert observations.tolist() == [[5, 0], [6, 0]] and infos == {}
    assert envs.step([1, 2])[4]["elapsed"].tolist() == [1, 1]
    observations, rewards, terminations, truncations, infos = envs.step([1, 2])
    assert observations.tolist() == [[5, 0], [6, 2]] and rewards.dtype == np.float64
    assert terminations.tolist() == [True, False] and not truncations.any()
    assert infos["final_obs"][0].tolist() == [5, 2] and infos["final_obs"][1] is None
    assert infos["_final_obs"].tolist() == [True, False]
    assert infos["final_info"]["elapsed"].tolist() == [2, 0]
    assert infos["elapsed"].tolist() == [0, 2] and infos["_elapsed"].tolist() == [False, True]
    _, _, terminations, truncations, infos = envs.step([1, 2])
    assert not terminations.any() and truncations.tolist() == [False, True]
    assert envs.closed_by == []
    envs.reset(options={"reset_mask": np.array([True, True])})
    with pytest.raises(error.InvalidArgument, match="resets all lanes, or none"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.close()
    envs.close()
    assert old.closed_by == ["close"]


def test_vector_wrappers_around_an_old_batch() -> None:
    envs = gymcore.compat.gym26.wrappers.RecordEpisodeStatistics(from_done_api(old_batch()))
    envs.reset()
    envs.step([1, 2])
    infos = envs.step([1, 2])[4]
    assert infos["episode"]["r"].tolist() == [2, 0] and infos["episode"]["l"].tolist() == [2, 0]


def test_there_and_back() -> None:
    old = old_batch()
    assert to_done_api(from_done_api(old)) is old
    new = sync("SameStep")
    done = to_done_api(new)
    assert type(done) is DoneVectorEnv and to_done_api(done) is done
    assert from_done_api(done) is new
    done.seed(5)
    again = from_done_api(done)  # with the pending seed
    assert again.reset()[0].tolist() == [[5, 0], [6, 0]]
    again.step([0, 0])
    assert again.step([0, 0])[4]["final_obs"][0].tolist() == [5, 2]


def test_a_last_observation_that_was_lost() -> None:
    class Loses(OldVectorEnv):
        def step(self, actions: Any) -> Any:
            *rest, infos = super().step(actions)
            return *rest, [{k: v for k, v in i.items() if k == "elapsed"} for i in infos]

    envs = from_done_api(Loses([OldEnv(length=1)]))
    envs.reset()
    assert envs.step([0])[4]["final_obs"].tolist() == [None]


def test_no_vector_environment() -> None:
    with pytest.raises(TypeError, match="old_envs: expected a vector environment"):
        VectorEnvCompatibility(OldEnv())
