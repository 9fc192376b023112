"""RWARE beside the package rware: equal seeds and actions give the same bits."""

from __future__ import annotations

import collections
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore.envs.rware.ids import warehouse_spec

rware = pytest.importorskip("rware")
warehouse = pytest.importorskip("rware.warehouse")

WORLDS = 2

IDS = [
    *("rware-tiny-2ag-v2", "rware-tiny-1ag-hard-v2", "rware-tiny-6ag-easy-v2"),
    *("rware-small-4ag-hard-v2", "rware-medium-19ag-v2", "rware-large-8ag-v2"),
    "rware-img-tiny-4ag-v2",
    "rware-img-Nd-2s-tiny-5ag-v2",
    "rware-imgdict-tiny-3ag-easy-v2",
    "rware-3s-tiny-2h-5ag-v2",
    "rware-2x3-1h-9ag-4req-global-v2",
]

ROOM = """
    .......
    ...x...
    ..x.x..
    .g...X.
    ...x..G
    .......
"""

# Arguments other than those of ids, of small and crowded warehouses.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "two stages": {
        "layout": ROOM,
        "n_agents": 6,
        "request_queue_size": 4,
        "reward_type": "two_stage",
    },
    "global rewards": {"layout": ROOM, "n_agents": 12, "reward_type": "global"},
    "messages": {"layout": ROOM, "n_agents": 9, "msg_bits": 3, "sensor_range": 2},
    "few steps": {"max_steps": 7, "n_agents": 3},
    "few steps without deliveries": {"max_inactivity_steps": 12, "layout": ROOM, "max_steps": 40},
    "no limit of steps": {"max_steps": 0, "max_inactivity_steps": 30, "layout": ROOM},
    "normalized places": {"normalised_coordinates": True, "n_agents": 4},
    "dicts": {"observation_type": "dict", "n_agents": 5, "layout": ROOM},
    "dicts with messages": {
        "observation_type": "dict",
        "n_agents": 12,
        "layout": ROOM,
        "msg_bits": 2,
        "sensor_range": 2,
    },
    "dicts of normalized places": {
        "observation_type": "dict",
        "layout": ROOM,
        "n_agents": 14,
        "normalised_coordinates": True,
    },
    "all layers": {
        "observation_type": "image",
        "layout": "\n".join([".x.x.x", "......", ".xxxx.", "......", "..gg..", "......"]),
        "n_agents": 9,
        "sensor_range": 2,
        "image_observation_layers": [
            *("agent_direction", "shelves", "requests", "agents", "agent_load", "goals"),
            *("accessible", "agents"),
        ],
    },
    "features": {"observation_type": "image_dict", "layout": ROOM, "n_agents": 12},
    "crowded": {"layout": ROOM, "n_agents": 25, "request_queue_size": 3},
    "full": {"layout": ROOM, "n_agents": 42},
    "wide": {"shelf_columns": 5, "column_height": 1, "n_agents": 40, "request_queue_size": 5},
    "tall": {"column_height": 40, "n_agents": 30, "request_queue_size": 99},
}


# In these, requested shelves get to goals.
DELIVERING = ("two stages", "global rewards", "messages")


def original(**arguments: Any) -> Any:
    """Return rware's environment with the arguments of ours."""
    names = {
        "reward_type": warehouse.RewardType,
        "observation_type": warehouse.ObservationType,
        "image_observation_layers": warehouse.ImageLayer,
    }
    values: dict[str, Any] = {
        **{"shelf_columns": 3, "column_height": 8, "shelf_rows": 1, "n_agents": 2, "msg_bits": 0},
        **{"sensor_range": 1, "request_queue_size": 2, "max_inactivity_steps": None},
        **{"max_steps": 500, "reward_type": "individual"},
        **arguments,
    }
    for name, choices in names.items():
        if isinstance(value := values.get(name), str):
            values[name] = choices[value.upper()]
        elif value is not None:
            values[name] = [choices[each.upper()] for each in value]
    return warehouse.Warehouse(**values)


def equal(ours: Any, theirs: Any) -> bool:
    """Return whether observations of the agents of a world have the same bits."""
    if isinstance(ours, np.ndarray):
        return ours.tobytes() == np.array(theirs, ours.dtype).tobytes()
    if "image" in ours:
        return all(equal(ours[name], [each[name] for each in theirs]) for name in ours)
    sensors = [
        (name, [[cell[name] for cell in each["sensors"]] for each in theirs])
        for name in ours["sensors"]
    ]
    return all(
        equal(array, [each["self"][name] for each in theirs])
        for name, array in ours["self"].items()
    ) and all(equal(ours["sensors"][name], values) for name, values in sensors)


def choose(env: Any, rng: np.random.Generator) -> list[Any]:
    """Return actions that often lead forward, and under requested shelves and to goals."""
    actions = []
    for agent in env.agents:
        action = rng.choice(5, p=[0.05, 0.55, 0.15, 0.15, 0.1])
        shelf = env.grid[1, agent.y, agent.x]
        if shelf and not agent.carrying_shelf and env.shelfs[shelf - 1] in env.request_queue:
            action = 4
        actions.append([action, *rng.integers(0, 2, env.msg_bits)] if env.msg_bits else action)
    return actions


