"""Blackjack as functions of a state that JAX compiles and vectorizes.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1. Reference
environment: tabular/Blackjack-v0, which draws the same cards from the same keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from gymcore import spaces
from gymcore.core import ActType
from gymcore.envs.functional_jax_env import (
    DrawnFunctions,
    FunctionalParams,
    ParamsLike,
    RegisteredJaxEnv,
    functional_params,
    new_surface,
)
from gymcore.envs.toy_text.blackjack import BlackjackEnv, card_name
from gymcore.experimental.functional import FuncEnv
from gymcore.vector.vector_env import AutoresetMode

if TYPE_CHECKING:
    import pygame

PRNGKeyType: TypeAlias = jax.Array
RenderStateType = tuple["pygame.Surface", str, str]

SCREEN_SIZE = (384, 376)
# 21 aces are the longest hand that does not exceed 21.
LONGEST_HAND = 21
# Text for a ten of the dealer, and suit of the open card.
FACE, SUIT = "Q", "S"


@functional_params
class BlackJackParams(FunctionalParams):
    """Parameters of `BlackjackFunctional`; the class itself holds the defaults.

    Attributes:
        natural: Whether an ace and a ten as the first two cards win 1.5.
        sutton_and_barto: Whether to use the book's rules: an ace and a ten as the first two cards
            win against everything but the same; `natural` then has no effect.
    """

    natural: bool = False
    sutton_and_barto: bool = True


class EnvState(NamedTuple):
    """The cards on a table.

    Attributes:
        dealer_hand: The dealer's cards, `[21] float32`, the open card first.
        player_hand: The player's cards, `[21] float32`.
        dealer_cards: Number of the dealer's cards.
        player_cards: Number of the player's cards.
        done: 1 if the hand is over, otherwise 0.
    """

    dealer_hand: jax.Array
    player_hand: jax.Array
    dealer_cards: int
    player_cards: int
    done: int


def take(env_state: tuple[EnvState, PRNGKeyType]) -> tuple[EnvState, PRNGKeyType]:
    """Draw a card for the player; return the table and the next key."""
    state, key = env_state
    key, hand, cards = draw_card(key, state.player_hand, state.player_cards)
    return state._replace(player_hand=hand, player_cards=cards), key


def notake(env_state: tuple[EnvState, PRNGKeyType]) -> tuple[EnvState, PRNGKeyType]:
    """Draw all cards of the dealer and end the hand; return the table and the next key."""
    state, key = env_state
    key, hand, cards = jax.lax.while_loop(
        dealer_stop, draw_card_wrapper, (key, state.dealer_hand, state.dealer_cards)
    )
    return state._replace(dealer_hand=hand, dealer_cards=cards, done=1), key


class BlackjackFunctional(
    DrawnFunctions, FuncEnv[EnvState, jax.Array, int, float, bool, RenderStateType, BlackJackParams]
):
    """A hand of blackjack against a dealer, from an endless deck.

    - Observation int32 [3]: the player's points, the dealer's open card (1 is an ace), and whether
      the player has a usable ace.
    - Action: 0 stick, 1 hit. After a stick the dealer draws until reaching at least 17 points.
    - Reward: 1 for a win, 0 for a draw or an unfinished hand, -1 for a loss; see `BlackJackParams`.
    - Terminal: after a stick, or with more than 21 points.
    """

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(np.array([1, 1, 0]), np.array([32, 11, 1]), (3,), np.int32)
    params_class = BlackJackParams

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def transition(
        self,
        state: EnvState,
        action: int | jax.Array,
        key: PRNGKeyType,
        params: ParamsLike = BlackJackParams,
    ) -> EnvState:
        """Return the table after an action; see `FuncEnv.transition`."""
        state, _ = jax.lax.cond(action, take, notake, (_of_arrays(state), key))
        stands = jnp.equal(action, 0)
        return state._replace(done=(stands | is_bust(state.player_hand)).astype(jnp.int32))

    def initial(self, rng: PRNGKeyType, params: ParamsLike = BlackJackParams) -> EnvState:
        """Return a table with two cards for the player, then two for the dealer."""
        player_hand, rng = draw_hand(rng, jnp.zeros(LONGEST_HAND))
        dealer_hand, rng = draw_hand(rng, jnp.zeros(LONGEST_HAND))
        return EnvState(dealer_hand, player_hand, dealer_cards=2, player_cards=2, done=0)

    def observation(
        self, state: EnvState, rng: PRNGKeyType, params: ParamsLike = BlackJackParams
    ) -> jax.Array:
        """Return the player's view, int32 [3]; see `FuncEnv.observation`."""
        hand = state.player_hand
        return jnp.array([sum_hand(hand), state.dealer_hand[0], usable_ace(hand)], jnp.int32)

    def terminal(
        self, state: EnvState, rng: PRNGKeyType, params: ParamsLike = BlackJackParams
    ) -> jax.Array:
        """Return whether the hand is over; see `FuncEnv.terminal`."""
        return jnp.asarray(state.done) > 0

    def reward(
        self,
        state: EnvState,
        action: ActType,
        next_state: EnvState,
        rng: PRNGKeyType,
        params: ParamsLike = BlackJackParams,
    ) -> jax.Array:
        """Return the reward, float32; see the class and `FuncEnv.reward`."""
        player, dealer = next_state.player_hand, next_state.dealer_hand
        stands = jnp.equal(action, 0)
        lost = jnp.where(is_bust(player), -1.0, 0.0)
        reward = jnp.where(stands, cmp(score(player), score(dealer)), lost)
        natural = is_natural(player)
        book_reward = jnp.where(natural & ~is_natural(dealer), 1.0, reward)
        more = params.natural & stands & natural & (reward == 1)
        return jnp.where(params.sutton_and_barto, book_reward, jnp.where(more, 1.5, reward))

    def render_init(
        self, screen_width: int = SCREEN_SIZE[0], screen_height: int = SCREEN_SIZE[1]
    ) -> RenderStateType:
        """Return a surface of this size, the text of a ten, and the suit of the open card."""
        return new_surface(screen_width, screen_height), FACE, SUIT

    def _draw(self, state: EnvState, render_state: RenderStateType, params: ParamsLike) -> None:
        surface, face, suit = render_state
        player, dealer = (
            [int(card) for card in np.asarray(hand) if card]
            for hand in (state.player_hand, state.dealer_hand)
        )
        value = face if dealer[0] == 10 else card_name(dealer[0])
        BlackjackEnv.draw(surface, (), player=player, dealer=dealer, suit=suit, value=value)


