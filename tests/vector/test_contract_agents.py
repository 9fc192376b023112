"""docs/contract.md, section 19: worlds of several agents.

A model in Python is the judge. The engines are lanes compiled from C, classes of `gymcore.jit`, and
whole batches in NumPy, which can only step all worlds.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error
from gymcore.spaces import Box, Discrete, MultiDiscrete
from tests.vector.agents_model import (
    LANE_NAMES,
    MODES,
    NAMES,
    WAYS,
    Model,
    check_world,
    first,
    joined,
    rows_of,
    step_by,
    vector_class,
)

pytestmark = pytest.mark.usefixtures("numba_if_installed")

WORLDS, LIMIT = 4, 6


@pytest.fixture(params=NAMES)
def name(request: Any) -> str:
    return str(request.param)


def make(name: str, mode: str, num_envs: int = WORLDS) -> Any:
    return vector_class(name)(num_envs, LIMIT, autoreset_mode=mode, episode_statistics=True)


def draw(name: str, random: Any, *shape: int) -> Any:
    """Return valid actions [*shape, 3]."""
    low, high = ([0, 0, 0], [3, 3, 3]) if "herd" in name else ([-1, -1, 0], [2, 2, 2])
    return random.integers(low, high, (*shape, 3))


def play(
    name: str, mode: str, model: Model | None = None, steps: int = 40
) -> Iterator[tuple[Any, tuple[Any, ...], list[Any]]]:
    """Step worlds, and yield them with the results and what the model expects for each world."""
    envs, random = make(name, mode), np.random.default_rng(3)
    model = model or Model(name, list(range(WORLDS)), mode, LIMIT)
    envs.reset(seed=0)
    for _ in range(steps):
        actions = draw(name, random, WORLDS)
        results = envs.step(joined(envs.agents, actions))
        expected = [model.step(lane, actions[lane].tolist()) for lane in range(WORLDS)]
        yield envs, results, expected
        ended = np.array(["episode" in each for each in expected])
        if mode == "Disabled" and ended.any():
            envs.reset(options={"reset_mask": ended})
            for lane in np.flatnonzero(ended):
                model.begin(model.worlds[lane])


def test_19_1_spaces_and_results_have_rows_for_agents(name):
    envs = make(name, "NextStep")
    agents = envs.agents
    assert len(agents.names) == 3
    if agents.groups is None:
        assert envs.single_observation_space == Box(-np.inf, np.inf, (3, 2), np.float64)
        assert envs.single_action_space == MultiDiscrete([3, 3, 3])
    else:
        assert agents.names == ("mouse_0", "mouse_1", "cat_0")
        assert (
            list(envs.single_action_space)
            == list(envs.single_observation_space)
            == ["cat", "mouse"]
        )
        assert envs.single_action_space["mouse"] == MultiDiscrete([3, 3], start=[-1, -1])
        assert agents.action_space("cat_0") == Discrete(2)
    observations, infos = envs.reset(seed=1)
    assert observations in envs.observation_space
    assert infos["active"].tolist() == [[True] * 3] * WORLDS
    observations, *numbers, infos = envs.step(envs.action_space.sample())
    assert observations in envs.observation_space
    assert [each.shape for each in (*numbers, infos["active"])] == [(WORLDS, 3)] * 4
    assert [each.dtype for each in numbers] == [np.float64, np.bool_, np.bool_]


@pytest.mark.parametrize("mode", MODES)
def test_19_2_agents_report_their_own_ends(name, mode):
    own_ends = 0
    for envs, results, expected in play(name, mode):
        for lane, each in enumerate(expected):
            ends = np.array(each["terminated"]) | np.array(each["truncated"])
            if ends.any() and not ends.all():
                own_ends += 1
                check_world(envs.agents, lane, results, each)
    assert own_ends > 5


@pytest.mark.parametrize("mode", MODES)
def test_19_3_agents_that_have_ended_are_zeros(name, mode):
    rows = 0
    for envs, results, expected in play(name, mode):
        for lane, each in enumerate(expected):
            gone = ~np.array(each["active"])
            if gone.any() and "episode" not in each:
                shown = rows_of(envs.agents, results[0], lane)
                assert not any(any(shown[k]) for k in np.flatnonzero(gone))
                assert not any(values[lane][gone].any() for values in results[1:4])
                assert results[4]["active"][lane].tolist() == each["active"]
                rows += gone.sum()
    assert rows > 20
    first_actions = np.zeros((1, 3), np.int64)
    envs = [make(name, mode, 1) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
    while True:  # until an agent has ended and its world has not
        results = [env.step(joined(env.agents, first_actions)) for env in envs]
        active = results[0][4]["active"][0] & ~(results[0][2][0] | results[0][3][0])
        if active.any() and not active.all():
            break
        if not active.any():
            for env in envs:
                env.reset()
    others = np.where(active, 0, 1)[None]
    results = [
        env.step(joined(env.agents, actions))
        for env, actions in zip(envs, (first_actions, others), strict=True)
    ]
    for values in zip(results[0][1:4], results[1][1:4], strict=True):
        assert np.array_equal(*values)
    assert rows_of(envs[0].agents, results[0][0], 0) == rows_of(envs[1].agents, results[1][0], 0)
    with pytest.raises(error.InvalidAction):
        envs[0].step(joined(envs[0].agents, np.where(active, 0, 9)[None]))


@pytest.mark.parametrize("mode", MODES)
def test_19_4_a_world_ends_with_its_last_agent(name, mode):
    causes = {"agent": 0, "limit or world": 0}
    for _, (_, _, terminated, truncated, infos), expected in play(name, mode):
        ended = ~(infos["active"] & ~(terminated | truncated)).any(axis=1)
        if mode != "SameStep":  # there the entry of the other mode's reset steps is True
            assert ended.tolist() == ["episode" in each for each in expected]
        for lane in np.flatnonzero(infos.get("_episode", np.zeros(WORLDS, bool))):
            several = infos["active"][lane].sum() > 1
            causes["limit or world" if several else "agent"] += 1
    assert min(causes.values()) > 2


def test_19_5_next_step_begins_worlds_anew(name):
    begun = 0
    for envs, results, expected in play(name, "NextStep"):
        for lane, each in enumerate(expected):
            if "begun" in each:
                begun += 1
                check_world(envs.agents, lane, results, each)
                assert each["active"] == [True] * 3 and not any(each["rewards"])
    assert begun > 5


def test_19_6_same_step_reports_final_observations(name):
    ended = 0
    for envs, results, expected in play(name, "SameStep"):
        for lane, each in enumerate(expected):
            if "final" in each:
                ended += 1
                check_world(envs.agents, lane, results, each)
            else:
                assert not results[4].get("_final_obs", np.zeros(WORLDS, bool))[lane]
    assert ended > 10


def test_19_7_disabled_worlds_wait_for_a_reset(name):
    envs, random = make(name, "Disabled"), np.random.default_rng(0)
    envs.reset(seed=0)
    while True:
        actions = joined(envs.agents, draw(name, random, WORLDS))
        observations, _, terminated, truncated, infos = envs.step(actions)
        ended = ~(infos["active"] & ~(terminated | truncated)).any(axis=1)
        if ended.any():
            break
    assert not ended.all()
    steps = [envs.step, lambda actions: envs.step_lanes(actions, np.arange(WORLDS))]
    for step in steps[: 1 + envs.steps_some_lanes]:
        with pytest.raises(error.ResetNeeded, match="active"):
            step(actions)
    again, reset_infos = envs.reset(options={"reset_mask": ended})
    for lane in np.flatnonzero(~ended):
        assert rows_of(envs.agents, again, lane) == rows_of(envs.agents, observations, lane)
        assert reset_infos["active"][lane].tolist() == infos["active"][lane].tolist()
    assert reset_infos["active"][ended].all()
    envs.step(actions)


@pytest.mark.parametrize("mode", MODES)
def test_19_8_statistics_are_those_of_worlds_and_agents(name, mode):
    for envs, results, expected in play(name, mode):
        for lane, each in enumerate(expected):
            check_world(envs.agents, lane, results, each)


@pytest.mark.parametrize("name", LANE_NAMES)
def test_19_9_a_rollout_equals_its_steps(name):
    cls = vector_class(name)
    both = [cls(5, autoreset_mode="SameStep", episode_statistics=True) for _ in range(2)]
    for envs in both:
        envs.reset(seed=4)
    actions = joined(both[0].agents, np.random.default_rng(0).integers(0, 2, (20, 5, 3)))
    steps = both[0].rollout(actions)
    assert steps.rewards.shape == steps.infos["active"].shape == (20, 5, 3)
    for t in range(20):
        _, rewards, terminated, _, infos = both[1].step(first(actions, t))
        assert (steps.rewards[t] == rewards).all()
        assert (steps.terminated[t] == terminated).all()
        assert (steps.infos["active"][t] == infos["active"]).all()
        if "episode" in infos:
            assert (steps.infos["episode"]["agent_r"][t] == infos["episode"]["agent_r"]).all()


@pytest.mark.parametrize("name", LANE_NAMES)
@pytest.mark.parametrize("mode", MODES[:2])
def test_19_10_states_copies_and_parts_of_a_batch_continue(name, mode):
    cls = vector_class(name)
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
                masks = (first[4]["action_mask"][lane], second[4]["action_mask"][row])
                assert masks[0].tolist() == masks[1].tolist()


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    mode=st.sampled_from(MODES),
    ways=st.lists(st.sampled_from(WAYS), min_size=12, max_size=12),
    num_envs=st.sampled_from([1, 2, 5, 300]),
    limit=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 1000),
    threads=st.sampled_from([1, 2]),
    copies=st.booleans(),
)
def test_19_11_all_ways_of_stepping_agree(
    name: str,
    mode: str,
    ways: list[str],
    num_envs: int,
    limit: int | None,
    seed: int,
    threads: int,
    copies: bool,
) -> None:
    envs = vector_class(name)(
        num_envs,
        limit,
        autoreset_mode=mode,
        episode_statistics=True,
        num_threads=threads,
        copy=copies,
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
        if "array" in name or (mode == "Disabled" and way == "rollout"):
            way = "step"
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


@pytest.mark.parametrize("name", LANE_NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_19_12_states_for_critics_belong_to_the_last_observations(name, mode):
    ended = 0
    for envs, results, expected in play(
        name, mode, model := Model(name, [0, 1, 2, 3], mode, LIMIT)
    ):
        states = envs.central_state()
        assert states.dtype == np.float32
        assert states is not envs.central_state() and (states == envs.central_state()).all()
        for lane, (world, each) in enumerate(zip(model.worlds, expected, strict=True)):
            begun = "episode" in each and mode == "SameStep"
            ended += begun or "begun" in each
            visible = [True] * 3 if begun else each["active"]
            assert states[lane].tolist() == np.float32(world.state(visible)).tolist()
        assert rows_of(envs.agents, envs._batch.observe(), 0) == rows_of(envs.agents, results[0], 0)
    assert ended or mode == "Disabled"
    new = make(name, mode)
    with pytest.raises(error.ResetNeeded, match="state"):
        new.central_state()
    new.close()
    with pytest.raises(error.ClosedEnvironmentError):
        new.central_state()


def test_19_13_action_masks_have_rows_for_agents(name):
    envs = make(name, "NextStep")
    envs.reset(seed=0)
    infos = envs.step(envs.action_space.sample())[4]
    assert infos["action_mask"].dtype == np.int8 and infos["_action_mask"].all()
    expected = (1 + np.arange(3)[:, None] + np.arange(3)) % 2
    assert infos["action_mask"].tolist() == [expected.tolist()] * WORLDS
