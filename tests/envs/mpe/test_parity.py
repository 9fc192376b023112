"""All ids of mpe2: equal seeds and actions give the same bits."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.interop.pettingzoo import aec_env, parallel_env

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("mpe2", "1.1.1")
    pytest.importorskip("pettingzoo")

IDS = [id for id in gymcore.registry if id.startswith("mpe/")]

# Arguments other than the defaults.
ARGUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "collectors": (
        "collect_treasure_v1",
        {"num_collectors": 3, "num_deposits": 3, "num_treasures": 4},
    ),
    "adversaries of two": ("simple_adversary_v3", {"N": 4}),
    "adversary neighbors": (
        "simple_adversary_v3",
        {"num_agent_neighbors": 1, "num_landmark_neighbors": 1},
    ),
    "formation of nine": ("simple_formation_v1", {"N": 9, "terminate_on_success": True}),
    "line of one": ("simple_line_v1", {"N": 1, "terminate_on_success": True}),
    "line of ten": ("simple_line_v1", {"N": 10}),
    "long reference": ("simple_reference_v3", {"local_ratio": 0.1, "max_cycles": 40}),
    "spread of five": ("simple_spread_v3", {"N": 5, "max_cycles": 3}),
    "spread of two": (
        "simple_spread_v3",
        {"N": 2, "terminate_on_success": True, "local_ratio": 0.25, "max_cycles": 100},
    ),
    "spread neighbors": (
        "simple_spread_v3",
        {"num_agent_neighbors": 1, "num_landmark_neighbors": 5, "curriculum": True},
    ),
    "tag": ("simple_tag_v3", {"num_good": 2, "num_adversaries": 4, "num_obstacles": 3}),
    "tag curriculum": ("simple_tag_v3", {"curriculum": True, "terminate_on_success": True}),
    "tag neighbors": ("simple_tag_v3", {"num_agent_neighbors": 4, "num_landmark_neighbors": 1}),
    "no obstacles": ("simple_tag_v3", {"num_obstacles": 0}),
    "no forests": ("simple_world_comm_v3", {"num_obstacles": 0, "num_forests": 0}),
    "world_comm": (
        "simple_world_comm_v3",
        {"num_good": 3, "num_adversaries": 2, "num_obstacles": 2, "num_food": 3, "num_forests": 1},
    ),
}


def original(name: str, **arguments: Any) -> Any:
    """Return mpe2's environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"mpe2.{name}").parallel_env(**arguments)


def agent_actions(space: Any, rng: np.random.Generator, favorite: float) -> Any:
    """Return an action, often the favorite one, so that agents meet."""
    if hasattr(space, "low"):
        return rng.random(space.shape, np.float32)
    return int(space.n * favorite) if rng.random() < 0.4 else int(rng.integers(space.n))


