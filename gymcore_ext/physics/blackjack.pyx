"""Blackjack: beat the dealer by getting closer to 21 without going beyond.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1; the deck is endless. Reference
environment: Blackjack-v1. Cards are 1 (ace) to 10 (ten and pictures). State: of each hand its first twelve cards, four
bits each, and twice the sum with aces as 1, plus 1 if there is an ace; the dealer's open card, plus 16 times its
picture, plus 64 times its suit.
Observation: the player's sum, the dealer's open card, whether the player has an ace that counts 11.
Actions: 0 stick, 1 hit.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, below, kernel_t, outcome_t, rng_t, select


cdef extern from *:
    """
    #define LANE_NAME blackjack
    #define LANE_STATE(F) F(player_cards) F(player_hand) F(dealer_cards) F(dealer_hand) F(top)
    #define LANE_PARAMETERS(F) F(natural, 0.0) F(sab, 0.0)
    #define LANE_BOUNDS(F)
    #define LANE_OBSERVATION_INTEGERS 3
    #define LANE_DISCRETE_ACTIONS 2
    #define LANE_ROUNDS
    #include "lanes.h"
    """
    ctypedef struct blackjack_state:
        double player_cards, player_hand, dealer_cards, dealer_hand, top
    ctypedef struct blackjack_parameters:
        double natural, sab
    ctypedef struct blackjack_bounds:
        double end
    const kernel_t blackjack_kernel

# Twelve cards of four bits: all numbers below are exact in a float64.
cdef extern from *:
    """
    #define BLACKJACK_FULL 281474976710656.0 /* 16 ** 12 */
    """
    const double FULL "BLACKJACK_FULL"


cdef inline int64_t draw_card(rng_t* rng) noexcept nogil:
    """One of thirteen cards, of which four count ten."""
    cdef int64_t card = 1 + below(rng, 13)
    return 10 if card > 10 else card


cdef inline int64_t with_card(int64_t hand, int64_t card) noexcept nogil:
    return (hand + 2 * card) | (card == 1)


cdef inline int64_t value(int64_t hand) noexcept nogil:
    """What a hand is worth: an ace counts 11 where that is not too much."""
    return (hand >> 1) + 10 * ((hand & 1) & (hand < 24))


cdef inline int64_t first_cards(double cards) noexcept nogil:
    """The cards of a hand; none of what a caller may have written into a state is too large for the type."""
    return <int64_t> select((cards >= 0.0) & (cards < FULL), cards, 0.0)


cdef inline bint is_natural(int64_t cards) noexcept nogil:
    """Whether a hand is an ace and a ten, and nothing else."""
    return (cards == 0x1A) | (cards == 0xA1)


cdef inline void blackjack_reset "blackjack_reset"(
    blackjack_state* s, const blackjack_parameters* p, const blackjack_bounds* b, rng_t* rng
) noexcept nogil:
    cdef int64_t top = draw_card(rng), card = draw_card(rng), suit
    s.dealer_cards = <double> (16 * top + card)
    s.dealer_hand = <double> with_card(with_card(0, top), card)
    card = draw_card(rng)
    s.player_cards = <double> (16 * card)
    s.player_hand = <double> with_card(0, card)
    card = draw_card(rng)
    s.player_cards += <double> card
    s.player_hand = <double> with_card(<int64_t> s.player_hand, card)
    # Only pictures show these, but they are drawn from the same stream.
    suit = below(rng, 4)
    s.top = <double> (64 * suit + 16 * <int64_t> (below(rng, 3) if top == 10 else 0) + top)


cdef inline int blackjack_waits "blackjack_waits"(const blackjack_state* s, int64_t action) noexcept nogil:
    """Whether a card is drawn: always for a player who hits, and for the dealer below 17."""
    return (action != 0) | (value(<int64_t> s.dealer_hand) < 17)


cdef inline int blackjack_round "blackjack_round"(
    blackjack_state* s, int64_t action, rng_t* rng
) noexcept nogil:
    """One card for the player or for the dealer; whether the dealer takes another."""
    cdef int64_t card = draw_card(rng), hand
    cdef double cards = select(action != 0, s.player_cards, s.dealer_cards)
    cards = select(cards < FULL / 16.0, 16.0 * cards + <double> card, cards)
    hand = with_card(<int64_t> select(action != 0, s.player_hand, s.dealer_hand), card)
    s.player_cards = select(action != 0, cards, s.player_cards)
    s.dealer_cards = select(action != 0, s.dealer_cards, cards)
    s.player_hand = select(action != 0, <double> hand, s.player_hand)
    s.dealer_hand = select(action != 0, s.dealer_hand, <double> hand)
    # No dealer draws more than nine cards: a state that a caller has written may not keep the game for ever.
    return (action == 0) & (value(hand) < 17) & (cards >= 0.0) & (cards < FULL / 16.0)


cdef inline void blackjack_step "blackjack_step"(
    blackjack_state* s, const blackjack_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef int64_t hand = <int64_t> s.player_hand
    cdef int64_t mine = value(hand), theirs = value(<int64_t> s.dealer_hand)
    cdef int64_t won
    cdef bint bust = hand >= 44, natural
    cdef double reward
    mine = 0 if mine > 21 else mine
    theirs = 0 if theirs > 21 else theirs
    won = (mine > theirs) - (mine < theirs)
    natural = is_natural(first_cards(s.player_cards))
    reward = <double> won
    reward = select(
        natural & (p.sab != 0.0), select(is_natural(first_cards(s.dealer_cards)), reward, 1.0), reward)
    reward = select(natural & (p.sab == 0.0) & (p.natural != 0.0) & (won > 0), 1.5, reward)
    out.reward = select(action != 0, select(bust, -1.0, 0.0), reward)
    out.terminated = (action == 0) | bust


cdef inline void blackjack_observe "blackjack_observe"(const blackjack_state* s, int64_t* observation) noexcept nogil:
    cdef int64_t hand = <int64_t> s.player_hand
    observation[0] = value(hand)
    observation[1] = <int64_t> s.top & 15
    observation[2] = (hand & 1) & (hand < 24)


kernel = PyCapsule_New(<void*> &blackjack_kernel, KERNEL_CAPSULE, NULL)
