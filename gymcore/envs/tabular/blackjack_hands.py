"""Hands of blackjack in JAX arrays: drawing cards from keys, and counting them.

A hand is an array of cards, 1 (ace) to 10, with zeros behind them.
"""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp

PRNGKeyType: TypeAlias = jax.Array

deck = jnp.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10], jnp.int32)
"""One card of each rank."""


def cmp(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return 1 if a > b, -1 if a < b, else 0, int32."""
    return jnp.greater(a, b).astype(jnp.int32) - jnp.less(a, b).astype(jnp.int32)


def random_card(key: PRNGKeyType) -> tuple[jax.Array, PRNGKeyType]:
    """Return a card of an endless deck, int32, and the next key."""
    key = jax.random.split(key)[0]
    return jax.random.choice(key, deck), key


def draw_card(
    key: PRNGKeyType, hand: jax.Array, index: int | jax.Array
) -> tuple[PRNGKeyType, jax.Array, int | jax.Array]:
    """Draw a card.

    Args:
        key: The source of the card.
        hand: The hand; not changed.
        index: Where the card is put.

    Returns:
        The next key, the new hand, and `index + 1`.
    """
    card, key = random_card(key)
    return key, hand.at[index].set(card), index + 1


def draw_card_wrapper(
    val: tuple[PRNGKeyType, jax.Array, int | jax.Array],
) -> tuple[PRNGKeyType, jax.Array, int | jax.Array]:
    """`draw_card` with its arguments in a tuple, as `jax.lax.while_loop` wants it."""
    return draw_card(*val)


def draw_hand(key: PRNGKeyType, hand: jax.Array) -> tuple[jax.Array, PRNGKeyType]:
    """Return a hand whose first two cards are drawn, and the next key."""
    key, hand, _ = draw_card(key, hand, 0)
    key, hand, _ = draw_card(key, hand, 1)
    return hand, key


def usable_ace(hand: jax.Array) -> jax.Array:
    """Whether a hand has an ace that may count 11 without going beyond 21."""
    return jnp.any(hand == 1) & (jnp.sum(hand) + 10 <= 21)


def sum_hand(hand: jax.Array) -> jax.Array:
    """Return the points of a hand, of its dtype, with a usable ace counted 11."""
    return jnp.sum(hand) + (10 * usable_ace(hand)).astype(hand.dtype)


def is_bust(hand: jax.Array) -> jax.Array:
    """Whether a hand is over 21."""
    return sum_hand(hand) > 21


def score(hand: jax.Array) -> jax.Array:
    """Return the points of a hand, 0 if it is over 21."""
    return jnp.where(is_bust(hand), 0, sum_hand(hand))


def is_natural(hand: jax.Array) -> jax.Array:
    """Whether a hand is an ace and a ten alone."""
    return (jnp.count_nonzero(hand) == 2) & (sum_hand(hand) == 21)


def dealer_stop(val: tuple[PRNGKeyType, jax.Array, int | jax.Array]) -> jax.Array:
    """Whether the dealer, whose hand is `val[1]`, draws another card: up to 16 points."""
    return sum_hand(val[1]) < 17
