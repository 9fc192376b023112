"""Blackjack: beat the dealer by getting closer to 21 without going beyond.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1; the deck is endless. Reference
environment: Blackjack-v1. Cards are 1 (ace) to 10 (ten and pictures). State: of each hand its first twelve cards, four
bits each, their sum with aces as 1, and whether there is an ace; the dealer's open card, its suit and its picture.
Observation: the player's sum, the dealer's open card, whether the player has an ace that counts 11.
Actions: 0 stick, 1 hit.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint32_t, uint64_t

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, below, kernel_t, next64, outcome_t, rng_t, select


cdef extern from *:
    """
    #define LANE_NAME blackjack
    #define LANE_STATE(F) \
        F(player_cards) F(player_sum) F(player_ace) F(dealer_cards) F(dealer_sum) F(dealer_ace) F(top) F(suit) F(face)
    #define LANE_PARAMETERS(F) F(natural, 0.0) F(sab, 0.0)
    #define LANE_BOUNDS(F)
    #define LANE_OBSERVATION_INTEGERS 3
    #define LANE_DISCRETE_ACTIONS 2
    #define LANE_ROUNDS
    #include "lanes.h"
    typedef double *const *blackjack_columns;
    """
    ctypedef double** columns_t "blackjack_columns"
    ctypedef struct blackjack_state:
        double player_cards, player_sum, player_ace, dealer_cards, dealer_sum, dealer_ace, top, suit, face
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


cdef inline double as_card(uint64_t draw) noexcept nogil:
    """One of thirteen cards, of which four count ten."""
    return <double> (10 if draw > 9 else draw + 1)


cdef inline double value(double total, double ace) noexcept nogil:
    """What a hand is worth: an ace counts 11 where that is not too much."""
    return select((ace != 0.0) & (total <= 11.0), total + 10.0, total)


cdef inline bint is_natural(double cards) noexcept nogil:
    """Whether a hand is an ace and a ten, and nothing else."""
    return (cards == 26.0) | (cards == 161.0)


cdef inline void deal(
    blackjack_state* s, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth
) noexcept nogil:
    """Two cards for the dealer, then two for the player."""
    cdef double one = as_card(first), other = as_card(second)
    s.top = one
    s.dealer_cards = 16.0 * one + other
    s.dealer_sum = one + other
    s.dealer_ace = (one == 1.0) | (other == 1.0)
    one = as_card(third)
    other = as_card(fourth)
    s.player_cards = 16.0 * one + other
    s.player_sum = one + other
    s.player_ace = (one == 1.0) | (other == 1.0)


cdef inline uint64_t times(uint64_t word, uint64_t choices) noexcept nogil:
    return <uint64_t> <uint32_t> word * choices


cdef inline bint is_refused(uint64_t product, uint64_t least) noexcept nogil:
    """Whether a draw below n is drawn again: once in hundreds of millions (see gymcore_rng_below)."""
    return <uint32_t> product < least


cdef inline void blackjack_reset "blackjack_reset"(
    blackjack_state* s, const blackjack_parameters* p, const blackjack_bounds* b, rng_t* rng
) noexcept nogil:
    cdef rng_t stream = rng[0], after_two
    cdef bint held = stream.has_uint32 != 0
    cdef bint refused, pictured
    # Five draws of 32 bits, or six: the half that may be left over, and then three times two halves. Which of them are
    # used is a matter of selecting, not of branching.
    cdef uint64_t left = stream.uinteger, one, two, three
    cdef uint64_t draws[5]
    one = next64(&stream)
    two = next64(&stream)
    after_two = stream
    three = next64(&stream)
    draws[0] = times(left if held else one, 13)
    draws[1] = times(one if held else one >> 32, 13)
    draws[2] = times(one >> 32 if held else two, 13)
    draws[3] = times(two if held else two >> 32, 13)
    draws[4] = times(three if held else three >> 32, 3)
    refused = (
        is_refused(draws[0], 9) | is_refused(draws[1], 9) | is_refused(draws[2], 9) | is_refused(draws[3], 9)
        | is_refused(draws[4], 1))
    if refused:
        one = below(rng, 13)
        two = below(rng, 13)
        three = below(rng, 13)
        deal(s, one, two, three, below(rng, 13))
        s.suit = <double> below(rng, 4)
        s.face = <double> (below(rng, 3) if s.top == 10.0 else 0)
        return
    deal(s, draws[0] >> 32, draws[1] >> 32, draws[2] >> 32, draws[3] >> 32)
    # Only pictures show these, but they are drawn from the same stream.
    s.suit = <double> (times(two >> 32 if held else three, 4) >> 32)
    pictured = s.top == 10.0
    s.face = select(pictured, <double> (draws[4] >> 32), 0.0)
    rng.state_high = stream.state_high if pictured | (not held) else after_two.state_high
    rng.state_low = stream.state_low if pictured | (not held) else after_two.state_low
    rng.uinteger = <uint32_t> ((three if pictured | (not held) else two) >> 32)
    rng.has_uint32 = held == pictured


cdef inline int blackjack_waits "blackjack_waits"(const blackjack_state* s, int64_t action) noexcept nogil:
    """Whether a card is drawn: always for a player who hits, and for the dealer below 17."""
    return (action != 0) | (value(s.dealer_sum, s.dealer_ace) < 17.0)


cdef inline int blackjack_round "blackjack_round"(
    columns_t state, int64_t lane, int64_t action, rng_t* rng
) noexcept nogil:
    """One card for the player or for the dealer; whether the dealer takes another."""
    # Cards, sum and ace: the player's are the first three columns, the dealer's the next.
    cdef columns_t hand = state + (0 if action else 3)
    cdef double card = as_card(below(rng, 13))
    cdef double cards = hand[0][lane], total = hand[1][lane] + card
    cdef double ace = select(card == 1.0, 1.0, hand[2][lane])
    cdef bint fits = (cards >= 0.0) & (cards < FULL / 16.0)
    hand[0][lane] = select(fits, 16.0 * cards + card, cards)
    hand[1][lane] = total
    hand[2][lane] = ace
    # No dealer draws more than nine cards: a state that a caller has written may not keep the game for ever.
    return (action == 0) & (value(total, ace) < 17.0) & fits


cdef inline void blackjack_step "blackjack_step"(
    blackjack_state* s, const blackjack_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef double mine = value(s.player_sum, s.player_ace), theirs = value(s.dealer_sum, s.dealer_ace)
    cdef double reward, bust = select(s.player_sum > 21.0, -1.0, 0.0)
    cdef bint natural = is_natural(s.player_cards)
    mine = select(mine > 21.0, 0.0, mine)
    theirs = select(theirs > 21.0, 0.0, theirs)
    reward = select(mine > theirs, 1.0, 0.0) - select(mine < theirs, 1.0, 0.0)
    reward = select(
        natural & (p.sab != 0.0), select(is_natural(s.dealer_cards), reward, 1.0),
        select(natural & (p.natural != 0.0) & (reward == 1.0), 1.5, reward))
    out.reward = select(action != 0, bust, reward)
    out.terminated = (action == 0) | (bust != 0.0)


cdef inline void blackjack_observe "blackjack_observe"(const blackjack_state* s, int64_t* observation) noexcept nogil:
    cdef bint usable = (s.player_ace != 0.0) & (s.player_sum <= 11.0)
    observation[0] = <int64_t> select(usable, s.player_sum + 10.0, s.player_sum)
    observation[1] = <int64_t> s.top
    observation[2] = usable


kernel = PyCapsule_New(<void*> &blackjack_kernel, KERNEL_CAPSULE, NULL)
