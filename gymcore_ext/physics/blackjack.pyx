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
    KERNEL_CAPSULE, below, bits, from_whole, kernel_t, less, outcome_t, rng_t, to_whole,
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
    #define LANE_NANOSECONDS 15
    #include "gymcore/lanes.h"
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
    typedef struct { double cards; uint64_t dealer, player; uint32_t face, draws; } blackjack_pair;
    static blackjack_one blackjack_ones[32];
    static uint8_t blackjack_waiting[1024];
    static blackjack_pair blackjack_pairs[256];
    """
    const double FULL "BLACKJACK_FULL"
    ctypedef struct one_t "blackjack_one":
        int64_t ace          # bit to set
        int64_t kept         # bits to keep, as in TABLE
        int64_t added
        double card
    ctypedef struct pair_t "blackjack_pair":
        double cards         # four bits each
        uint64_t dealer      # what they are in TABLE, the first one open
        uint64_t player
        uint32_t face        # bits of TABLE for the open card's picture
        uint32_t draws       # how many numbers a reset draws if this is the dealer's hand
    one_t* ONES "blackjack_ones"     # [16 * hits + draw], for dealer or player: what one more card changes
    uint8_t* WAITS "blackjack_waiting"   # [hand]: whether a dealer with it takes another card
    pair_t* PAIRS "blackjack_pairs"      # [16 * draw + draw]: hands of two cards


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


cdef inline uint64_t hand_of(uint64_t one, uint64_t other) noexcept nogil:
    """A hand of two cards, as in TABLE."""
    cdef uint64_t ace = less(one, 2) | less(other, 2)
    return ace | (ace & less((one + other) ^ 11, 1)) << 1 | (one + other) << 2


cdef void fill_tables():
    """Cards by their draws, hands by what they are."""
    cdef int64_t first, other, one, place
    cdef pair_t* pair
    for first in range(32):
        place = DEALER if first < 16 else PLAYER
        one = card_of(min(first % 16, 12))
        ONES[first].card = <double> one
        ONES[first].ace = <int64_t> (one == 1) << place
        ONES[first].added = one << (place + 2)
        ONES[first].kept = ~(<int64_t> 2 << place)
    for first in range(1024):
        WAITS[first] = value(first) < 17
    for first in range(13):
        for other in range(13):
            pair = &PAIRS[16 * first + other]
            pair.cards = from_whole(card_of(first) << 4 | card_of(other))
            pair.player = hand_of(card_of(first), card_of(other)) << PLAYER
            pair.dealer = card_of(first) << TOP | pair.player >> PLAYER << DEALER
            pair.face = 3 << FACE if first >= TEN else 0
            pair.draws = 6 if first >= TEN else 5


fill_tables()


cdef inline void deal(
    blackjack_state* s, const pair_t* dealer, const pair_t* player, uint64_t suit, uint64_t face
) noexcept nogil:
    """Two cards for the dealer, two for the player."""
    s.dealer_cards = dealer.cards
    s.player_cards = player.cards
    s.table = from_whole(dealer.dealer | player.player | suit | (face << FACE & dealer.face))


cdef inline int blackjack_deal "blackjack_deal"(blackjack_state* s, const uint32_t* halves) noexcept nogil:
    # As in gymcore_rng_below: a half times the choices is the number drawn and a rest, and a rest of less than 2 ** 32
    # modulo the choices is drawn again, once in hundreds of millions.
    cdef uint64_t top = 13 * <uint64_t> halves[0], hidden = 13 * <uint64_t> halves[1]
    cdef uint64_t one = 13 * <uint64_t> halves[2], other = 13 * <uint64_t> halves[3]
    cdef uint64_t face = 3 * <uint64_t> halves[5]
    cdef const pair_t* dealer = &PAIRS[16 * (top >> 32) + (hidden >> 32)]
    if (<uint32_t> top < 9 or <uint32_t> hidden < 9 or <uint32_t> one < 9 or <uint32_t> other < 9
            or <uint32_t> face < 1):
        return 0
    # Only pictures show suit and face, but they are drawn from the same stream.
    deal(s, dealer, &PAIRS[16 * (one >> 32) + (other >> 32)], halves[4] >> 30, face >> 32)
    return dealer.draws


cdef inline void blackjack_reset "blackjack_reset"(
    blackjack_state* s, const blackjack_parameters* p, const blackjack_bounds* b, rng_t* rng
) noexcept nogil:
    """Draws one by one, any of which may be drawn again."""
    cdef uint64_t top = below(rng, 13)
    cdef uint64_t hidden = below(rng, 13)
    cdef uint64_t one = below(rng, 13)
    cdef uint64_t other = below(rng, 13)
    cdef uint64_t suit = below(rng, 4)
    deal(s, &PAIRS[16 * top + hidden], &PAIRS[16 * one + other], suit, below(rng, 3) if top >= TEN else 0)


cdef inline int blackjack_waits "blackjack_waits"(const blackjack_state* s, int64_t action) noexcept nogil:
    """Whether a card is drawn: always for a player who hits, and for the dealer below 17."""
    return <int> (action | less(value(dealers(to_whole(s.table))), 17))


cdef inline int64_t blackjack_round "blackjack_round"(
    columns_t state, int64_t lane, int64_t action, int64_t draw
) noexcept nogil:
    """One card for the player or for the dealer; whether the dealer takes another."""
    cdef int64_t hits = action & 1  # a bit, whatever the action: it is an index
    cdef double* hand = &state[hits ^ 1][lane]
    cdef const one_t* card = &ONES[16 * hits + draw]
    cdef int64_t table = ((<int64_t> to_whole(state[2][lane]) | card.ace) & card.kept) + card.added
    state[2][lane] = <double> table
    if bits(hand[0]) < bits(FULL / 16.0):  # and not negative, in a state that a caller has written
        hand[0] = 16.0 * hand[0] + card.card
    # The sum grows with every card: such a state does not keep the game for ever either.
    return (hits ^ 1) & WAITS[dealers(table)]


cdef inline uint64_t chosen(uint64_t condition, uint64_t yes, uint64_t no) noexcept nogil:
    """`yes` where the condition is 1, `no` where it is 0."""
    return no ^ ((yes ^ no) & (0 - condition))


cdef inline void blackjack_step "blackjack_step"(
    blackjack_state* s, const blackjack_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef uint64_t table = to_whole(s.table), hits = action
    cdef uint64_t player = table >> PLAYER, dealer = dealers(table)
    cdef uint64_t bust = less(21, player >> 2)
    cdef uint64_t natural = is_natural(player), sab = p.sab != 0.0, natural_pays = p.natural != 0.0, won, halves
    # An ace that counts 11 does not make too much of a hand, and what is too much is worth nothing.
    cdef uint64_t mine = value(player) & (bust - 1)
    cdef uint64_t theirs = value(dealer) & (<uint64_t> less(21, dealer >> 2) - 1)
    mine += natural & sab & (is_natural(dealer) ^ 1)  # beats any 21
    won = less(theirs, mine)
    # Rewards in halves, and two more: none is negative.
    halves = 2 + 2 * (won - less(mine, theirs)) + (natural & natural_pays & (sab ^ 1) & won)
    halves = chosen(hits, 2 - 2 * bust, halves)
    out.reward = 0.5 * from_whole(halves) - 1.0
    out.terminated = <int> ((hits ^ 1) | bust)


cdef inline void blackjack_observe "blackjack_observe"(const blackjack_state* s, int64_t* observation) noexcept nogil:
    cdef uint64_t table = to_whole(s.table)
    observation[0] = value(table >> PLAYER)
    observation[1] = table >> TOP & 15
    observation[2] = usable(table >> PLAYER)


kernel = PyCapsule_New(<void*> &blackjack_kernel, KERNEL_CAPSULE, NULL)
