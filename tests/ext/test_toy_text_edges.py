"""Draws that are repeated, and states that no game leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gymcore.native.lane_generator import lane_generator
from gymcore_ext.engine.batch import Batch
from tests.ext.instruction_sets import available
from tests.ext.lanes import TOY_TEXT, facts, make_batch, tables

LANES = 300
CARDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)
# Half a draw is left over, and it is 0, which no unbiased draw below 13 or 3 may use.
REFUSED = np.uint64(1)


def started(isa: str | None = None) -> Batch:
    batch = make_batch("blackjack", LANES, isa=isa)
    batch.seed(5, 0, LANES)
    batch.reset()
    return batch


def cards_of(batch: Batch, lane: int, hand: str = "player_cards") -> list[int]:
    number = batch.view_state()[facts("blackjack")["state_names"].index(hand)][lane]
    return [int(digit, 16) for digit in f"{int(number):x}"]


@pytest.mark.parametrize("isa", available())
def test_a_refused_card_is_drawn_again(isa: str) -> None:
    batch, judge = started(isa), started(isa)
    for each in (batch, judge):
        each.view_random()[::3, 4] = REFUSED
    before = [cards_of(batch, lane) for lane in range(LANES)]
    batch.step(np.ones(LANES, np.int64))
    for lane in range(LANES):
        card = CARDS[lane_generator(judge, lane).integers(13)]
        assert cards_of(batch, lane) == [*before[lane], card]
    assert batch.view_random().tobytes() == judge.view_random().tobytes()


def test_a_refused_deal_is_drawn_again() -> None:
    batch, judge = started(), started()
    for each in (batch, judge):
        each.view_random()[::3, 4] = REFUSED
    observations, _ = batch.reset()
    for lane in range(LANES):
        random = lane_generator(judge, lane)
        dealer = [CARDS[random.integers(13)] for _ in range(2)]
        player = [CARDS[random.integers(13)] for _ in range(2)]
        random.integers(4)
        if dealer[0] == 10:
            random.integers(3)
        assert cards_of(batch, lane, "dealer_cards") == dealer
        assert cards_of(batch, lane) == player
        assert observations[1][lane] == dealer[0]
        assert observations[2][lane] == (1 in player)
        assert observations[0][lane] == sum(player) + 10 * (1 in player)
    assert batch.view_random().tobytes() == judge.view_random().tobytes()


def test_a_hand_of_many_cards_keeps_its_first_twelve() -> None:
    """Only a player who continues after the end gets so many cards; the sums keep growing too."""
    batch = make_batch("blackjack", 1, mode=3)
    batch.seed(1, 0, 1)
    batch.reset()
    cards, total = cards_of(batch, 0), 0
    for _ in range(30):
        judge = make_batch("blackjack", 1, mode=3)
        judge.view_random()[:] = batch.view_random()
        cards.append(CARDS[lane_generator(judge, 0).integers(13)])
        (total, _, _), _, _ = batch.step_single(1)
    assert total == sum(cards)
    assert cards_of(batch, 0) == cards[:12]


def odd_states() -> npt.NDArray[np.float64]:
    odd = [np.nan, np.inf, -np.inf, -1.0, -1e300, 1e300, 2.0**52, 2.0**53, 0.5, 5e-324, 1e9]
    return np.resize(np.array([*odd, 2.0**52 - 1], np.float64), LANES)


@pytest.mark.parametrize("isa", available())
@pytest.mark.parametrize("name", TOY_TEXT)
def test_any_state_ends_in_a_step(name: str, isa: str) -> None:
    """Callers may write any number into a lane: a step ends, and leads back into the table."""
    batch = make_batch(name, LANES, isa=isa)
    batch.seed(3, 0, LANES)
    batch.reset()
    states: Any = batch.view_state()
    for k in range(len(states)):
        states[k] = np.roll(odd_states(), k)
    for action in range(2):
        observations = batch.step(np.full(LANES, action, np.int64))[0]
    if name != "blackjack":
        assert observations.min() >= 0
        assert observations.max() < (500 if name.startswith("taxi") else 48)


def test_tables_are_there_for_every_kernel() -> None:
    assert [bool(tables(name)) for name in TOY_TEXT] == [True] * 5 + [False]


@pytest.mark.parametrize("isa", available())
def test_any_mark_of_a_left_over_half_is_one(isa: str) -> None:
    """Callers may write a stream's words too; NumPy treats any mark but 0 as set."""
    batch, judge = started(isa), started(isa)
    for each, mark in ((batch, 0xFFFFFFFE), (judge, 1)):
        words = each.view_random()
        words[::2, 4] = words[::2, 4] & np.uint64(0xFFFFFFFF00000000) | np.uint64(mark)
    for each in (batch, judge):
        each.step(np.ones(LANES, np.int64))
        each.reset()
    np.testing.assert_array_equal(batch.view_state(), judge.view_state())
    np.testing.assert_array_equal(batch.view_random()[:, :4], judge.view_random()[:, :4])
