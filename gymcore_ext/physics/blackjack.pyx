"""Blackjack: beat the dealer by getting closer to 21 without going beyond.

Rules: R. S. Sutton and A. G. Barto, "Reinforcement Learning" (2018), example 5.1; the deck is endless. Reference
environment: Blackjack-v1. Cards are 1 (ace) to 10 (ten and pictures). State: of each hand its first twelve cards, four
bits each, which only pictures show; and all that the game goes by, as one number (see TABLE).
Observation: the player's sum, the dealer's open card, whether the player has an ace that counts 11.
Actions: 0 stick, 1 hit.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from gymcore_ext.physics.lane cimport (
    KERNEL_CAPSULE, below, kernel_t, next64, outcome_t, rng_t, select, to_whole,
)


cdef extern from *:
    """
    #define LANE_NAME blackjack
    #define LANE_STATE(F) F(player_cards) F(dealer_cards) F(table)
    #define LANE_PARAMETERS(F) F(natural, 0.0) F(sab, 0.0)
    #define LANE_BOUNDS(F)
    #define LANE_OBSERVATION_INTEGERS 3
    #define LANE_DISCRETE_ACTIONS 2
    #define LANE_ROUNDS 13
    #include "lanes.h"
    typedef double *const *blackjack_columns;
    static GYMCORE_APART void blackjack_deal_slowly(blackjack_state *, gymcore_rng *);
    """
    ctypedef double** columns_t "blackjack_columns"
    ctypedef struct blackjack_state:
        double player_cards, dealer_cards, table
    ctypedef struct blackjack_parameters:
        double natural, sab
    ctypedef struct blackjack_bounds:
        double end
    const kernel_t blackjack_kernel

# Twelve cards of four bits: all numbers below are exact in a float64.
cdef extern from *:
    """
    #define BLACKJACK_FULL 281474976710656.0 /* 16 ** 12 */
    /* Looked up, since compilers turn comparing a draw into a branch that no processor can predict. */
    static const int64_t blackjack_cards[13] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10 };
    typedef struct { double cards; int64_t hand; } blackjack_two;
    static blackjack_two blackjack_twos[256];
    typedef struct { int64_t ace, kept, added; double card; } blackjack_one;
    static blackjack_one blackjack_ones[32];
    static uint8_t blackjack_waiting[1024];
    """
    const double FULL "BLACKJACK_FULL"
    const int64_t* CARDS "blackjack_cards"
    ctypedef struct two_t "blackjack_two":
        double cards         # 16 * first + second
        int64_t hand         # as in TABLE
    ctypedef struct one_t "blackjack_one":
        int64_t ace          # bit to set
        int64_t kept         # bits to keep, as in TABLE
        int64_t added
        double card
    two_t* TWOS "blackjack_twos"     # [16 * first draw + second draw]: hands of two cards
    one_t* ONES "blackjack_ones"     # [draw], and [16 + draw] for the dealer: what one more card changes
    uint8_t* WAITS "blackjack_waiting"   # [hand]: whether a dealer with it takes a card


# TABLE: where in its 52 bits things are; a game in eight bytes a lane instead of eighty. Suit (two bits), picture (two)
# and value (four) of the dealer's open card, the dealer's hand, the player's hand. A hand is whether it has an ace,
# whether it is a natural (an ace and a ten, nothing else), and its sum with aces as 1: eight bits for the dealer, who
# never goes beyond 26, and all the rest for a player who may go on drawing after the end.
cdef enum:
    TEN = 9                  # draws from here on are cards that count ten
    FACE = 2
    TOP = 4
    DEALER = 8
    PLAYER = 18


cdef inline int64_t as_card(uint64_t draw) noexcept nogil:
    """One of thirteen cards, of which four count ten."""
    return CARDS[draw]


cdef inline int64_t usable(int64_t hand) noexcept nogil:
    """Whether the hand has an ace that counts 11: one that is not too much."""
    return hand & ((hand >> 2) <= 11)


cdef inline int64_t value(int64_t hand) noexcept nogil:
    """What a hand is worth."""
    return (hand >> 2) + (10 & -usable(hand))


cdef inline int64_t dealers(int64_t table) noexcept nogil:
    """The dealer's hand."""
    return (table >> DEALER) & 1023


cdef inline bint is_natural(int64_t hand) noexcept nogil:
    """Whether a hand is an ace and a ten, and nothing else."""
    return hand >> 1 & 1


cdef void fill_tables():
    """Cards and hands by their draws."""
    cdef int64_t first, second, one, other, ace, place
    for first in range(13):
        for second in range(13):
            one = as_card(first)
            other = as_card(second)
            ace = one == 1 or other == 1
            TWOS[16 * first + second].cards = <double> (16 * one + other)
            TWOS[16 * first + second].hand = ace | (ace & (one + other == 11)) << 1 | (one + other) << 2
    for first in range(32):
        place = DEALER if first >= 16 else PLAYER
        one = as_card(min(first % 16, 12))
        ONES[first].card = <double> one
        ONES[first].ace = <int64_t> (one == 1) << place
        ONES[first].added = one << (place + 2)
        ONES[first].kept = ~(<int64_t> 2 << place)
    for first in range(1024):
        WAITS[first] = value(first) < 17


fill_tables()


cdef inline void deal(
    blackjack_state* s, uint64_t top, uint64_t hidden, uint64_t one, uint64_t other, uint64_t suit, uint64_t face
) noexcept nogil:
    """Two draws for the dealer, then two for the player."""
    cdef const two_t* theirs = &TWOS[16 * top + hidden]
    cdef const two_t* mine = &TWOS[16 * one + other]
    s.dealer_cards = theirs.cards
    s.player_cards = mine.cards
    s.table = <double> (
        <int64_t> (suit | face << FACE) | as_card(top) << TOP | theirs.hand << DEALER | mine.hand << PLAYER)


