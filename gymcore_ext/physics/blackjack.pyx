"""Blackjack: beat the dealer by getting closer to 21 without going beyond.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1; the deck is endless. Reference
environment: Blackjack-v1. Cards are 1 (ace) to 10 (ten and pictures). State: the cards of both hands, four bits a card,
and of each hand the sum with aces as 1 and whether there is an ace; suit and picture of the dealer's open card.
Observation: the player's sum, the dealer's open card, whether the player has an ace that counts 11.
Actions: 0 stick, 1 hit.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, below, kernel_t, outcome_t, rng_t, select


cdef extern from *:
    """
    #define LANE_NAME blackjack
    #define LANE_STATE(F) \
        F(player_cards) F(more_cards) F(player_sum) F(player_ace) F(dealer_cards) F(dealer_sum) F(dealer_ace) \
        F(suit) F(face)
    #define LANE_PARAMETERS(F) F(natural, 0.0) F(sab, 0.0)
    #define LANE_BOUNDS(F)
    #define LANE_OBSERVATION_INTEGERS 3
    #define LANE_DISCRETE_ACTIONS 2
    #define LANE_DRAWS
    #include "lanes.h"
    """
    ctypedef struct blackjack_state:
        double player_cards, more_cards, player_sum, player_ace, dealer_cards, dealer_sum, dealer_ace, suit, face
    ctypedef struct blackjack_parameters:
        double natural, sab
    ctypedef struct blackjack_bounds:
        double end
    const kernel_t blackjack_kernel

# Twelve cards of four bits are exact in a float64.
cdef double FULL = 16.0 ** 11


cdef inline double draw_card(rng_t* rng) noexcept nogil:
    """One of thirteen cards, of which four count ten."""
    cdef double card = 1.0 + <double> below(rng, 13)
    return select(card > 10.0, 10.0, card)


cdef inline double value(double total, double ace) noexcept nogil:
    """What a hand is worth: an ace counts 11 where that is not too much."""
    return select((ace != 0.0) & (total <= 11.0), total + 10.0, total)


cdef inline bint is_natural(double cards) noexcept nogil:
    """Whether a hand is an ace and a ten, and nothing else."""
    return (cards == 0x1A) | (cards == 0xA1)


cdef inline void blackjack_reset "blackjack_reset"(
    blackjack_state* s, const blackjack_parameters* p, const blackjack_bounds* b, rng_t* rng
) noexcept nogil:
    cdef double one = draw_card(rng), other = draw_card(rng)
    # The dealer's first card is in the lowest bits, the player's first one in the highest.
    s.dealer_cards = one + 16.0 * other
    s.dealer_sum = one + other
    s.dealer_ace = (one == 1.0) | (other == 1.0)
    s.suit = one
    one = draw_card(rng)
    other = draw_card(rng)
    s.player_cards = 16.0 * one + other
    s.more_cards = 0.0
    s.player_sum = one + other
    s.player_ace = (one == 1.0) | (other == 1.0)
    # Only pictures show these, but they are drawn from the same stream.
    one = s.suit
    s.suit = <double> below(rng, 4)
    s.face = 0.0
    if one == 10.0:
        s.face = <double> below(rng, 3)


cdef inline void blackjack_step "blackjack_step"(
    blackjack_state* s, const blackjack_parameters* p, int64_t action, outcome_t* out, rng_t* rng
) noexcept nogil:
    cdef double card, mine, theirs, place
    cdef int _k
    cdef bint bust
    out.reward = 0.0
    if action:
        card = draw_card(rng)
        if s.player_cards < FULL:
            s.player_cards = 16.0 * s.player_cards + card
        elif s.more_cards < FULL:
            s.more_cards = 16.0 * s.more_cards + card
        s.player_sum += card
        s.player_ace = select(card == 1.0, 1.0, s.player_ace)
        bust = s.player_sum > 21.0
        out.reward = select(bust, -1.0, 0.0)
        out.terminated = bust
        return
    # The dealer's third card comes above the first two, and so on.
    place = 256.0
    theirs = value(s.dealer_sum, s.dealer_ace)
    # No dealer draws more than nine cards; a state that a caller has written may not keep this loop for ever.
    for _k in range(12):
        if not theirs < 17.0:
            break
        card = draw_card(rng)
        s.dealer_cards += place * card
        place *= 16.0
        s.dealer_sum += card
        s.dealer_ace = select(card == 1.0, 1.0, s.dealer_ace)
        theirs = value(s.dealer_sum, s.dealer_ace)
    mine = value(s.player_sum, s.player_ace)
    mine = select(mine > 21.0, 0.0, mine)
    theirs = select(theirs > 21.0, 0.0, theirs)
    out.reward = select(mine > theirs, 1.0, 0.0) - select(mine < theirs, 1.0, 0.0)
    out.terminated = 1
    if is_natural(s.player_cards) & (s.more_cards == 0.0):
        if p.sab != 0.0:
            out.reward = select(is_natural(s.dealer_cards), out.reward, 1.0)
        elif (p.natural != 0.0) & (out.reward == 1.0):
            out.reward = 1.5


cdef inline void blackjack_observe "blackjack_observe"(const blackjack_state* s, int64_t* observation) noexcept nogil:
    cdef bint usable = (s.player_ace != 0.0) & (s.player_sum <= 11.0)
    observation[0] = <int64_t> s.player_sum + (10 if usable else 0)
    observation[1] = <int64_t> s.dealer_cards & 15
    observation[2] = usable


kernel = PyCapsule_New(<void*> &blackjack_kernel, KERNEL_CAPSULE, NULL)
