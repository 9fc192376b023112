"""Worlds of several agents against a model of their contract in Python."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error
from gymcore.spaces import Box, Discrete, MultiDiscrete
from gymcore.vector.agents import Agents
from tests.vector.agents_model import Herd, Model, world_class

NAMES = ("herd", "chase", "jit-herd", "jit-chase")
MODES = ("NextStep", "SameStep", "Disabled")
WAYS = ("step", "step_into", "bind_step", "rollout", "step_lanes", "send")


def rows_of(agents: Agents, observations: Any, lane: int) -> list[list[float]]:
    """Return the observations of a world's agents, in their order."""
    if agents.groups is None:
        return [row.tolist() for row in observations[lane]]
    return [row.tolist() for group in agents.groups for row in observations[group][lane]]


def joined(agents: Agents, actions: npt.NDArray[np.int64]) -> Any:
    """Return actions [..., 3] in the layout of the action space."""
    if agents.groups is None:
        return actions
    return {"mouse": actions[..., :2].copy(), "cat": actions[..., 2:].copy()}


def first(tree: Any) -> Any:
    """Return the first step of the arrays of a rollout."""
    return {k: first(v) for k, v in tree.items()} if isinstance(tree, dict) else tree[0]


def step_by(way: str, envs: Any, actions: Any, infos: bool = True) -> tuple[Any, ...]:
    """Step all worlds in one of the ways; return what `step` returns."""
    n = envs.num_envs
    if way == "step":
        return envs.step(actions)
    if way == "send":
        envs.send(actions)
        return envs.recv()
    if way == "step_lanes":
        return envs.step_lanes(actions, np.arange(n))
    if way == "rollout":
        one = (
            {k: v[None] for k, v in actions.items()} if isinstance(actions, dict) else actions[None]
        )
        last = True if envs.autoreset_mode.value == "SameStep" else None
        steps = envs.rollout(one, final_observations=last)
        infos = first(steps.infos)
        if last:
            infos["final_obs"] = first(steps.final_observations)
        return (*map(first, steps[:4]), infos)
    arrays = {
        "observations": envs._empty_observations((n,)),
        "rewards": np.full((n, 3), 7.0),
        "terminated": np.ones((n, 3), bool),
        "truncated": np.ones((n, 3), bool),
    }
    if way == "step_into":
        infos = envs.step_into(actions, **arrays)
    else:
        infos = envs.bind_step(actions, **arrays)()
    return (*arrays.values(), infos)


def check_world(agents: Agents, lane: int, results: Any, expected: dict[str, Any]) -> None:
    observations, rewards, terminated, truncated, infos = results
    assert rows_of(agents, observations, lane) == expected["observations"]
    assert rewards[lane].tolist() == expected["rewards"]
    assert terminated[lane].tolist() == expected["terminated"]
    assert truncated[lane].tolist() == expected["truncated"]
    assert infos["active"][lane].tolist() == expected["active"]
    if "episode" in expected:
        returns, lengths, steps = expected["episode"]
        episode = infos["episode"]
        np.testing.assert_allclose(episode["r"][lane], sum(returns), rtol=1e-12)
        assert episode["agent_r"][lane].tolist() == returns
        assert episode["agent_l"][lane].tolist() == lengths
        assert episode["l"][lane] == steps
    elif "episode" in infos:
        assert not infos["_episode"][lane]
        assert not infos["episode"]["agent_r"][lane].any()
    if "final" in expected:
        final = infos["final_obs"]
        if agents.groups is None or not isinstance(final, np.ndarray):
            assert rows_of(agents, final, lane) == expected["final"]
        else:
            assert rows_of(agents, {k: [v] for k, v in final[lane].items()}, 0) == expected["final"]


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    mode=st.sampled_from(MODES),
    ways=st.lists(st.sampled_from(WAYS), min_size=12, max_size=12),
    num_envs=st.sampled_from([1, 2, 5, 300]),
    limit=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 1000),
    threads=st.sampled_from([1, 2]),
)
def test_worlds_are_those_of_the_model(
    name: str, mode: str, ways: list[str], num_envs: int, limit: int | None, seed: int, threads: int
) -> None:
    envs = world_class(name).vector_class(
        num_envs,
        limit,
        autoreset_mode=mode,
        episode_statistics=True,
        num_threads=threads,
    )
    agents = envs.agents
    model = Model(name, list(range(seed, seed + num_envs)), mode, limit)
    observations, infos = envs.reset(seed=seed)
    assert infos["active"].all() and infos["active"].shape == (num_envs, 3)
    shown = range(num_envs) if num_envs < 10 else range(0, num_envs, 37)
    for lane in shown:
        assert rows_of(agents, observations, lane) == model.worlds[lane].observe()
    random = np.random.default_rng(seed)
    for way in ways:
        low, high = ([0, 0, 0], [3, 3, 3]) if "herd" in name else ([-1, -1, 0], [2, 2, 2])
        actions = random.integers(low, high, (num_envs, 3))
        if mode == "Disabled":
            way = "step" if way == "rollout" else way
        results = step_by(way, envs, joined(agents, actions))
        expected = [model.step(lane, actions[lane].tolist()) for lane in range(num_envs)]
        for lane in shown:
            check_world(agents, lane, results, expected[lane])
        ended = np.array(["episode" in each for each in expected])
        assert results[4].get("_episode", np.zeros(num_envs, bool)).tolist() == ended.tolist()
        if mode == "Disabled" and ended.any():
            live = results[4]["active"] & ~(results[2] | results[3])
            assert (~live.any(axis=1)).tolist() == ended.tolist()
            with pytest.raises(error.ResetNeeded):
                envs.step(joined(agents, actions))
            observations, infos = envs.reset(options={"reset_mask": ended})
            for lane in np.flatnonzero(ended):
                model.begin(model.worlds[lane])
            for lane in shown:
                rows = (
                    model.worlds[lane].observe() if ended[lane] else expected[lane]["observations"]
                )
                assert rows_of(agents, observations, lane) == rows
                active = [True] * 3 if ended[lane] else expected[lane]["active"]
                assert infos["active"][lane].tolist() == active
    envs.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", MODES[:2])