def _of_arrays(state: EnvState) -> EnvState:
    """Return the state with counts as int32: both branches of a condition need the same types."""
    counts = {
        name: jnp.asarray(getattr(state, name), jnp.int32)
        for name in ("dealer_cards", "player_cards", "done")
    }
    return state._replace(**counts)


class BlackJackJaxEnv(RegisteredJaxEnv):
    """tabular/Blackjack-v0: Blackjack with functions compiled by JAX."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50, "jax": True}  # noqa: RUF012

    functional = BlackjackFunctional


# --- hands: arrays of cards, 1 (ace) to 10, followed by zeros ------------------------------

deck = jnp.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10], jnp.int32)
"""One card of each rank."""


def cmp(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return 1 if a > b, -1 if a < b, otherwise 0, int32."""
    return jnp.greater(a, b).astype(jnp.int32) - jnp.less(a, b).astype(jnp.int32)


def random_card(key: PRNGKeyType) -> tuple[jax.Array, PRNGKeyType]:
    """Return a card from an endless deck, int32, and the next key."""
    key = jax.random.split(key)[0]
    return jax.random.choice(key, deck), key


def draw_card(
    key: PRNGKeyType, hand: jax.Array, index: int | jax.Array
) -> tuple[PRNGKeyType, jax.Array, int | jax.Array]:
    """Draw a card into a copy of `hand`; return the next key, the hand and `index + 1`."""
    card, key = random_card(key)
    return key, hand.at[index].set(card), index + 1


def draw_card_wrapper(
    val: tuple[PRNGKeyType, jax.Array, int | jax.Array],
) -> tuple[PRNGKeyType, jax.Array, int | jax.Array]:
    """Call `draw_card` with arguments in a tuple, as `jax.lax.while_loop` requires."""
    return draw_card(*val)


def draw_hand(key: PRNGKeyType, hand: jax.Array) -> tuple[jax.Array, PRNGKeyType]:
    """Return a hand with two drawn cards, and the next key."""
    key, hand, _ = draw_card(key, hand, 0)
    key, hand, _ = draw_card(key, hand, 1)
    return hand, key


def usable_ace(hand: jax.Array) -> jax.Array:
    """Return whether a hand has an ace that can count 11 without exceeding 21."""
    return jnp.any(hand == 1) & (jnp.sum(hand) + 10 <= 21)


def sum_hand(hand: jax.Array) -> jax.Array:
    """Return the points of a hand in its dtype, with a usable ace counted as 11."""
    return jnp.sum(hand) + (10 * usable_ace(hand)).astype(hand.dtype)


def is_bust(hand: jax.Array) -> jax.Array:
    """Return whether a hand exceeds 21."""
    return sum_hand(hand) > 21


def score(hand: jax.Array) -> jax.Array:
    """Return the points of a hand, 0 if it exceeds 21."""
    return jnp.where(is_bust(hand), 0, sum_hand(hand))


def is_natural(hand: jax.Array) -> jax.Array:
    """Return whether a hand consists of an ace and a ten."""
    return (jnp.count_nonzero(hand) == 2) & (sum_hand(hand) == 21)


def dealer_stop(val: tuple[PRNGKeyType, jax.Array, int | jax.Array]) -> jax.Array:
    """Return whether the dealer, with the hand `val[1]`, draws another card (below 17 points)."""
    return sum_hand(val[1]) < 17
