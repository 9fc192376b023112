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
    KERNEL_CAPSULE, below, dealt_t, from_whole, kernel_t, less, outcome_t, rng_t, to_whole,
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
    #define LANE_DEALS
    #define LANE_USUALLY(F) F(natural, 0.0) F(sab, 1.0)
    #include "lanes.h"
    typedef double *const *blackjack_columns;
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
    typedef struct { int64_t ace, kept, added; double card; } blackjack_one;
    static blackjack_one blackjack_ones[32];
    static uint8_t blackjack_waiting[1024];
    """
    const double FULL "BLACKJACK_FULL"
    ctypedef struct one_t "blackjack_one":
        int64_t ace          # bit to set
        int64_t kept         # bits to keep, as in TABLE
        int64_t added
        double card
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


# Integers below are as wide as float64, and conditions are 0 or 1 of that width: vector code need not change widths.


cdef inline uint64_t card_of(uint64_t draw) noexcept nogil:
    """One of thirteen cards, of which four count ten."""
    return draw + 1 - ((draw - TEN) & (0 - <uint64_t> less(TEN, draw)))


cdef inline uint64_t usable(uint64_t hand) noexcept nogil:
    """Whether the hand has an ace that counts 11: one that is not too much."""
    return hand & less(hand >> 2, 12)


cdef inline uint64_t value(uint64_t hand) noexcept nogil:
    """What a hand is worth."""
    return (hand >> 2) + (10 & (0 - usable(hand)))


cdef inline uint64_t dealers(uint64_t table) noexcept nogil:
    """The dealer's hand."""
    return (table >> DEALER) & 1023


cdef inline uint64_t is_natural(uint64_t hand) noexcept nogil:
    """Whether a hand is an ace and a ten, and nothing else."""
    return hand >> 1 & 1


cdef void fill_tables():
    """Cards by their draws, hands by what they are."""
    cdef int64_t first, one, place
    for first in range(32):
        place = DEALER if first >= 16 else PLAYER
        one = card_of(min(first % 16, 12))
        ONES[first].card = <double> one
        ONES[first].ace = <int64_t> (one == 1) << place
        ONES[first].added = one << (place + 2)
        ONES[first].kept = ~(<int64_t> 2 << place)
    for first in range(1024):
        WAITS[first] = value(first) < 17


fill_tables()


cdef inline uint64_t times_13(uint64_t word) noexcept nogil:
    """32 bits of a word times 13: vectors have no multiplication of 64 bits."""
    cdef uint64_t half = <uint32_t> word
    return half + (half << 2) + (half << 3)


cdef inline uint64_t is_refused(uint64_t product, uint64_t least) noexcept nogil:
    """Whether a draw is drawn again: once in hundreds of millions (see gymcore_rng_below)."""
    return less(<uint32_t> product, least)


cdef inline uint64_t hand_of(uint64_t one, uint64_t other) noexcept nogil:
    """A hand of two cards, as in TABLE."""
    cdef uint64_t ace = less(one, 2) | less(other, 2)
    return ace | (ace & less((one + other) ^ 11, 1)) << 1 | (one + other) << 2


cdef inline void deal(
    blackjack_state* s, uint64_t top, uint64_t hidden, uint64_t one, uint64_t other, uint64_t suit, uint64_t face
) noexcept nogil:
    """Two draws for the dealer, then two for the player."""
    top, hidden, one, other = card_of(top), card_of(hidden), card_of(one), card_of(other)
    s.dealer_cards = from_whole(top << 4 | hidden)
    s.player_cards = from_whole(one << 4 | other)
    s.table = from_whole(
        suit | face << FACE | top << TOP | hand_of(top, hidden) << DEALER | hand_of(one, other) << PLAYER)


