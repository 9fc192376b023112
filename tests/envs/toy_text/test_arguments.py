"""Maps, probabilities and other arguments; module functions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium.envs.toy_text import frozen_lake as their_lake
from gymnasium.envs.toy_text.taxi import TaxiEnv as TheirTaxi

import gymcore
from gymcore import error
from gymcore.envs.toy_text import frozen_lake
from gymcore.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymcore.envs.toy_text.taxi import TaxiEnv

BAD_LAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"desc": ["SX"]}, error.InvalidArgument, r"desc\[0\]\[1\]: .* 'X'"),
    ({"desc": ["SF", "G"]}, error.InvalidArgument, r"desc\[1\]: expected 2 letters .* 1"),
    ({"desc": ["FG"]}, error.InvalidArgument, "desc: .* start S"),
    ({"desc": []}, error.ArgumentTypeError, "desc: expected rows"),
    ({"desc": "SFG"}, error.ArgumentTypeError, "desc: expected rows"),
    ({"desc": ["S", 3]}, error.ArgumentTypeError, r"desc\[1\]: .* 3"),
    ({"map_name": "5x5"}, error.InvalidArgument, "map_name: .* 4x4, 8x8 .* '5x5'"),
    ({"success_rate": 1.2}, error.InvalidProbability, "success_rate: .* 1.2"),
    ({"success_rate": "x"}, error.InvalidProbability, "success_rate: .* 'x'"),
    ({"reward_schedule": (1, 0)}, error.InvalidArgument, "reward_schedule: .* three"),
    ({"reward_schedule": (1, 0, np.nan)}, error.InvalidArgument, "reward_schedule: .* nan"),
]


@pytest.mark.parametrize(("kwargs", "kind", "message"), BAD_LAKES)
def test_bad_lakes(kwargs: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        FrozenLakeEnv(**kwargs)
    with pytest.raises(kind, match=message):
        gymcore.make_vec("FrozenLake-v1", 2, **kwargs)


@pytest.mark.parametrize("seed", range(25))
def test_random_maps(seed: int) -> None:
    size, p = seed % 7 + 3, 0.5 + seed / 40
    ours = frozen_lake.generate_random_map(size, p, seed)
    assert ours == their_lake.generate_random_map(size, p, seed)
    assert frozen_lake.is_valid(ours, size)


@pytest.mark.parametrize("board", [["SF", "HG"], ["SH", "HG"], ["SFF", "HHF", "GFF"], ["SF", "FF"]])
def test_is_valid(board: list[str]) -> None:
    assert frozen_lake.is_valid(board, len(board)) == their_lake.is_valid(board, len(board))


def test_maps_that_there_cannot_be() -> None:
    with pytest.raises(error.InvalidArgument, match=r"size: .* 1"):
        frozen_lake.generate_random_map(1)
    with pytest.raises(error.InvalidArgument, match=r"p: .* 0"):
        frozen_lake.generate_random_map(4, 0.0)


def test_a_map_without_a_name_is_random_and_shared_by_lanes() -> None:
    envs = gymcore.make_vec("FrozenLake-v1", 3, map_name=None)
    maps = envs.get_attr("desc")
    assert all(np.array_equal(one, maps[0]) for one in maps)
    assert maps[0].shape == (8, 8)


@pytest.mark.parametrize("form", [list, tuple, lambda rows: np.array(rows, "S1")])
def test_forms_of_maps(form: Any) -> None:
    env = FrozenLakeEnv(desc=form([list("SF"), list("HG")]))
    assert env.desc.tolist() == [[b"S", b"F"], [b"H", b"G"]]


@pytest.mark.parametrize("name", ["rainy_probability", "fickle_probability"])
@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan, "often"])
def test_bad_taxis(name: str, value: Any) -> None:
    with pytest.raises(error.InvalidProbability, match=f"{name}: "):
        TaxiEnv(**{name: value})


def test_taxi_states() -> None:
    ours, theirs = TaxiEnv(), TheirTaxi()
    for state in range(500):
        assert ours.decode(state) == tuple(theirs.decode(state))
        assert ours.encode(*ours.decode(state)) == state
        mask = ours.action_mask(state)
        assert mask.dtype == np.int8
        assert np.array_equal(mask, theirs.action_mask(state))
        mask[:] = 7
    assert np.array_equal(ours.action_mask(3), theirs.action_mask(3))
    assert np.array_equal(ours.desc, theirs.desc)
    for state in (-1, 500):
        with pytest.raises(AssertionError, match="i: expected a state"):
            ours.decode(state)
    with pytest.raises(error.InvalidArgument, match=r"pass_loc: .* 5"):
        ours.encode(0, 0, 5, 0)


def test_parameters_of_lanes() -> None:
    """A fickle passenger, and the rules of blackjack, can differ between lanes."""
    taxis = gymcore.make_vec("Taxi-v4", 2, fickle_passenger=[False, True], fickle_probability=1.0)
    taxis.reset(seed=1)
    assert taxis.get_attr("fickle_step") == (False, True)
    tables = gymcore.make_vec("Blackjack-v1", 2, sab=False, natural=[False, True])
    tables.reset(seed=1)
    row = tables.get_attr("state")[0].copy()
    row[:3] = 11, 1, 0xA1  # the player's sum, whether there is an ace, cards: an ace and a ten
    row[3:6] = 18, 0, 0x99
    tables.set_attr("state", [row, row])
    assert tables.step([0, 0])[1].tolist() == [1.0, 1.5]


@pytest.mark.parametrize(
    ("old", "new"), [("Taxi-v3", "Taxi-v4"), ("CliffWalking-v0", "CliffWalking-v1")]
)
def test_ids_of_their_era(old: Any, new: Any) -> None:
    """Taxi-v3 and CliffWalking-v0 are Gym 0.26's; their dynamics have not changed."""
    with pytest.warns(DeprecationWarning, match="out of date"):
        one = gymcore.make(old)
    other = gymcore.make(new)
    assert one.unwrapped.P == other.unwrapped.P
    assert one.spec.max_episode_steps == other.spec.max_episode_steps