def compare(name: str, continuous: bool, seed: int, worlds: int, **arguments: Any) -> None:
    """Step a batch of worlds, which begins episodes anew, and each world of mpe2 beside it."""
    envs = gymcore.make_vec(
        f"mpe/{name}", worlds, continuous_actions=continuous, autoreset_mode="disabled", **arguments
    )
    env = original(name, continuous_actions=continuous, **arguments)
    agents, names = envs.agents, env.possible_agents
    observed, acted = (getattr(envs, f"single_{role}_space") for role in ("observation", "action"))
    assert list(agents.names) == names
    for agent in names:
        for role in ("observation_space", "action_space"):
            ours, theirs = (getattr(owner, role)(agent) for owner in (agents, env))
            assert repr(ours) == repr(theirs)
    steps = arguments.get("max_cycles", 25) + 3
    rngs = [np.random.default_rng(seed + k) for k in range(worlds)]
    choices: list[list[dict[str, Any]]] = []
    for rng in rngs:
        favorites = rng.random(len(names))
        choices.append(
            [
                {
                    agent: agent_actions(agents.action_space(agent), rng, favorite)
                    for agent, favorite in zip(names, favorites, strict=True)
                }
                for _ in range(steps)
            ]
        )

    # Every result of ours: observations by agent, rewards and flags.
    observations, _ = envs.reset(seed=seed)
    results: list[Any] = [(observations, None, None, None)]
    ended = np.zeros(worlds, bool)
    for step in range(steps):
        if ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            results[-1] = (results[-1], observations)
        actions = [agents.join(1, choice[step]) for choice in choices]
        batch = gymcore.vector.utils.concatenate(
            acted, actions, gymcore.vector.utils.create_empty_array(acted, worlds)
        )
        observations, rewards, terminated, truncated, _ = envs.step(batch)
        ended = (terminated | truncated).all(axis=1)
        results.append((observations, rewards, terminated, truncated))

    def row(world: int, batch: Any) -> dict[str, Any]:
        rows = (
            {group: part[world] for group, part in batch.items()}
            if isinstance(batch, dict)
            else batch[world]
        )
        return agents.split(observed, rows)

    def check(world: int, step: int, batch: Any, expected: dict[str, Any]) -> None:
        for agent, actual in row(world, batch).items():
            assert actual.tobytes() == expected[agent].tobytes(), (world, step, agent)

    for world in range(worlds):
        expected, _ = env.reset(seed=seed + world)
        for step in range(steps + 1):
            result, begun = (
                results[step] if isinstance(results[step][0], tuple) else (results[step], None)
            )
            if step:
                action = choices[world][step - 1]
                expected, rewards, terminated, truncated, _ = env.step(action)
                for k, agent in enumerate(names):
                    assert (rewards[agent] + 0.0).hex() == result[1][world, k].hex(), (world, step)
                    assert terminated[agent] == result[2][world, k], (world, step)
                    assert truncated[agent] == result[3][world, k], (world, step)
            check(world, step, result[0], expected)
            if step and not env.agents and step < steps:
                expected, _ = env.reset()
                check(world, step, begun, expected)
    envs.close()
    env.close()


@pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("worlds", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_episodes_equal_those_of_mpe2(id: str, continuous: bool, worlds: int) -> None:
    """Observations, rewards and flags, over the beginning of the next episode."""
    compare(id.removeprefix("mpe/"), continuous, seed=0, worlds=worlds)


@pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("id", IDS)
def test_turns_equal_those_of_mpe2(id: str, continuous: bool) -> None:
    """Agents act one after another, in the same order; the last one moves the world."""
    ours: Any = aec_env(id, continuous_actions=continuous)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = importlib.import_module(f"mpe2.{id.removeprefix('mpe/')}").env(
            continuous_actions=continuous
        )
    rng = np.random.default_rng(0)
    for seed in (3, None):
        for env in (ours, theirs):
            env.reset(seed=seed)
        while not any(theirs.truncations.values()):
            agent = theirs.agent_selection
            assert ours.agent_selection == agent
            (observation, *others), (expected, *rest) = ours.last(), theirs.last()
            assert observation.tobytes() == expected.tobytes()
            assert others[:3] == rest[:3]
            assert ours.state().tobytes() == theirs.state().tobytes()
            action = agent_actions(ours.action_space(agent), rng, 0.5)
            for env in (ours, theirs):
                env.step(action)
        for name in ("rewards", "terminations", "truncations"):
            assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize("continuous", [False, True], ids=["discrete", "continuous"])
@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_do_what_they_do_in_mpe2(case: str, continuous: bool) -> None:
    """Numbers of entities, rewards, ends and what agents observe."""
    name, arguments = ARGUMENTS[case]
    compare(name, continuous, seed=7, worlds=4, **arguments)


@pytest.mark.parametrize("arguments", [{}, {"dynamic_rescaling": False}], ids=["rescaled", "fixed"])
@pytest.mark.parametrize("id", IDS)
def test_frames_equal_those_of_mpe2(id: str, arguments: dict[str, Any]) -> None:
    """Except for the text of messages, at the bottom, whose font is another one."""
    ours: Any = parallel_env(id, render_mode="rgb_array", **arguments)
    theirs = original(id.removeprefix("mpe/"), render_mode="rgb_array", **arguments)
    rng = np.random.default_rng(0)
    for env in (ours, theirs):
        env.reset(seed=3)
    for _ in range(6):
        actions = {
            agent: agent_actions(ours.action_space(agent), rng, 0.5) for agent in ours.agents
        }
        for env in (ours, theirs):
            env.step(actions)
        silent = not ours.envs.unwrapped._model._description.entities["speaks"].any()
        rows = slice(None if silent else 580)
        np.testing.assert_array_equal(ours.render()[rows], theirs.render()[rows])
