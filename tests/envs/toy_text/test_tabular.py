"""User-defined tables: any valid table is stepped as in NumPy, and bad tables are refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore import error
from gymcore.envs.toy_text import TabularEnv, TabularVectorEnv
from gymcore.envs.toy_text.utils import categorical_sample

STAY = {0: {0: [(1.0, 0, 0, False)]}}


@st.composite
def tables(draw: Any) -> tuple[Any, list[float]]:
    """Draw tables of up to 5 states, 3 actions and 4 outcomes, some of them impossible."""
    states, actions = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    weights = st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any)

    def shares(values: list[int]) -> list[float]:
        return [value / sum(values) for value in values]

    def outcomes() -> list[Any]:
        return [
            (
                share,
                draw(st.integers(0, states - 1)),
                draw(st.floats(-10, 10)),
                draw(st.booleans()),
            )
            for share in shares(draw(weights))
        ]

    table = {s: {a: outcomes() for a in range(actions)} for s in range(states)}
    first = shares(draw(st.lists(st.integers(0, 9), min_size=states, max_size=states).filter(any)))
    return table, first


class Judge:
    """The slow, plain version."""

    def __init__(self, table: Any, first: list[float], seed: int) -> None:
        self.table, self.first = table, first
        self.random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        self.s = 0

    def reset(self) -> Any:
        self.s = categorical_sample(self.first, self.random)
        return self.s, {"prob": 1.0}

    def step(self, action: int) -> Any:
        found = self.table[self.s][action]
        place = categorical_sample([one[0] for one in found], self.random)
        prob, self.s, reward, terminated = found[place]
        return self.s, reward, terminated, False, {"prob": prob}


@settings(max_examples=25, deadline=None)
@given(table=tables(), seed=st.integers(0, 2**64))
def test_single(table: Any, seed: int) -> None:
    env, judge = TabularEnv(*table), Judge(*table, seed)
    assert env.reset(seed=seed) == judge.reset()
    random = np.random.default_rng(0)
    for _ in range(30):
        action = int(random.integers(env.action_space.n))
        found = env.step(action)
        assert found == judge.step(action)
        if found[2]:
            assert env.reset() == judge.reset()
    assert env.np_random.bit_generator.state == judge.random.bit_generator.state


@settings(max_examples=12, deadline=None)
@given(table=tables(), num_envs=st.integers(1, 5), threads=st.integers(1, 2))
def test_batch(table: Any, num_envs: int, threads: int) -> None:
    """Each lane of a batch equals a single environment with the same draws."""
    envs = TabularVectorEnv(
        num_envs, P=table[0], initial_distribution=table[1], num_threads=threads
    )
    judges = [Judge(*table, 7 + lane) for lane in range(num_envs)]
    assert envs.reset(seed=7)[0].tolist() == [judge.reset()[0] for judge in judges]
    random = np.random.default_rng(0)
    ended = np.zeros(num_envs, bool)
    for _ in range(20):
        actions = random.integers(envs.single_action_space.n, size=num_envs)
        observations, rewards, terminated, _, infos = envs.step(actions)
        for lane, judge in enumerate(judges):
            if ended[lane]:
                s, info = judge.reset()
                expected = (s, 0.0, False, info["prob"])
            else:
                s, reward, end, _, info = judge.step(int(actions[lane]))
                expected = (s, reward, end, info["prob"])
            got = observations[lane], rewards[lane], terminated[lane], infos["prob"][lane]
            assert got == expected
        ended = terminated.copy()
    envs.close()


NAN = float("nan")
BAD: list[tuple[Any, Any, type[Exception], str]] = [
    ({}, [], error.InvalidArgument, "at least one state"),
    (3, [1], error.ArgumentTypeError, "P: expected a mapping"),
    ({0: {}}, [1], error.InvalidArgument, r"P\[0\]: .* at least one"),
    ({0: {1: []}}, [1], error.InvalidArgument, r"P\[0\]: .* none for 0"),
    ({1: {0: []}}, [1], error.InvalidArgument, "P: .* none for 0"),
    ({0: {0: []}}, [1], error.InvalidArgument, r"P\[0\]\[0\]: .* none"),
    ({**STAY, 1: {}}, [1, 0], error.InvalidArgument, r"P\[1\]: .* as many actions"),
    ({0: {0: [(1, 0, 0)]}}, [1], error.InvalidArgument, r"P\[0\]\[0\]\[0\]: .*\(1, 0, 0\)"),
    ({0: {0: [("a", 0, 0, 0)]}}, [1], error.InvalidArgument, r"P\[0\]\[0\]\[0\]"),
    ({0: {0: [(0.5, 0, 0, False)]}}, [1], error.InvalidArgument, r"P\[0\]\[0\]: .* 1, got 0.5"),
    ({0: {0: [(NAN, 0, 0, False)]}}, [1], error.InvalidArgument, "probability .* nan"),
    (
        {0: {0: [(1.5, 0, 0, False), (-0.5, 0, 0, False)]}},
        [1],
        error.InvalidArgument,
        r"P\[0\]\[0\]\[0\]: .* 1.5",
    ),
    ({0: {0: [(1, 1, 0, False)]}}, [1], error.InvalidArgument, r"\[0\]: .* next state .* got 1"),
    ({0: {0: [(1, -1, 0, False)]}}, [1], error.InvalidArgument, "next state .* got -1"),
    ({0: {0: [(1, 0.5, 0, False)]}}, [1], error.InvalidArgument, "next state .* got 0.5"),
    ({0: {0: [(1, 0, NAN, False)]}}, [1], error.InvalidArgument, "finite reward"),
    (STAY, [0.5], error.InvalidArgument, "initial_distribution: .* 0.5"),
    (STAY, [NAN], error.InvalidArgument, r"initial_distribution\[0\]: .* nan"),
    (STAY, [1, 0], error.InvalidArgument, "initial_distribution: .* shape"),
    (STAY, "x", error.ArgumentTypeError, "initial_distribution"),
]


@pytest.mark.parametrize(("table", "first", "kind", "message"), BAD)
def test_bad_tables(table: Any, first: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        TabularEnv(table, first)


def test_the_table_is_a_copy_that_cannot_be_changed() -> None:
    table: Any = copy.deepcopy(STAY)
    env = TabularEnv(table, [1.0])
    table[0][0][0] = (1.0, 0, 5, True)
    assert env.P == STAY
    for change in (
        lambda: env.P.update({}),
        lambda: env.P[0].pop(0),
        lambda: env.P[0][0].append((0.0, 0, 0, False)),
        lambda: env.P[0].__setitem__(0, []),
    ):
        with pytest.raises(error.ArgumentTypeError, match="compiled"):
            change()
    assert type(copy.deepcopy(env.P)) is dict
    assert type(copy.deepcopy(env.P)[0][0]) is list
    with pytest.raises(ValueError, match="read-only"):
        env.initial_state_distrib[0] = 0.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(copied: Any) -> None:
    env = gymcore.make("FrozenLake-v1", desc=["SFF", "FFF", "FFG"])
    env.reset(seed=3)
    env.step(1)
    other = copied(env)
    for action in (1, 2, 1, 2, 0, 3):
        assert env.step(action) == other.step(action)


def test_state_and_last_action() -> None:
    env = gymcore.make("FrozenLake-v1", is_slippery=False).unwrapped
    assert not hasattr(env, "s")
    env.reset(seed=1)
    assert (env.s, env.lastaction) == (0, None)
    env.s = 14
    assert env.step(2)[:3] == (15, 1, True)
    assert (env.s, env.lastaction) == (15, 2)
    for value, kind in ((16, error.InvalidArgument), (1.0, error.ArgumentTypeError)):
        with pytest.raises(kind, match="s: expected"):
            env.s = value
    assert env.s == 15


def test_states_of_lanes() -> None:
    envs = gymcore.make_vec("FrozenLake-v1", 3, is_slippery=False)
    envs.reset(seed=1)
    envs.set_attr("s", [14, 8, 4])
    assert envs.get_attr("s") == (14, 8, 4)
    with pytest.raises(error.InvalidArgument, match="s: expected 0 to 15"):
        envs.set_attr("s", [1, 2, 99])
    assert envs.get_attr("s") == (14, 8, 4)
    assert envs.step([2, 1, 1])[0].tolist() == [15, 12, 8]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e300, -5.0])
@pytest.mark.parametrize("id", ["FrozenLake-v1", "Taxi-v4", "Blackjack-v1"])
def test_any_number_in_a_state_is_safe(id: str, number: float) -> None:
    """`state` may be set to anything: no step hangs or reads past the table."""
    options = {"fickle_passenger": True} if id == "Taxi-v4" else {}
    envs = gymcore.make_vec(id, 4, **options)
    envs.reset(seed=1)
    size = len(envs.get_attr("state")[0])
    for mode in range(2):
        envs.set_attr("state", [np.full(size, number)] * 4)
        for _ in range(3):
            envs.step(np.full(4, mode))


def test_transitions_are_as_likely_as_the_table_says() -> None:
    """Chi-square over every state and action that lanes visited; 6 sigma each."""
    envs = gymcore.make_vec("FrozenLake-v1", 512, is_slippery=True, success_rate=0.6)
    table = envs.get_attr("P")[0]
    random = np.random.default_rng(3)
    states, _ = envs.reset(seed=11)
    ended = np.zeros(512, bool)
    counts = np.zeros((16, 4, 16))
    for _ in range(200):
        actions = random.integers(4, size=512)
        observations, _, terminated, truncated, _ = envs.step(actions)
        np.add.at(counts, (states[~ended], actions[~ended], observations[~ended]), 1)
        states, ended = observations, terminated | truncated
    tested = 0
    for s in range(16):
        for a in range(4):
            expected = np.zeros(16)
            for chance, there, _, _ in table[s][a]:
                expected[there] += chance
            seen = counts[s, a].sum()
            assert counts[s, a][expected == 0].sum() == 0
            places = expected > 0
            freedom = places.sum() - 1
            if seen < 50 or freedom == 0:
                continue
            likely = seen * expected[places]
            statistic = ((counts[s, a][places] - likely) ** 2 / likely).sum()
            assert statistic < freedom + 6 * np.sqrt(2 * freedom) + 18
            tested += 1
    assert tested > 30


def test_cards_are_as_likely_as_the_deck_says() -> None:
    envs = gymcore.make_vec("Blackjack-v1", 4096)
    envs.reset(seed=1)
    cards = np.bincount([card for hand in envs.get_attr("player") for card in hand], minlength=11)
    expected = 2 * 4096 * np.array([1] * 9 + [4]) / 13
    assert ((cards[1:] - expected) ** 2 / expected).sum() < 9 + 6 * np.sqrt(18)


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_an_assigned_table_is_used_as_in_gymnasium(env_id: str) -> None:
    envs = [package.make(env_id).unwrapped for package in (gymcore, gymnasium)]
    for env in envs:
        env.reset(seed=1)
        env.step(1)
        table = copy.deepcopy(env.P)
        for row in table.values():
            for action, outcomes in row.items():
                row[action] = [(p, s, 2.5 * r - 1, False) for p, s, r, _ in outcomes]
        env.P = table
        start = np.zeros(len(table))
        start[[3, 5]] = 0.5
        env.initial_state_distrib = start
    for k in range(60):
        if k % 20 == 19:
            assert envs[0].reset()[0] == envs[1].reset()[0]
        ours, theirs = (env.step(k * 7 % 4) for env in envs)
        assert ours[:4] == theirs[:4] and ours[4]["prob"] == theirs[4]["prob"]
    again = copy.deepcopy(envs[0])
    assert again.P == envs[0].P and again.step(2)[:4] == envs[0].step(2)[:4]


def test_assigned_tables_that_do_not_fit_change_nothing() -> None:
    env = TabularEnv(STAY, [1.0])
    env.reset(seed=1)
    for table in ({0: {0: [(0.5, 0, 0.0, False)]}}, [*STAY.values()] * 2):
        with pytest.raises(error.InvalidArgument):
            env.P = table
    with pytest.raises(error.InvalidArgument, match=r"initial_distribution\[0\]"):
        env.initial_state_distrib = [2.0]
    assert env.P == STAY and env.initial_state_distrib.tolist() == [1.0]
    lane = gymcore.make_vec("CliffWalking-v1", 2).call("unwrapped")[0]
    with pytest.raises(AttributeError, match="shared by all lanes"):
        lane.P = lane.P
