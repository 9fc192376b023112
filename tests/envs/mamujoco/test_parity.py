"""MaMuJoCo beside gymnasium-robotics: equal seeds and actions give the same bits."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.interop.gymnasium import to_gymnasium_space

pytest.importorskip("mujoco")
pytest.importorskip("pettingzoo")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mamujoco_v1 = pytest.importorskip("gymnasium_robotics.envs.multiagent_mujoco.mamujoco_v1")

# Episodes of one world in each configuration, of at most so many steps.
EPISODES, STEPS = 2, 30

CONFIGURATIONS = [
    *(("Ant", "2x4"), ("Ant", "2x4d"), ("Ant", "4x2"), ("HalfCheetah", "2x3")),
    *(("HalfCheetah", "6x1"), ("HalfCheetah", None), ("Hopper", "3x1"), ("Humanoid", "9|8")),
    *(("HumanoidStandup", "9|8"), ("InvertedDoublePendulum", None), ("InvertedPendulum", None)),
    *(("ManySegmentAnt", "2x2"), ("ManySegmentAnt", "3x1"), ("ManySegmentSwimmer", "3x2")),
    *(("ManySegmentSwimmer", "2x1"), ("Pusher", "3p"), ("Reacher", "2x1"), ("Swimmer", "2x1")),
    *(("Walker2d", "2x3"), ("CoupledHalfCheetah", "1p1")),
]


def original(scenario: str, agent_conf: str | None, **arguments: Any) -> Any:
    """Return the original, in which nodes with the same label have an order."""
    logging.disable(logging.WARNING)
    try:
        env = mamujoco_v1.parallel_env(scenario, agent_conf, **arguments)
    except IndexError:
        pytest.skip("the original reads the Jacobian of tendons of an older MuJoCo")
    except ImportError:
        pytest.skip("jinja2 is not installed")
    finally:
        logging.disable(logging.NOTSET)
    for levels in getattr(env, "k_dicts", ()):
        for nodes in levels.values():
            nodes.sort(key=lambda node: (node.label, node.act_ids))
    return env


def as_batch(world: Any) -> Any:
    """Return an element of the space of a world as a batch of one."""
    return {k: v[None] for k, v in world.items()} if isinstance(world, dict) else world[None]


def same(agents: Any, space: Any, batch: Any, expected: dict[str, Any]) -> None:
    """Compare the observations of a batch of one with those of the original, bit by bit."""
    world = {k: v[0] for k, v in batch.items()} if isinstance(batch, dict) else batch[0]
    for name, part in agents.split(space, world).items():
        assert part.dtype == expected[name].dtype and part.shape == expected[name].shape
        assert part.tobytes() == expected[name].tobytes(), name


def compare(
    scenario: str, agent_conf: str | None, episodes: int, steps: int, **arguments: Any
) -> None:
    """Step both with the same actions and compare all results."""
    judge = original(scenario, agent_conf, **arguments)
    envs: Any = gymcore.make_vec(
        f"mamujoco/{scenario}-v1",
        1,
        agent_conf=agent_conf,
        vector_kwargs={"autoreset_mode": "Disabled"},
        **arguments,
    )
    agents, space = envs.agents, envs.single_observation_space
    assert list(agents.names) == judge.possible_agents
    for name in agents.names:
        assert to_gymnasium_space(agents.observation_space(name)) == judge.observation_space(name)
        assert to_gymnasium_space(agents.action_space(name)) == judge.action_space(name)
    random = np.random.default_rng(0)
    for seed in range(episodes):
        same(agents, space, envs.reset(seed=seed)[0], judge.reset(seed=seed)[0])
        for _ in range(steps):
            actions = {
                name: random.uniform(-1.2, 1.2, agents.action_space(name).shape).astype(np.float32)
                for name in agents.names
            }
            results = envs.step(as_batch(agents.join(1, actions)))
            expected = judge.step(actions)
            same(agents, space, results[0], expected[0])
            for result, values in zip(results[1:4], expected[1:4], strict=True):
                assert result[0].tolist() == [float(values[name]) for name in agents.names]
            infos = expected[4]["agent_0"]
            assert all(np.array_equal(results[4][name][0], infos[name]) for name in infos)
            if results[2][0, 0] or results[3][0, 0]:
                break
        assert envs.central_state()[0].tobytes() == judge.state().tobytes()
    envs.close()
    judge.close()


@pytest.mark.parametrize(("scenario", "agent_conf"), CONFIGURATIONS)
def test_worlds_equal_the_original(scenario: str, agent_conf: str | None) -> None:
    compare(scenario, agent_conf, EPISODES, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("scenario", "agent_conf"), CONFIGURATIONS)
def test_many_episodes_equal_the_original(scenario: str, agent_conf: str | None) -> None:
    compare(scenario, agent_conf, 200, 1000)


@pytest.mark.parametrize(
    ("scenario", "agent_conf", "arguments"),
    [
        ("HalfCheetah", "6x1", {"agent_obsk": 0}),
        ("HalfCheetah", "6x1", {"agent_obsk": 3}),
        ("HalfCheetah", "2x3", {"agent_obsk": None}),
        ("ManySegmentAnt", "4x1", {"agent_obsk": 2}),
        ("Pusher", "3p", {"agent_obsk": 2}),
        ("Humanoid", "9|8", {"agent_obsk": 1, "local_categories": [["cvel"], ["qvel", "cinert"]]}),
        ("Ant", "4x2", {"agent_obsk": 1, "local_categories": [["cfrc_ext"], ["cfrc_ext"]]}),
        ("Walker2d", "2x3", {"global_categories": ("qvel",)}),
        ("Hopper", "3x1", {"healthy_z_range": (0.9, 2.0), "reset_noise_scale": 0.1}),
    ],
)
def test_arguments_have_the_effects_of_the_original(
    scenario: str, agent_conf: str, arguments: dict[str, Any]
) -> None:
    compare(scenario, agent_conf, 2, 30, **arguments)


@pytest.mark.parametrize("scenario", ["Ant", "HalfCheetah", "Hopper", "Swimmer", "Walker2d"])
def test_maps_equal_those_of_the_original(scenario: str) -> None:
    conf = dict(CONFIGURATIONS[::-1])[scenario]
    judge = original(scenario, conf)
    envs: Any = gymcore.make_vec(f"mamujoco/{scenario}-v1", 1, agent_conf=conf)
    agents = envs.agents
    observations, _ = envs.reset(seed=3)
    expected, _ = judge.reset(seed=3)
    action = np.linspace(-1.0, 1.0, envs._model.model.nu)
    local = judge.map_global_action_to_local_actions(action)
    parts = envs.map_global_action_to_local_actions(action[None])
    same(agents, envs.single_action_space, parts, local)
    assert np.array_equal(envs.map_local_actions_to_global_action(parts)[0], action)
    assert np.array_equal(judge.map_local_actions_to_global_action(local), action)
    state = envs.central_state()
    mapped = judge.map_global_state_to_local_observations(state[0])
    same(agents, envs.single_observation_space, observations, expected)
    same(
        agents,
        envs.single_observation_space,
        envs.map_global_state_to_local_observations(state),
        mapped,
    )
    restored = envs.map_local_observations_to_global_state(observations)[0]
    known = ~np.isnan(restored)
    assert known.any() and np.array_equal(restored[known], state[0][known])
    envs.close()
