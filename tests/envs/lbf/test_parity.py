"""Level-based foraging beside lbforaging: equal seeds and actions give the same bits."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore.envs.lbf.ids import foraging_spec

lbforaging = pytest.importorskip("lbforaging")
environment = pytest.importorskip("lbforaging.foraging.environment")

# 12 episodes or more of each id.
WORLDS = 4
STEPS = 105

IDS = [
    "Foraging-5x5-2p-1f-v3",
    "Foraging-5x5-2p-1f-coop-v3",
    "Foraging-5x5-6p-4f-v3",
    "Foraging-6x6-3p-2f-pen-v3",
    "Foraging-7x7-4p-3f-coop-pen-v3",
    "Foraging-8x8-2p-2f-coop-v3",
    "Foraging-8x8-2p-3f-v3",
    "Foraging-8x8-3p-2f-ind-v3",
    "Foraging-8x8-3p-4f-coop-ind-pen-v3",
    "Foraging-10x10-3p-3f-v3",
    "Foraging-15x15-4p-5f-v3",
    "Foraging-19x19-5p-4f-v3",
    "Foraging-2s-5x5-3p-1f-pen-v3",
    "Foraging-2s-8x8-2p-2f-coop-v3",
    "Foraging-2s-10x10-3p-3f-v3",
    "Foraging-1s-6x6-4p-4f-v3",
    "Foraging-3s-7x7-5p-3f-coop-v3",
    "Foraging-grid-5x5-2p-1f-v3",
    "Foraging-grid-1s-6x6-3p-2f-pen-v3",
    "Foraging-grid-2s-8x8-2p-3f-v3",
    "Foraging-grid-3s-8x8-4p-2f-coop-ind-v3",
    "Foraging-3x3-1p-1f-v3",
    "Foraging-4x4-5p-5f-pen-v3",
]

# Arguments other than those of ids.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "levels of players": {
        "players": 4,
        "min_player_level": [1, 2, 1, 3],
        "max_player_level": [1, 4, 5, 3],
    },
    "levels of foods": {"min_food_level": [2, 1, 1], "max_food_level": [2, 3, 1], "penalty": 0.3},
    "highest levels of foods": {"max_food_level": [2, 3, 4], "force_coop": True},
    "plain rewards": {"field_size": (5, 5), "normalize_reward": False},
    "hidden levels": {"players": 3, "field_size": (6, 6), "observe_agent_levels": False},
    "hidden levels in a grid": {
        "observe_agent_levels": False,
        "grid_observation": True,
        "sight": 2,
        "players": 5,
        "field_size": (5, 5),
    },
    "rows and columns": {"field_size": (5, 9), "grid_observation": True, "sight": 3},
    "short": {"max_episode_steps": 3},
}


def original(arguments: dict[str, Any]) -> Any:
    """Return lbforaging's environment, whose grids do not fit the spaces of this Gymnasium."""
    lenient = mock.patch.object(
        gymnasium.spaces, "Box", lambda low, high, shape, dtype: box(low, high, dtype=dtype)
    )
    box = gymnasium.spaces.Box
    with lenient, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return environment.ForagingEnv(**arguments)


def choose(env: Any, rng: np.random.Generator) -> list[int]:
    """Return actions that often lead to food and to other players, and to loading."""
    foods = np.argwhere(env.field)
    goal = foods[0] if len(foods) else env.players[0].position
    actions = []
    for player in env.players:
        choice = rng.random()
        if choice < 0.3:
            actions.append(int(rng.integers(6)))
        elif choice < 0.55:
            actions.append(5)
        else:
            rows, columns = np.subtract(goal, player.position)
            if abs(rows) > abs(columns) or (abs(rows) == abs(columns) and rng.random() < 0.5):
                actions.append(2 if rows > 0 else 1)
            else:
                actions.append(4 if columns > 0 else 3)
    return actions


