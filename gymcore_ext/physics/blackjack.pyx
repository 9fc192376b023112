# cython: preliminary_late_includes_cy28=True
"""Blackjack: beat the dealer by getting closer to 21 without going beyond.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1; the deck is endless. Reference
environment: Blackjack-v1. Cards are 1 (ace) to 10 (ten and face cards).
State: the sum of the player's hand with aces as 1, whether it has an ace, and its first twelve cards as hexadecimal
digits; the same of the dealer's hand; and the dealer's open card, whose suit and face only renderers show.
Observation: the player's sum, the dealer's open card, whether the player has an ace that counts 11.
Actions: 0 stick, 1 hit.
"""
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport below, kernel_t, make_kernel, none_t, outcome_t, rng_t, select, to_whole


ctypedef struct State "blackjack_state":
    double player_sum, player_ace, player_cards, dealer_sum, dealer_ace, dealer_cards, open_card, suit, face

ctypedef struct Parameters "blackjack_parameters":
    double natural, sab

cdef extern from *:
    """
    #define LANE_NAME blackjack
    #define LANE_RESET_OPTIONS gymcore_none
    #define LANE_OBSERVATION_INTEGERS 3
    #define LANE_DISCRETE_ACTIONS 2
    #define LANE_STEP_USES_RNG
    #include "gymcore/lanes.h"
    """
    kernel_t blackjack_kernel

cdef double TWELVE_CARDS = 16.0 ** 11   # hands below this number have fewer than twelve cards


cdef inline void take_card(double* total, double* ace, double* cards, rng_t* rng) noexcept nogil:
    """Draw ace to nine, ten, jack, queen or king, and add it to a hand."""
    cdef int64_t card = min(<int64_t> below(rng, 13) + 1, <int64_t> 10)
    total[0] += card
    ace[0] = (ace[0] != 0.0) | (card == 1)
    if 0.0 <= cards[0] < TWELVE_CARDS:
        cards[0] = 16.0 * cards[0] + card


cdef inline bint usable_ace(double total, double ace) noexcept nogil:
    """Return whether a hand has an ace that counts 11, because the hand is then worth at most 21."""
    return (ace != 0.0) & (total + 10.0 <= 21.0)


cdef inline double value(double total, double ace) noexcept nogil:
    return total + select(usable_ace(total, ace), 10.0, 0.0)


cdef inline bint is_natural(double cards) noexcept nogil:
    """Return whether a hand consists of an ace and a ten."""
    return (cards == 0x1A) | (cards == 0xA1)


cdef inline void reset "blackjack_reset"(
    State* s, const Parameters* p, const none_t* options, rng_t* rng
) noexcept nogil:
    s.dealer_sum = s.dealer_ace = s.dealer_cards = s.player_sum = s.player_ace = s.player_cards = 0.0
    take_card(&s.dealer_sum, &s.dealer_ace, &s.dealer_cards, rng)
    s.open_card = s.dealer_sum
    take_card(&s.dealer_sum, &s.dealer_ace, &s.dealer_cards, rng)
    take_card(&s.player_sum, &s.player_ace, &s.player_cards, rng)
    take_card(&s.player_sum, &s.player_ace, &s.player_cards, rng)
    s.suit = below(rng, 4)
    s.face = below(rng, 3) if s.open_card == 10.0 else 0.0


cdef inline void draw "blackjack_draw"(State* s, const Parameters* p, int64_t action, rng_t* rng) noexcept nogil:
    """Draw the cards of a step: one for a player who hits, otherwise those of the dealer."""
    if action == 1:
        take_card(&s.player_sum, &s.player_ace, &s.player_cards, rng)
        return
    # Callers may write a negative sum into the state, from which the dealer might never reach 17.
    while 0.0 <= value(s.dealer_sum, s.dealer_ace) < 17.0:
        take_card(&s.dealer_sum, &s.dealer_ace, &s.dealer_cards, rng)


cdef inline void step "blackjack_step"(State* s, const Parameters* p, int64_t action, outcome_t* out) noexcept nogil:
    cdef bint hits = action == 1, bust = s.player_sum > 21.0, natural = is_natural(s.player_cards)
    # The value of a hand of more than 21 is 0.
    cdef double player = select(bust, 0.0, value(s.player_sum, s.player_ace))
    cdef double dealer = select(s.dealer_sum > 21.0, 0.0, value(s.dealer_sum, s.dealer_ace))
    cdef double payoff = select(player > dealer, 1.0, select(player < dealer, -1.0, 0.0))
    payoff = select((p.sab != 0.0) & natural & (not is_natural(s.dealer_cards)), 1.0, payoff)
    payoff = select((p.sab == 0.0) & (p.natural != 0.0) & natural & (payoff == 1.0), 1.5, payoff)
    out.reward = select(hits, select(bust, -1.0, 0.0), payoff)
    out.terminated = (not hits) | bust


cdef inline void observe "blackjack_observe"(const State* s, int64_t* observation) noexcept nogil:
    observation[0] = <int64_t> to_whole(value(s.player_sum, s.player_ace))
    observation[1] = <int64_t> to_whole(s.open_card)
    observation[2] = usable_ace(s.player_sum, s.player_ace)


cdef State state
kernel = make_kernel(&blackjack_kernel, state, Parameters(0.0, 0.0), {})