cdef inline void blackjack_deal "blackjack_deal"(
    blackjack_state* s, uint64_t one, uint64_t two, uint64_t three, uint64_t held, uint64_t half, dealt_t* dealt
) noexcept nogil:
    # Five draws of 32 bits, or six: the half that may be left over, and then three times two halves. With a half left
    # over everything moves by one, which is a matter of shifting, not of branching.
    cdef uint64_t shift = held << 5, back = 32 - shift, third
    cdef uint64_t dealers = one << shift | (half & (0 - held))
    cdef uint64_t players = two << shift | one >> 32 >> back
    cdef uint64_t others = three << shift | two >> 32 >> back
    cdef uint64_t first = times_13(dealers), second = times_13(dealers >> 32)
    cdef uint64_t third_card = times_13(players), fourth = times_13(players >> 32)
    cdef uint64_t fifth = (others >> 32) + (others >> 32 << 1)
    # Only pictures show suit and face, but they are drawn from the same stream.
    cdef uint64_t pictured = less(TEN - 1, first >> 32)
    dealt.refused = (
        is_refused(first, 9) | is_refused(second, 9) | is_refused(third_card, 9) | is_refused(fourth, 9)
        | is_refused(fifth, 1))
    deal(
        s, first >> 32, second >> 32, third_card >> 32, fourth >> 32, <uint64_t> <uint32_t> others >> 30,
        fifth >> 32 & (0 - pictured))
    third = pictured | (held ^ 1)  # whether the third pair of halves was begun
    dealt.third = third
    dealt.half = (three & (0 - third) | two & (third - 1)) >> 32
    dealt.held = (held ^ pictured) ^ 1


cdef inline void blackjack_reset "blackjack_reset"(
    blackjack_state* s, const blackjack_parameters* p, const blackjack_bounds* b, rng_t* rng
) noexcept nogil:
    """Draws one by one, any of which may be drawn again."""
    cdef uint64_t top = below(rng, 13)
    cdef uint64_t hidden = below(rng, 13)
    cdef uint64_t one = below(rng, 13)
    cdef uint64_t other = below(rng, 13)
    cdef uint64_t suit = below(rng, 4)
    deal(s, top, hidden, one, other, suit, below(rng, 3) if top >= TEN else 0)


cdef inline int blackjack_waits "blackjack_waits"(const blackjack_state* s, int64_t action) noexcept nogil:
    """Whether a card is drawn: always for a player who hits, and for the dealer below 17."""
    return <int> action | WAITS[dealers(to_whole(s.table))]


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


cdef inline uint64_t chosen(uint64_t condition, uint64_t yes, uint64_t no) noexcept nogil:
    """`yes` where the condition is 1, `no` where it is 0."""
    return no ^ ((yes ^ no) & (0 - condition))


cdef inline void blackjack_step "blackjack_step"(
    blackjack_state* s, const blackjack_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef uint64_t table = to_whole(s.table), hits = action
    cdef uint64_t player = table >> PLAYER, dealer = dealers(table)
    cdef uint64_t mine = value(player), theirs = value(dealer), bust = less(21, player >> 2)
    cdef uint64_t natural = is_natural(player), sab = p.sab != 0.0, natural_pays = p.natural != 0.0, won, halves
    mine &= <uint64_t> less(21, mine) - 1
    theirs &= <uint64_t> less(21, theirs) - 1
    won = less(theirs, mine)
    # Rewards in halves, and two more: none is negative.
    halves = 2 + 2 * won - 2 * less(mine, theirs)
    halves = chosen(
        natural & sab, chosen(is_natural(dealer), halves, 4), chosen(natural & natural_pays & won, 5, halves))
    halves = chosen(hits, 2 - 2 * bust, halves)
    out.reward = 0.5 * from_whole(halves) - 1.0
    out.terminated = <int> ((hits ^ 1) | bust)


cdef inline void blackjack_observe "blackjack_observe"(const blackjack_state* s, int64_t* observation) noexcept nogil:
    cdef uint64_t table = to_whole(s.table)
    observation[0] = value(table >> PLAYER)
    observation[1] = table >> TOP & 15
    observation[2] = usable(table >> PLAYER)


kernel = PyCapsule_New(<void*> &blackjack_kernel, KERNEL_CAPSULE, NULL)