def compare(envs: Any, originals: list[Any], steps: int, seed: int) -> dict[str, int]:
    """Step a batch of worlds and lbforaging's side by side; return how often things happened."""
    worlds = range(len(originals))
    rng = np.random.default_rng(seed)
    spaces = originals[0].observation_space[0], originals[0].action_space[0]
    for name in envs.agents.names:
        assert repr(envs.agents.observation_space(name)) == repr(spaces[0])
        assert repr(envs.agents.action_space(name)) == repr(spaces[1])
    observations, _ = envs.reset(seed=seed)
    expected: list[Any] = [originals[k].reset(seed=seed + k)[0] for k in worlds]
    happened = {"episodes": 0, "loaded": 0, "failed": 0, "shared": 0}
    ended = np.zeros(len(originals), bool)
    for step in range(steps):
        if ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            for k in np.flatnonzero(ended):
                expected[k] = originals[k].reset()[0]
        for k in worlds:
            assert observations[k].tobytes() == np.array(expected[k]).tobytes(), (k, step)
        actions = [choose(env, rng) for env in originals]
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        for k in worlds:
            expected[k], paid, done, cut, _ = originals[k].step(actions[k])
            assert rewards[k].tobytes() == np.array(paid, np.float64).tobytes(), (k, step)
            assert (terminated[k] == done).all(), (k, step)
            assert (truncated[k] == cut).all(), (k, step)
            happened["episodes"] += done
            happened["loaded"] += max(paid) > 0
            happened["failed"] += min(paid) < 0
            happened["shared"] += len({p.position for p in originals[k].players}) < len(paid)
        for k in worlds:
            assert observations[k].tobytes() == np.array(expected[k]).tobytes(), (k, step)
        ended = terminated.all(axis=1)
    envs.close()
    return happened


def arguments_of(env_id: str) -> dict[str, Any]:
    """Return lbforaging's arguments for an id."""
    spec = foraging_spec(env_id)
    assert spec is not None
    return {
        "min_player_level": 1,
        "max_player_level": 2,
        "min_food_level": 1,
        "max_episode_steps": 50,
        **spec.kwargs,
    }


@pytest.mark.parametrize("env_id", IDS)
def test_episodes_equal_those_of_lbforaging(env_id: str) -> None:
    """Observations, rewards and ends, over the beginning of the next episodes."""
    arguments = arguments_of(env_id)
    originals = [original(arguments) for _ in range(WORLDS)]
    envs = gymcore.make_vec(env_id, WORLDS, autoreset_mode="disabled")
    happened = compare(envs, originals, STEPS, seed=3)
    assert happened["episodes"] >= 2 * WORLDS
    assert happened["loaded"]
    assert happened["failed"] or "-pen" not in env_id or "-ind" in env_id
    assert happened["shared"] or arguments["players"] < 5


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_do_what_they_do_in_lbforaging(case: str) -> None:
    """Levels, rewards and what agents observe."""
    arguments = ARGUMENTS[case]
    env_id = "Foraging-8x8-2p-3f-v3"
    originals = [original({**arguments_of(env_id), **arguments}) for _ in range(4)]
    ours = {**arguments}
    if limit := ours.pop("max_episode_steps", None):
        ours["max_steps"] = limit
    envs = gymcore.make_vec(env_id, 4, autoreset_mode="disabled", **ours)
    assert compare(envs, originals, 60, seed=11)["episodes"]


def test_a_field_without_free_cells() -> None:
    """Nobody gets another place in the second episode, and there is no room for food."""
    arguments = arguments_of("Foraging-3x3-9p-1f-v3")
    envs = gymcore.make_vec("Foraging-3x3-9p-1f-v3", 1, autoreset_mode="disabled")
    assert compare(envs, [original(arguments)], 2, seed=0)["episodes"] == 2


def test_registered_ids_have_the_arguments_of_lbforaging() -> None:
    """All of its ids."""
    ids = [env_id for env_id in gymnasium.registry if env_id.startswith("Foraging-")]
    assert len(ids) == 1920
    for env_id in ids:
        assert arguments_of(env_id) == gymnasium.spec(env_id).kwargs | {
            "grid_observation": False,
        }, env_id
