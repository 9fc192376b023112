"""MaMuJoCo: ids, arguments, ways of stepping, states and divisions of other environments."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.mamujoco.graphs import Graph, Node, graph_of
from gymcore.envs.mamujoco.ids import mamujoco_spec

mujoco = pytest.importorskip("mujoco")

ID = "mamujoco/HalfCheetah-2x3-v1"


def parts(batch: Any) -> list[np.ndarray]:
    return list(batch.values()) if isinstance(batch, dict) else [batch]


def equal(first: Any, second: Any) -> bool:
    return all(map(np.array_equal, parts(first), parts(second)))


def test_ids_may_have_a_configuration_in_them() -> None:
    spec = gymcore.spec("mamujoco/Humanoid-9_8-v1")
    assert spec.kwargs == {"agent_conf": "9|8"} and spec.max_episode_steps == 1000
    assert gymcore.spec("mamujoco/Pusher-3p-v1").max_episode_steps == 100
    assert gymcore.spec("mamujoco/Reacher-v1").kwargs == {}
    for env_id in ("mamujoco/Point-v1", "mamujoco/Ant-2x4-v0", "mamujoco/Ant-2|4-v1", "Ant-2x4-v1"):
        assert mamujoco_spec(env_id) is None


@pytest.mark.parametrize(
    ("env_id", "arguments", "message"),
    [
        ("mamujoco/Ant-3x3-v1", {}, "agent_conf: expected one of 2x4, 2x4d, 4x2, got '3x3'"),
        ("mamujoco/InvertedPendulum-1x1-v1", {}, "agent_conf: expected None for"),
        ("mamujoco/ManySegmentAnt-v1", {}, "agent_conf: expected agents and segments"),
        ("mamujoco/ManySegmentSwimmer-1x1-v1", {}, "agent_conf: expected at least 2 segments"),
        ("mamujoco/ManySegmentSwimmer-2x99-v1", {}, "agent_conf: expected at most 32, got 99"),
        (ID, {"agent_obsk": -1}, "agent_obsk: expected at least 0"),
        (ID, {"agent_factorization": Graph([])}, "expected all of 6 actuators once"),
        (ID, {"agent_confs": "2x3"}, "agent_confs"),
    ],
)
def test_bad_arguments_are_refused(env_id: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((error.Error, TypeError), match=message):
        gymcore.make_vec(env_id, 2, **arguments)
    with pytest.raises(error.UnsupportedMode, match="several agents"):
        gymcore.make(ID)


def test_agents_that_differ_have_dicts() -> None:
    envs: Any = gymcore.make_vec("mamujoco/Hopper-3x1-v1", 4)
    observations, _ = envs.reset(seed=1)
    assert {k: v.shape for k, v in observations.items()} == {
        "agent_0": (4, 1, 8),
        "agent_1": (4, 1, 9),
        "agent_2": (4, 1, 8),
    }
    assert envs.observation_space.contains(observations)
    assert envs.step(envs.action_space.sample())[1].shape == (4, 3)
    envs.close()


def test_parts_of_many_agents_are_in_the_order_of_dict_spaces() -> None:
    """`agent_10` comes before `agent_2` in a `Dict` space, and after it among the agents."""
    envs: Any = gymcore.make_vec("mamujoco/ManySegmentSwimmer-12x1-v1", 2)
    envs.reset(seed=1)
    actions = envs.action_space.sample()
    observations, *_ = envs.step(actions)
    flat = np.concatenate([actions[name][:, 0] for name in envs.agents.names], axis=1)
    assert np.array_equal(envs.map_local_actions_to_global_action(actions), flat)
    assert equal(envs.map_global_state_to_local_observations(envs.central_state()), observations)
    assert equal(envs.map_global_action_to_local_actions(flat), actions)
    envs.close()


@pytest.mark.parametrize("env_id", [ID, "mamujoco/Hopper-3x1-v1"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_ways_of_stepping_agree(env_id: str, mode: str) -> None:
    def make() -> Any:
        return gymcore.make_vec(
            env_id, 3, max_episode_steps=7, vector_kwargs={"autoreset_mode": mode}
        )

    envs, others = make(), make()
    envs.reset(seed=5)
    others.reset(seed=5)
    envs.action_space.seed(1)
    actions = [envs.action_space.sample() for _ in range(20)]
    stacked = (
        {name: np.stack([action[name] for action in actions]) for name in actions[0]}
        if isinstance(actions[0], dict)
        else np.stack(actions)
    )
    rollout = others.rollout(stacked)
    for t, action in enumerate(actions):
        results = envs.step(action)
        rows = [part[t] for part in parts(rollout.observations)]
        assert all(map(np.array_equal, parts(results[0]), rows))
        assert np.array_equal(results[1], rollout.rewards[t])
        assert np.array_equal(results[3], rollout.truncated[t])
    assert rollout.truncated.any(axis=0).all()
    envs.close()
    others.close()


def test_copies_states_and_parts_of_batches_continue() -> None:
    envs: Any = gymcore.make_vec(ID, 3)
    envs.reset(seed=1)
    envs.action_space.seed(0)
    for _ in range(3):
        envs.step(envs.action_space.sample())
    saved, twin = envs.get_state(), copy.deepcopy(envs)
    action = envs.action_space.sample()
    expected = envs.step(action)
    assert equal(twin.step(action)[0], expected[0])
    envs.set_state(saved)
    subset = envs.step(action[[2, 0]], env_ids=[2, 0])
    assert np.array_equal(subset[0], expected[0][[2, 0]])
    envs.set_attr("ctrl_cost_weight", [0.0, 0.5, 1.0])
    assert envs.get_attr("ctrl_cost_weight") == (0.0, 0.5, 1.0)
    envs.close()


def test_one_agent_has_the_results_of_the_undivided_environment() -> None:
    envs: Any = gymcore.make_vec("mamujoco/HalfCheetah-v1", 2)
    single: Any = gymcore.make_vec("HalfCheetah-v5", 2)
    single.action_space.seed(0)
    assert np.array_equal(envs.reset(seed=1)[0][:, 0], single.reset(seed=1)[0])
    action = single.action_space.sample()
    results, expected = envs.step(action[:, None]), single.step(action)
    assert np.array_equal(results[0][:, 0], expected[0])
    assert np.array_equal(results[1][:, 0], expected[1])
    assert np.array_equal(envs.central_state(), expected[0])
    envs.close()
    single.close()


def test_other_environments_can_be_divided() -> None:
    from gymcore.envs.mamujoco.env import MamujocoVectorEnv
    from gymcore.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv

    pole = Node("pole", 1, 1, 0, extra_obs={"height": lambda s: s.data.xpos[-1:]})
    cart = Node("cart", 0, 0, None)
    graph = {"partition": [[pole]], "edges": [[pole, cart]], "globals": [cart]}
    envs: Any = MamujocoVectorEnv.of(InvertedPendulumEnv)(
        2, agent_factorization=graph, local_categories=[["qpos", "height"], ["qvel"]]
    )
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (2, 1, 5)
    state = envs.central_state()
    assert np.array_equal(observations[:, 0, [0, 2, 3, 4]], state[:, [1, 2, 0, 2]])
    with pytest.raises(error.InvalidArgument, match="state: expected all that agents observe"):
        envs.map_global_state_to_local_observations(state)
    envs.close()


def test_nodes_are_at_their_distance() -> None:
    graph = graph_of("Hopper", "3x1")
    labels = [[node.label for node in level] for level in graph.by_distance(2, 3)]
    assert labels == [["foot_joint"], ["leg_joint"], ["thigh_joint"], []]


def test_worlds_have_pettingzoos_interface() -> None:
    pytest.importorskip("gymnasium")
    from gymcore.interop.pettingzoo import parallel_env

    world: Any = parallel_env("mamujoco/Humanoid-9_8-v1")
    _, infos = world.reset(seed=1, options={"qvel": np.zeros(23), "unknown": 1})
    assert infos["agent_0"]["tendon_length"].shape == (2,)  # not divided among the two agents
    assert np.array_equal(world.state()[22:45], np.zeros(23))
    actions = {agent: world.action_space(agent).sample() for agent in world.agents}
    rewards = world.step(actions)[1]
    assert rewards["agent_0"] == rewards["agent_1"]
    world.close()