def part(observations: Any, k: int) -> Any:
    """Return the observations of a world of a batch."""
    if isinstance(observations, np.ndarray):
        return observations[k]
    return {name: part(value, k) for name, value in observations.items()}


def compare(envs: Any, originals: list[Any], steps: int, seed: int) -> collections.Counter[str]:
    """Step a batch of worlds and rware's side by side; return how often things happened."""
    rng = np.random.default_rng(seed)
    observations, _ = envs.reset(seed=seed)
    expected = [env.reset(seed=seed + k)[0] for k, env in enumerate(originals)]
    happened: collections.Counter[str] = collections.Counter()
    for step in range(steps):
        for k, observation in enumerate(expected):
            assert equal(part(observations, k), observation), (k, step)
        actions = [choose(env, rng) for env in originals]
        observations, rewards, terminated, truncated, _ = envs.step(np.array(actions))
        ended = terminated.all(axis=1)
        for k, env in enumerate(originals):
            expected[k], paid, done, cut, _ = env.step(actions[k])
            assert rewards[k].tobytes() == np.array(paid, np.float64).tobytes(), (k, step)
            assert (terminated[k] == done).all(), (k, step)
            assert (truncated[k] == cut).all(), (k, step)
            happened["episodes"] += done
            happened["deliveries"] += max(paid) > 0
            happened["loads"] += any(agent.carrying_shelf for agent in env.agents)
            assert equal(part(observations, k), expected[k]), (k, step)
        if ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            for k in np.flatnonzero(ended):
                expected[k] = originals[k].reset()[0]
    envs.close()
    return happened


def arguments_of(env_id: str) -> dict[str, Any]:
    """Return the arguments of an id."""
    spec = warehouse_spec(env_id)
    assert spec is not None
    return spec.kwargs


@pytest.mark.parametrize("env_id", IDS)
def test_episodes_equal_those_of_rware(env_id: str) -> None:
    """Observations, rewards and ends, over the beginning of the next episodes."""
    originals = [original(**arguments_of(env_id), max_steps=40) for _ in range(WORLDS)]
    envs = gymcore.make_vec(env_id, WORLDS, autoreset_mode="disabled", max_steps=40)
    happened = compare(envs, originals, 85, seed=3)
    assert happened["episodes"] == 2 * WORLDS
    assert happened["loads"]


@pytest.mark.filterwarnings("ignore")  # the original's spaces warn of their precision
@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_do_what_they_do_in_rware(case: str) -> None:
    """Layouts, rewards and what agents observe."""
    arguments = ARGUMENTS[case]
    originals = [original(**arguments) for _ in range(WORLDS)]
    envs = gymcore.make_vec("rware-tiny-2ag-v2", WORLDS, autoreset_mode="disabled", **arguments)
    happened = compare(envs, originals, max(20, 400 // arguments.get("n_agents", 2)), seed=11)
    assert happened["loads"]
    assert happened["deliveries"] or case not in DELIVERING


@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        ("rware-tiny-2ag-v2", {}),
        ("rware-tiny-3ag-v2", {"msg_bits": 2}),
        ("rware-img-2s-tiny-4ag-v2", {}),
        ("rware-imgdict-tiny-2ag-v2", {}),
        (
            "rware-img-tiny-2ag-v2",
            {"image_observation_layers": ["agent_direction", "agent_load", "goals"]},
        ),
    ],
)
def test_spaces_are_those_of_rware(env_id: str, arguments: dict[str, Any]) -> None:
    """The spaces of an agent; dicts of numbers differ, in which a cell's numbers are in arrays."""
    envs = gymcore.make_vec(env_id, 1, **arguments)
    theirs = original(**arguments_of(env_id), **arguments)
    for k, name in enumerate(envs.agents.names):
        assert repr(envs.agents.observation_space(name)) == repr(theirs.observation_space[k])
        assert repr(envs.agents.action_space(name)) == repr(theirs.action_space[k])


def test_registered_ids_have_the_arguments_of_rware() -> None:
    """All ids that rware registers when it is imported, and those of images."""
    rware.image_registration()
    ids = [env_id for env_id in gymnasium.registry if env_id.startswith("rware")]
    assert len(ids) == 4 * 3 * 19 * 5
    for env_id in ids:
        expected = gymnasium.spec(env_id).kwargs
        flattened = {
            "observation_type": warehouse.ObservationType.FLATTENED,
            "image_observation_directional": True,
        }
        ours = arguments_of(env_id)
        for name, value in {**flattened, **expected}.items():
            if name in ours:
                assert str(ours[name]).upper() == str(getattr(value, "name", value)).upper(), env_id
            else:
                assert value == {"msg_bits": 0, "max_steps": 500}.get(name), (env_id, name)