def test_states_copies_and_parts_of_a_batch_continue(name: str, mode: str) -> None:
    cls = world_class(name).vector_class
    envs = cls(6, 7, autoreset_mode=mode, episode_statistics=True)
    agents = envs.agents
    envs.reset(seed=3)
    random = np.random.default_rng(1)
    all_actions = random.integers(0, 2, (30, 6, 3))
    for t in range(3):
        envs.step(joined(agents, all_actions[t]))
    state = envs.get_state()
    assert state["agent_states"].min() == 0
    restored = cls(6, 7, autoreset_mode=mode, episode_statistics=True)
    restored.reset(seed=99)
    restored.set_state(state)
    copies = (restored, copy.deepcopy(envs))
    for t in range(3, 30):
        first = envs.step(joined(agents, all_actions[t]))
        copied = copies[t % 2]
        copies[1 - t % 2].step(joined(agents, all_actions[t]))
        for lanes in ([4, 1], [0, 2, 3, 5]):
            second = copied.step_lanes(joined(agents, all_actions[t][lanes]), lanes)
            for row, lane in enumerate(lanes):
                assert rows_of(agents, first[0], lane) == rows_of(agents, second[0], row)
                for k in (1, 2, 3):
                    assert first[k][lane].tolist() == second[k][row].tolist()
                assert first[4]["active"][lane].tolist() == second[4]["active"][row].tolist()
                assert first[4]["marks"][lane].tolist() == second[4]["marks"][row].tolist()


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


def test_a_rollout_equals_its_steps() -> None:
    cls = world_class("chase").vector_class
    first, second = (cls(5, autoreset_mode="SameStep", episode_statistics=True) for _ in range(2))
    first.reset(seed=4), second.reset(seed=4)
    actions = joined(first.agents, np.random.default_rng(0).integers(0, 2, (20, 5, 3)))
    steps = first.rollout(actions)
    assert steps.rewards.shape == steps.infos["active"].shape == (20, 5, 3)
    for t in range(20):
        _, rewards, terminated, _, infos = second.step({k: v[t] for k, v in actions.items()})
        assert (steps.rewards[t] == rewards).all()
        assert (steps.terminated[t] == terminated).all()
        assert (steps.infos["active"][t] == infos["active"]).all()
        if "episode" in infos:
            assert (steps.infos["episode"]["agent_r"][t] == infos["episode"]["agent_r"]).all()


def test_spaces_of_worlds() -> None:
    herd, chase = (world_class(name).vector_class(2) for name in NAMES[:2])
    assert herd.single_observation_space == Box(-np.inf, np.inf, (3, 2), np.float64)
    assert herd.single_action_space == MultiDiscrete([3, 3, 3])
    assert herd.agents.names == ("agent_0", "agent_1", "agent_2")
    assert chase.agents.names == ("mouse_0", "mouse_1", "cat_0")
    assert chase.agents.action_space("cat_0") == Discrete(2)
    assert list(chase.single_action_space) == ["cat", "mouse"]
    observations, _ = chase.reset(seed=1)
    assert observations in chase.observation_space
    results = chase.step(chase.action_space.sample())
    assert results[0] in chase.observation_space


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