@pytest.mark.parametrize("action", [4, -1, 1.0, "a", np.array([1, 2])])
def test_wrong_actions(action: Any) -> None:
    env = FrozenLakeEnv()
    env.reset(seed=1)
    with pytest.raises(error.InvalidAction, match="action: "):
        env.step(action)
    assert env.lastaction is None


@pytest.mark.parametrize("hand", ["player", "dealer"])
def test_hands_can_be_assigned_and_extended(hand):
    env = gymcore.make("Blackjack-v1").unwrapped
    env.reset(seed=3)
    setattr(env, hand, [1, 2])
    cards = getattr(env, hand)
    cards.append(8)
    assert getattr(env, hand) == [*cards] == copy.deepcopy(cards) == [1, 2, 8]
    assert type(copy.deepcopy(cards)) is list
    assert env._get_obs() == {"player": (21, env.dealer[0], 1), "dealer": (7, 1, 0)}[hand]
    for _ in range(12):
        getattr(env, hand).append(1)
    assert len(getattr(env, hand)) == 12 and env.state.max() > 16**11
    for change in ([0], [11], []):
        with pytest.raises(error.InvalidArgument):
            setattr(env, hand, change)
    with pytest.raises(error.ArgumentTypeError, match="append a card or assign a new hand"):
        cards[0] = 3


def test_the_open_card_can_be_assigned():
    env = gymcore.make("Blackjack-v1").unwrapped
    env.reset(seed=3)
    env.dealer = [10, 3]
    env.dealer_top_card_suit, env.dealer_top_card_value_str = "D", "Q"
    assert (env.dealer_top_card_suit, env.dealer_top_card_value_str) == ("D", "Q")
    with pytest.raises(error.InvalidArgument, match="expected one of"):
        env.dealer_top_card_value_str = "7"