cdef void deal_slowly "blackjack_deal_slowly"(blackjack_state* s, rng_t* rng) noexcept nogil:
    """The same with draws one by one, of which some are drawn again."""
    cdef uint64_t top = below(rng, 13)
    cdef uint64_t hidden = below(rng, 13)
    cdef uint64_t one = below(rng, 13)
    cdef uint64_t other = below(rng, 13)
    cdef uint64_t suit = below(rng, 4)
    deal(s, top, hidden, one, other, suit, below(rng, 3) if top >= TEN else 0)


cdef inline uint64_t times(uint64_t word, uint64_t choices) noexcept nogil:
    return <uint64_t> <uint32_t> word * choices


cdef inline bint is_refused(uint64_t product, uint64_t least) noexcept nogil:
    """Whether a draw below n is drawn again: once in hundreds of millions (see gymcore_rng_below)."""
    return <uint32_t> product < least


cdef inline void blackjack_reset "blackjack_reset"(
    blackjack_state* s, const blackjack_parameters* p, const blackjack_bounds* b, rng_t* rng
) noexcept nogil:
    cdef rng_t stream = rng[0], after_two
    cdef uint64_t held = stream.has_uint32 != 0, pictured, kept
    # Five draws of 32 bits, or six: the half that may be left over, and then three times two halves. With a half left
    # over everything moves by one, which is a matter of shifting, not of branching.
    cdef uint64_t shift = 32 * held, back = 32 - shift
    cdef uint64_t one, two, three, dealers, players, others
    cdef uint64_t first, second, third, fourth, fifth
    one = next64(&stream)
    two = next64(&stream)
    after_two = stream
    three = next64(&stream)
    dealers = one << shift | (stream.uinteger & (0 - held))
    players = two << shift | one >> 32 >> back
    others = three << shift | two >> 32 >> back
    first = times(dealers, 13)
    second = times(dealers >> 32, 13)
    third = times(players, 13)
    fourth = times(players >> 32, 13)
    fifth = times(others >> 32, 3)
    if (is_refused(first, 9) | is_refused(second, 9) | is_refused(third, 9) | is_refused(fourth, 9)
            | is_refused(fifth, 1)):
        deal_slowly(s, rng)
        return
    # Only pictures show suit and face, but they are drawn from the same stream.
    pictured = first >> 32 >= TEN
    deal(s, first >> 32, second >> 32, third >> 32, fourth >> 32, <uint32_t> others >> 30, fifth >> 32 & (0 - pictured))
    kept = 0 - (pictured | (held ^ 1))  # whether the third pair of halves was begun
    rng.state_high = (stream.state_high & kept) | (after_two.state_high & ~kept)
    rng.state_low = (stream.state_low & kept) | (after_two.state_low & ~kept)
    rng.uinteger = <uint32_t> (((three & kept) | (two & ~kept)) >> 32)
    rng.has_uint32 = held == pictured


cdef inline int blackjack_waits "blackjack_waits"(const blackjack_state* s, int64_t action) noexcept nogil:
    """Whether a card is drawn: always for a player who hits, and for the dealer below 17."""
    return (action != 0) | (value(dealers(<int64_t> to_whole(s.table))) < 17)


cdef inline int blackjack_round "blackjack_round"(
    columns_t state, int64_t lane, int64_t action, int64_t draw
) noexcept nogil:
    """One card for the player or for the dealer; whether the dealer takes another."""
    cdef int64_t sticks = action == 0
    cdef double* hands = state[sticks]
    cdef const one_t* card = &ONES[16 * sticks + draw]
    cdef int64_t table = ((<int64_t> to_whole(state[2][lane]) | card.ace) & card.kept) + card.added
    state[2][lane] = <double> table
    if (hands[lane] >= 0.0) & (hands[lane] < FULL / 16.0):
        hands[lane] = 16.0 * hands[lane] + card.card
    # The sum grows with every card: a state that a caller has written does not keep the game for ever.
    return <int> sticks & WAITS[dealers(table)]


cdef inline void blackjack_step "blackjack_step"(
    blackjack_state* s, const blackjack_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef int64_t table = <int64_t> to_whole(s.table)
    cdef int64_t player = table >> PLAYER, dealer = dealers(table)
    cdef int64_t mine = value(player), theirs = value(dealer)
    cdef bint bust = (player >> 2) > 21, natural = is_natural(player)
    cdef double reward
    mine &= -<int64_t> (mine <= 21)
    theirs &= -<int64_t> (theirs <= 21)
    reward = select(mine > theirs, 1.0, 0.0) - select(mine < theirs, 1.0, 0.0)
    reward = select(
        natural & (p.sab != 0.0), select(is_natural(dealer), reward, 1.0),
        select(natural & (p.natural != 0.0) & (reward == 1.0), 1.5, reward))
    out.reward = select(action != 0, select(bust, -1.0, 0.0), reward)
    out.terminated = (action == 0) | bust


cdef inline void blackjack_observe "blackjack_observe"(const blackjack_state* s, int64_t* observation) noexcept nogil:
    cdef int64_t table = <int64_t> to_whole(s.table)
    observation[0] = value(table >> PLAYER)
    observation[1] = table >> TOP & 15
    observation[2] = usable(table >> PLAYER)


kernel = PyCapsule_New(<void*> &blackjack_kernel, KERNEL_CAPSULE, NULL)
