"""Worlds of agents with PettingZoo's interfaces, and PettingZoo's own tests of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit
from gymcore.interop.pettingzoo import aec_env, parallel_env
from tests.vector.agents_model import Chase, Herd, Model
from tests.vector.contract import same_bytes

gymnasium = pytest.importorskip("gymnasium")

WORLDS = {"test/Herd-v0": Herd, "test/Chase-v0": Chase}
FAMILIES = [
    *(id for id in gym.registry if id.startswith("mpe/")),
    "Foraging-8x8-2p-3f-v3",
    "Foraging-grid-2s-6x6-4p-3f-coop-v3",
    "rware-tiny-2ag-v2",
    "rware-img-2s-tiny-3ag-easy-v2",
    "mamujoco/HalfCheetah-2x3-v1",
    "mamujoco/Hopper-3x1-v1",
]


@pytest.fixture(autouse=True)
def worlds() -> Iterator[None]:
    for name, cls in WORLDS.items():
        gym.register(name, cls, max_episode_steps=6)
    yield
    for name in WORLDS:
        gym.registry.pop(name)


@pytest.mark.filterwarnings("ignore")  # PettingZoo warns of conventions, such as names of classes
@pytest.mark.parametrize("env_id", [*WORLDS, *FAMILIES])
@pytest.mark.parametrize("test", ["parallel_api", "api", "parallel_seed", "seed"])
def test_worlds_pass_the_tests_of_pettingzoo(env_id: str, test: str) -> None:
    tests = pytest.importorskip("pettingzoo.test")
    if test == "parallel_api":
        tests.parallel_api_test(parallel_env(env_id), num_cycles=60)
    elif test == "api":
        tests.api_test(aec_env(env_id), num_cycles=60)
    elif test == "parallel_seed":
        tests.parallel_seed_test(lambda: parallel_env(env_id), num_cycles=60)
    else:
        tests.seed_test(lambda: aec_env(env_id), num_cycles=60)


@pytest.mark.parametrize("env_id", WORLDS)
def test_a_world_is_that_of_the_model(env_id: str) -> None:
    world: Any = parallel_env(env_id)
    model = Model(WORLDS[env_id].__name__.lower(), [5], "Disabled", 6)
    random = np.random.default_rng(0)
    world.reset(seed=5)
    for _ in range(4):
        while world.agents:
            playing = list(world.agents)
            actions = {agent: int(random.integers(2)) for agent in playing}
            results = world.step(actions)
            names = world.possible_agents
            expected = model.step(0, [actions.get(agent, 0) for agent in names])
            for result, key in zip(
                results, ("observations", "rewards", "terminated", "truncated"), strict=False
            ):
                assert list(result) == playing
                for agent in playing:
                    assert np.array_equal(result[agent], expected[key][names.index(agent)])
            state = model.worlds[0].state(expected["active"])
            assert np.array_equal(world.state(), np.float32(state))
            for agent in playing:
                assert results[4][agent]["action_mask"].shape == (world.action_space(agent).n,)
        with pytest.raises(error.ResetNeeded):
            world.step({})
        world.reset()
        model.begin(model.worlds[0])
    world.close()


def test_worlds_refuse_wrong_calls() -> None:
    with pytest.raises(error.UnsupportedMode, match="several agents"):
        parallel_env("CartPole-v1")
    with pytest.raises(error.UnsupportedMode, match="make_vec"):
        gym.make("test/Herd-v0")
    world: Any = parallel_env("test/Herd-v0")
    with pytest.raises(error.ResetNeeded):
        world.step({})
    world.reset(seed=1)
    for actions in ({"agent_0": 1}, {**dict.fromkeys(world.agents, 1), "agent_9": 0}):
        with pytest.raises(error.InvalidAction, match="agent_2"):
            world.step(actions)
    for action in ("left", None, [1, 2, 3, 4], float("nan"), {}, 3):
        with pytest.raises(error.InvalidAction):
            world.step(dict.fromkeys(world.agents, action))
    for actions in (None, "left", [1, 2, 0], np.array(1), 2.5):
        with pytest.raises(error.InvalidAction, match="actions: expected"):
            world.step(actions)
    for options in ("x", 3, [1], np.zeros(2)):
        with pytest.raises(error.ArgumentTypeError, match="options: expected"):
            world.reset(options=options)


def unpickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("env_id", ["test/Chase-v0", "mpe/simple_tag_v3", "rware-tiny-2ag-v2"])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, unpickled])
def test_copies_and_pickles_continue_the_episode(env_id: str, duplicate: Any) -> None:
    world: Any = parallel_env(env_id)
    world.reset(seed=3)
    actions = {agent: space.sample() for agent, space in world._spaces[1].items()}
    world.step(actions)
    other = duplicate(world)
    assert type(other) is type(world)
    while world.agents:
        played = {agent: actions[agent] for agent in world.agents}
        assert same_bytes(world.step(played), other.step(played))
        assert world.agents == other.agents


class Goals(Herd):
    """A herd whose infos have an array that is not divided among the agents."""

    class Infos:
        goal: jit.array(np.float64, 2)  # type: ignore[valid-type]

    def info(state, parameters, info):  # type: ignore
        info.goal[0] = 7.0


def test_agents_share_no_array_of_infos() -> None:
    gym.register("test/Goals-v0", Goals)
    try:
        _, infos = parallel_env("test/Goals-v0").reset(seed=1)
    finally:
        gym.registry.pop("test/Goals-v0")
    first, *others = infos.values()
    first["goal"][0] = -1.0
    assert [info["goal"][0] for info in others] == [7.0, 7.0]
