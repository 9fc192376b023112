"""Seeded trajectories equal Gymnasium's exactly: results, infos, attributes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import gymcore

# (id, arguments, attributes of the environment that are compared after each episode)
GRID = ("P", "s", "lastaction")
HANDS = ("player", "dealer", "dealer_top_card_suit", "dealer_top_card_value_str")
CASES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("FrozenLake-v1", {}, (*GRID, "nrow", "ncol", "reward_range")),
    ("FrozenLake-v1", {"is_slippery": False}, GRID),
    ("FrozenLake-v1", {"success_rate": 0.7, "reward_schedule": (2.5, -1, 0)}, GRID),
    ("FrozenLake-v1", {"desc": ["SSFH", "FFHG", "SFFF"]}, GRID),
    ("FrozenLake-v1", {"success_rate": 0.0}, GRID),
    ("FrozenLake8x8-v1", {}, GRID),
    ("CliffWalking-v1", {}, (*GRID, "nS", "nA", "shape", "start_state_index")),
    ("CliffWalkingSlippery-v1", {}, GRID),
    ("Taxi-v4", {}, (*GRID, "locs")),
    ("Taxi-v4", {"is_rainy": True}, GRID),
    ("Taxi-v4", {"is_rainy": True, "rainy_probability": 0.35}, GRID),
    ("Taxi-v4", {"fickle_passenger": True}, (*GRID, "fickle_step")),
    (
        "Taxi-v4",
        {"fickle_passenger": True, "fickle_probability": 0.9, "is_rainy": True},
        (*GRID, "fickle_step"),
    ),
    ("Blackjack-v1", {}, HANDS),
    ("Blackjack-v1", {"sab": False}, HANDS),
    ("Blackjack-v1", {"natural": True, "sab": False}, HANDS),
]
NAMES = [f"{id}-{'-'.join(f'{k}={v}' for k, v in kwargs.items())}" for id, kwargs, _ in CASES]
EPISODES = 50
MODES = ("NextStep", "SameStep", "Disabled")
# Two autoreset modes for each case, in turn.
IN_MODES = [(*case[:2], MODES[(i + k) % 3]) for i, case in enumerate(CASES) for k in range(2)]


def same(one: Any, other: Any) -> bool:
    """Return whether results agree; 1 and 1.0 do."""
    if isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in other)
    if isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


@pytest.mark.parametrize(("id", "kwargs", "attributes"), CASES, ids=NAMES)
def test_episodes(id: str, kwargs: dict[str, Any], attributes: tuple[str, ...]) -> None:
    """Run many episodes, some seeded; taxis rarely arrive, so their episodes are short."""
    limit = {"max_episode_steps": 25}
    ours, theirs = gymcore.make(id, **limit, **kwargs), gymnasium.make(id, **limit, **kwargs)
    random = np.random.default_rng(0)
    for episode in range(EPISODES):
        seed = episode if episode % 3 == 0 else None
        found, expected = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert same(found, expected)
        assert type(found[1].get("prob")) is type(expected[1].get("prob"))
        if id == "Taxi-v4" and episode % 2:  # let the passenger in, so that there is a destination
            row, col, _, goal = theirs.unwrapped.decode(theirs.unwrapped.s)
            state = theirs.unwrapped.encode(row, col, 4, goal)
            ours.unwrapped.s = theirs.unwrapped.s = state
        done = False
        while not done:
            action = int(random.integers(ours.action_space.n))
            found, expected = ours.step(action), theirs.step(action)
            assert same(found, expected), (found, expected)
            assert list(map(type, found)) == list(map(type, expected))
            done = found[2] or found[3]
        for name in attributes[0 if episode == 0 else 1 :]:
            assert same(getattr(ours.unwrapped, name), getattr(theirs.unwrapped, name)), name
        if hasattr(theirs.unwrapped, "initial_state_distrib"):
            assert np.array_equal(
                ours.unwrapped.initial_state_distrib, theirs.unwrapped.initial_state_distrib
            )
    assert (
        ours.unwrapped.np_random.bit_generator.state
        == theirs.unwrapped.np_random.bit_generator.state
    )


@pytest.mark.parametrize(("id", "kwargs", "mode"), IN_MODES)
def test_batches(id: str, kwargs: dict[str, Any], mode: str) -> None:
    """Step four lanes 30 times; in one place Gymnasium's `prob` is wrong."""
    limit = {"max_episode_steps": 9}
    ours = gymcore.make_vec(
        id,
        4,
        vectorization_mode="native",
        vector_kwargs={"autoreset_mode": mode},
        **limit,
        **kwargs,
    )
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make(id, **limit, **kwargs)] * 4, autoreset_mode=AutoresetMode(mode)
    )
    random = np.random.default_rng(1)
    assert same_batch(ours.reset(seed=3), theirs.reset(seed=3))
    for _step in range(30):
        actions = random.integers(ours.single_action_space.n, size=4)
        found, expected = ours.step(actions), theirs.step(actions)
        assert same_batch(found, expected), (found, expected)
        done = found[2] | found[3]
        if mode == "Disabled" and done.any():
            options = {"reset_mask": done}
            assert same_batch(ours.reset(options=options), theirs.reset(options=options))
    ours.close()
    theirs.close()


def same_batch(found: Any, expected: Any) -> bool:
    """Return whether results of vector environments agree, apart from their layouts."""
    *arrays, infos = found
    *their_arrays, their_infos = expected
    return same_columns(tuple(arrays), tuple(their_arrays)) and same_infos(infos, their_infos)


def same_columns(one: Any, other: Any) -> bool:
    if isinstance(other, tuple):
        return len(one) == len(other) and all(map(same_columns, one, other))
    return one.dtype == other.dtype and np.array_equal(one, other)


def same_infos(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if sorted(one) != sorted(other):
        return False
    for key, value in other.items():
        if isinstance(value, dict):
            if not same_infos(one[key], value):
                return False
        elif key == "final_obs":
            rows = zip(one[key], value, other["_final_obs"], strict=True)
            if not all(not ended or mine == theirs for mine, theirs, ended in rows):
                return False
        # The column is int64, because the first lane was just reset, so other values round to 0.
        elif key == "prob" and value.dtype == np.int64:
            if not np.array_equal(one[key].astype(np.int64), value):
                return False
        elif one[key].dtype != value.dtype or not np.array_equal(one[key], value):
            return False
    return True
