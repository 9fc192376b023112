"""Declarations of worlds of agents, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore import error
from gymcore.spaces import Discrete
from gymcore.vector.agents import Agents
from tests.vector.agents_model import Herd, world_class


@pytest.mark.parametrize(
    ("field", "value"),
    [("agent_states", 3), ("agent_states", 0), ("agent_lengths", -1), ("agent_returns", np.nan)],
    ids=["unknown", "all ended", "negative", "nan"],
)
def test_impossible_states_of_agents_are_refused(field: str, value: float) -> None:
    envs = world_class("herd").vector_class(2)
    envs.reset(seed=1)
    state = envs.get_state()
    state[field][1] = value
    with pytest.raises(error.InvalidArgument, match=field):
        envs.set_state(state)


@pytest.mark.parametrize(
    ("name", "actions", "text"),
    [
        ("herd", [[0, 0, 3], [0, 0, 0]], r"actions\[0, 2\] = 3"),
        ("herd", [0, 0], "shape"),
        ("chase", {"cat": [[0], [0]]}, "mouse"),
        ("chase", {"cat": [[0], [0]], "mouse": [[0], [0]]}, r"actions\['mouse'\]"),
        ("chase", {"cat": [[2], [0]], "mouse": [[0, 0], [0, 0]]}, "= 2"),
        ("chase", 5, "dict"),
    ],
    ids=["range", "shape", "missing group", "shape of a group", "range in a group", "number"],
)
def test_wrong_actions_are_refused(name: str, actions: Any, text: str) -> None:
    envs = world_class(name).vector_class(2)
    envs.reset(seed=1)
    before = envs.get_state()
    with pytest.raises(error.InvalidAction, match=text):
        envs.step(actions)
    assert envs.get_state().tobytes() == before.tobytes()


def test_a_world_is_no_single_environment() -> None:
    cls = world_class("herd")
    with pytest.raises(error.UnsupportedMode, match="make_vec"):
        cls.create_with_parameters()
    env = cls()
    env.reset(seed=1)
    with pytest.raises(error.UnsupportedMode, match="make_vec"):
        env.step(env.action_space.sample())


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), "names"),
        (("a", "a"), "distinct"),
        ({"x": ("a",), "y": ()}, "names"),
        ({"x": ("a",)}, "space"),
    ],
    ids=["none", "twice", "empty group", "spaces"],
)
def test_wrong_agents_are_refused(names: Any, text: str) -> None:
    with pytest.raises(error.InvalidArgument, match=text):
        Agents(names, Discrete(2), Discrete(2))


@pytest.mark.parametrize(
    "names", [0, 2**62, 1.5, "ab", np.ones(2), [[]], ["a", 1], {1: ["a"]}, {"x": 1}, {"x": "ab"}]
)
def test_wrong_types_of_agents_are_refused(names: Any) -> None:
    with pytest.raises(error.Error, match="agents: expected"):
        Agents(names, Discrete(2), Discrete(2))


WRONG_STEPS = {
    "no agents": ("def step(state, parameters, action, rng):\n    return False", "agents"),
    "rewards as results": (
        "def step(state, parameters, action, rng, agents):\n    return 1.0, False",
        "return ended",
    ),
    "unknown field": (
        "def step(state, parameters, action, rng, agents):\n    return agents.done[0]",
        "'done' is not a field",
    ),
    "nan": (
        "def step(state, parameters, action, rng, agents):\n"
        "    agents.rewards[1] = float('nan')\n    return False",
        "a reward is nan",
    ),
    "index": (
        "def step(state, parameters, action, rng, agents):\n"
        "    agents.rewards[3] = 1.0\n    return False",
        "out of bounds",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_STEPS)
def test_mistakes_in_steps_of_agents_are_found(wrong: str, tmp_path: Any) -> None:
    source, text = WRONG_STEPS[wrong]
    path = tmp_path / "wrong_world.py"
    path.write_text(source)
    namespace: dict[str, Any] = {"float": float}
    exec(compile(source, str(path), "exec"), namespace)
    with pytest.raises((error.Error, IndexError), match=text):
        cls = type("Wrong", (Herd,), {"step": namespace["step"]})
        cls.check_source()


def test_infos_of_worlds_cannot_be_named_active() -> None:
    infos = type("Infos", (), {"__annotations__": {"active": int}})
    cls = type("Named", (Herd,), {"Infos": infos, "info": lambda state, parameters, info: None})
    with pytest.raises(error.InvalidArgument, match="active"):
        cls.vector_class(1)
