"""Missions of batches: those of the present episodes, whatever stepped the lanes before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.vector import AutoresetMode

NUM_ENVS = 5


def make(mode: AutoresetMode, **arguments: Any) -> Any:
    options = {"autoreset_mode": mode}
    envs = gym.make_vec(
        "BabyAI-GoToLocal-v0", num_envs=NUM_ENVS, max_steps=3, vector_kwargs=options, **arguments
    )
    envs.set_attr("max_steps", [2, 3, 4, 5, 6])
    return envs


def present(envs: Any) -> list[str]:
    return [lane.mission for lane in envs.lane_envs()]


def step(envs: Any, actions: np.ndarray) -> None:
    envs.step(actions)


def step_some(envs: Any, actions: np.ndarray) -> None:
    for lanes in ([3, 0], [1, 2, 4]):
        assert envs.step(actions[lanes], lanes)[0]["mission"].tolist() == [
            present(envs)[lane] for lane in lanes
        ]


def send(envs: Any, actions: np.ndarray) -> None:
    envs.send(actions, np.arange(NUM_ENVS))
    assert envs.recv()[0]["mission"].tolist() == present(envs)


def arrays(envs: Any) -> dict[str, Any]:
    flags = np.zeros((2, NUM_ENVS), np.bool_)
    results = {"rewards": np.zeros(NUM_ENVS), "terminated": flags[0], "truncated": flags[1]}
    return {"observations": envs._batch.empty_observations((NUM_ENVS,)), **results}


def step_into(envs: Any, actions: np.ndarray) -> None:
    envs.step_into(actions, **arrays(envs))


def bind_step(envs: Any, actions: np.ndarray) -> None:
    envs.bind_step(actions, **arrays(envs))()


def rollout(envs: Any, actions: np.ndarray) -> None:
    envs.rollout(actions[None], observations=envs._batch.empty_observations((1, NUM_ENVS)))


def load(envs: Any, actions: np.ndarray) -> None:
    other = make(envs.autoreset_mode)
    other.reset(seed=int(envs.np_random[0].integers(1000)))
    envs.set_state(other.get_state())


WAYS = [step, step_some, send, step_into, bind_step, rollout, load]
# `rollout` needs autoreset.
CASES = [
    pytest.param(way, mode, id=f"{way.__name__}-{mode.value}")
    for way in WAYS
    for mode in AutoresetMode
    if (way, mode) != (rollout, AutoresetMode.DISABLED)
]


@pytest.mark.parametrize(("way", "mode"), CASES)
def test_missions_after(way: Any, mode: AutoresetMode) -> None:
    envs, actions = make(mode), np.full(NUM_ENVS, 6)
    envs.reset(seed=1)
    final = 0
    for turn in range(12):
        for _ in range(turn % 4 + 1):
            way(envs, actions)
            ended = envs._ended_lanes().copy()
            if mode is AutoresetMode.DISABLED and ended.any():
                observations, _ = envs.reset(options={"reset_mask": ended})
                assert observations["mission"].tolist() == present(envs)
        before = present(envs)
        observations, *_, infos = envs.step(actions)
        assert observations["mission"].tolist() == present(envs)
        for lane in np.flatnonzero(infos.get("_final_obs", [])):
            assert infos["final_obs"][lane]["mission"] == before[lane]
            final += 1
        ended = envs._ended_lanes().copy()
        if mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
    assert final > 5 or mode is not AutoresetMode.SAME_STEP or way is load


@pytest.mark.parametrize("copies", [True, False])
def test_missions_cannot_be_written_to(copies: bool) -> None:
    options = {"copy": copies}
    envs = gym.make_vec("MiniGrid-GoToDoor-8x8-v0", num_envs=3, vector_kwargs=options)
    missions = envs.reset(seed=1)[0]["mission"]
    for _ in range(2):
        assert not missions.flags.writeable
        missions = envs.step(np.zeros(3, np.int64))[0]["mission"]
    assert missions.tolist() == present(envs)


def test_rollouts_do_not_drop_missions() -> None:
    envs = make(AutoresetMode.SAME_STEP)
    envs.reset(seed=1)
    actions = np.zeros((2, NUM_ENVS), np.int64)
    before = envs.get_state().tobytes()
    with pytest.raises(error.InvalidArgument, match=r"observations: .* rollouts write no mission"):
        envs.rollout(actions)
    observations = envs._batch.empty_observations((2, NUM_ENVS))
    with pytest.raises(error.InvalidArgument, match=r"observations: .* rollouts write no mission"):
        envs.rollout(actions, observations=observations, final_observations=True)
    assert envs.get_state().tobytes() == before
    assert envs.rollout(actions, observations=observations).observations is observations


def test_final_observations_in_arrays_of_the_caller() -> None:
    """They are rows of the infos, too, as those of a step."""
    envs, other = (make(AutoresetMode.SAME_STEP) for _ in range(2))
    envs.reset(seed=1), other.reset(seed=1)
    finals = envs._batch.empty_observations((NUM_ENVS,))
    ends = 0
    for actions in np.random.default_rng(1).integers(3, size=(30, NUM_ENVS)):
        infos = envs.step_into(actions, **arrays(envs), final_observations=finals)
        expected = other.step(actions)[4]
        assert infos.keys() == expected.keys()
        for lane in np.flatnonzero(infos.get("_final_obs", ())):
            assert infos["final_obs"][lane]["image"].tolist() == finals["image"][lane].tolist()
            assert finals["image"][lane].tolist() == expected["final_obs"][lane]["image"].tolist()
            ends += 1
    assert ends > 0


def test_a_lane_has_the_mission_of_its_present_episode() -> None:
    envs = make(AutoresetMode.SAME_STEP)
    observations, _ = envs.reset(seed=1)
    lane = next(envs.lane_envs())
    for _ in range(6):
        assert lane.mission == lane.gen_obs()["mission"] == observations["mission"][0]
        observations = envs.step(np.full(NUM_ENVS, 6))[0]
    with pytest.raises(error.Error, match="mission: cannot be set for a lane"):
        lane.mission = "go home"


@pytest.mark.parametrize("value", [5, [1, 2, 3], np.zeros((3, 0))])
def test_states_without_numbers_cannot_be_set(value: Any) -> None:
    envs = gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=3)
    with pytest.raises(error.ArgumentTypeError, match="set_state"):
        envs.set_attr("state", value)
    with pytest.raises(error.ResetNeeded):
        envs.step(np.zeros(3, np.int64))
