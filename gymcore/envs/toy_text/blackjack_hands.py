"""Hands of Blackjack as lists of cards, 1 for an ace: what programs import beside the environment.

The environment does not use these: its rules are in `gymcore_ext.physics.blackjack`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = [
    "cmp",
    "deck",
    "draw_card",
    "draw_hand",
    "is_bust",
    "is_natural",
    "score",
    "sum_hand",
    "usable_ace",
]

# One of each value; jack, queen and king count 10.
deck = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]


def cmp(a: float, b: float) -> float:
    """1.0 if `a` is more than `b`, -1.0 if it is less, 0.0 if they are equal."""
    return float(a > b) - float(a < b)


def draw_card(np_random: np.random.Generator) -> int:
    """A card from an endless deck.

    Example:
        >>> draw_card(np.random.default_rng(1))
        7
    """
    return int(np_random.choice(deck))


def draw_hand(np_random: np.random.Generator) -> list[int]:
    """Two cards from an endless deck."""
    return [draw_card(np_random), draw_card(np_random)]


def usable_ace(hand: Sequence[int]) -> int:
    """1 if an ace of the hand can count 11 without going beyond 21, else 0."""
    return int(1 in hand and sum(hand) + 10 <= 21)


def sum_hand(hand: Sequence[int]) -> int:
    """What the hand counts, with an ace as 11 where that helps.

    Example:
        >>> sum_hand([1, 5]), sum_hand([1, 5, 10])
        (16, 16)
    """
    return sum(hand) + 10 * usable_ace(hand)


def is_bust(hand: Sequence[int]) -> bool:
    """Whether the hand counts more than 21."""
    return sum_hand(hand) > 21


def score(hand: Sequence[int]) -> int:
    """What the hand counts against another one: 0 beyond 21."""
    return 0 if is_bust(hand) else sum_hand(hand)


def is_natural(hand: Sequence[int]) -> bool:
    """Whether the hand is an ace and a ten."""
    return sorted(hand) == [1, 10]
