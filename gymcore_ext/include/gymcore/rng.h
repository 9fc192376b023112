/* NumPy's PCG64 and SeedSequence, for one random stream a lane.
 *
 * A lane that was seeded with entropy s draws exactly what
 * numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(s))) draws.
 * PCG64 (XSL-RR 128/64) and the seed sequence: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient
 * Statistically Good Algorithms for Random Number Generation" (2014), and "Developing a seed_seq Alternative" (2015).
 */
#ifndef GYMCORE_RNG_H
#define GYMCORE_RNG_H

#include "platform.h"

/* One stream: 40 bytes. `has_uint32` and `uinteger` hold the unused half of a 64-bit draw, as NumPy does. */
typedef struct {
    uint64_t state_high, state_low;
    uint64_t increment_high, increment_low;
    uint32_t has_uint32, uinteger;
} gymcore_rng;

#define GYMCORE_PCG_MULTIPLIER_HIGH 0x2360ED051FC65DA4ULL
#define GYMCORE_PCG_MULTIPLIER_LOW 0x4385DF649FCCF645ULL

#if defined(__SIZEOF_INT128__)
GYMCORE_INLINE void gymcore_rng_advance(gymcore_rng *rng)
{
    unsigned __int128 multiplier = ((unsigned __int128)GYMCORE_PCG_MULTIPLIER_HIGH << 64) | GYMCORE_PCG_MULTIPLIER_LOW;
    unsigned __int128 state = ((unsigned __int128)rng->state_high << 64) | rng->state_low;
    unsigned __int128 increment = ((unsigned __int128)rng->increment_high << 64) | rng->increment_low;
    state = state * multiplier + increment;
    rng->state_high = (uint64_t)(state >> 64);
    rng->state_low = (uint64_t)state;
}
#else
/* High half of a 64 x 64 bit product, by 32-bit halves. */
GYMCORE_INLINE uint64_t gymcore_multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + ((a_low * b_low) >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

GYMCORE_INLINE void gymcore_rng_advance(gymcore_rng *rng)
{
    uint64_t low = rng->state_low * GYMCORE_PCG_MULTIPLIER_LOW;
    uint64_t high = gymcore_multiply_high(rng->state_low, GYMCORE_PCG_MULTIPLIER_LOW) +
                    rng->state_high * GYMCORE_PCG_MULTIPLIER_LOW + rng->state_low * GYMCORE_PCG_MULTIPLIER_HIGH;
    rng->state_low = low + rng->increment_low;
    rng->state_high = high + rng->increment_high + (rng->state_low < low);
}
#endif

GYMCORE_INLINE uint64_t gymcore_rng_next64(gymcore_rng *rng)
{
    gymcore_rng_advance(rng);
    uint64_t mixed = rng->state_high ^ rng->state_low;
    unsigned rotation = (unsigned)(rng->state_high >> 58);
    return (mixed >> rotation) | (mixed << ((64 - rotation) & 63));
}

GYMCORE_INLINE uint32_t gymcore_rng_next32(gymcore_rng *rng)
{
    if (rng->has_uint32) {
        rng->has_uint32 = 0;
        return rng->uinteger;
    }
    uint64_t draw = gymcore_rng_next64(rng);
    rng->has_uint32 = 1;
    rng->uinteger = (uint32_t)(draw >> 32);
    return (uint32_t)draw;
}

/* A word as the two draws of 32 bits that it is, the first one first. */
GYMCORE_INLINE void gymcore_split(uint64_t word, uint32_t *halves)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = word >> 32 | word << 32;
#endif
    memcpy(halves, &word, sizeof word); /* one store: the compiler would make a vector of four halves */
}

/* The same without a branch: whether a half is left over is as good as random where lanes differ. */
GYMCORE_INLINE uint32_t gymcore_rng_next32_level(gymcore_rng *rng)
{
    gymcore_rng next = *rng;
    uint64_t draw = gymcore_rng_next64(&next);
    uint64_t kept = 0 - (uint64_t)rng->has_uint32;
    uint32_t low = (uint32_t)draw, high = (uint32_t)(draw >> 32), held = (uint32_t)kept;
    uint32_t value = (rng->uinteger & held) | (low & ~held);
    rng->state_high = (rng->state_high & kept) | (next.state_high & ~kept);
    rng->state_low = (rng->state_low & kept) | (next.state_low & ~kept);
    rng->uinteger = (rng->uinteger & held) | (high & ~held);
    rng->has_uint32 ^= 1;
    return value;
}

/* Uniform on [0, 1), 53 bits: Generator.random(). */
#define GYMCORE_DRAWS 9007199254740992.0 /* 2^53, how many there are */
GYMCORE_INLINE double gymcore_rng_double(gymcore_rng *rng)
{
    return (double)(gymcore_rng_next64(rng) >> 11) * (1.0 / GYMCORE_DRAWS);
}

/* Uniform on 0 to 2^53 - 1 of each of some streams: gymcore_rng_double times 2^53, without what it takes to convert it. */
#define GYMCORE_DRAW_BLOCK 256 /* lanes that a kernel draws for at a time */
static GYMCORE_OUTLINED void gymcore_rng_draws(gymcore_rng *GYMCORE_RESTRICT rngs, int64_t *GYMCORE_RESTRICT draws,
                                               int64_t count)
{
    GYMCORE_UNROLLED
    for (int64_t i = 0; i < count; i++)
        draws[i] = (int64_t)(gymcore_rng_next64(rngs + i) >> 11);
}

/* The same where nobody looks at the draws. */
static GYMCORE_OUTLINED void gymcore_rng_advance_all(gymcore_rng *rngs, int64_t count)
{
    GYMCORE_UNROLLED
    for (int64_t i = 0; i < count; i++)
        gymcore_rng_advance(rngs + i);
}

/* Uniform on [low, high): Generator.uniform(low, high). */
GYMCORE_INLINE double gymcore_rng_uniform(gymcore_rng *rng, double low, double high)
{
    return low + (high - low) * gymcore_rng_double(rng);
}

/* Draw again until a draw is not refused; `product` is that of the first one. */
static GYMCORE_APART uint32_t gymcore_rng_refuse(gymcore_rng *rng, uint32_t choices, uint64_t product)
{
    uint32_t threshold = (0u - choices) % choices;
    while ((uint32_t)product < threshold)
        product = (uint64_t)gymcore_rng_next32(rng) * choices;
    return (uint32_t)(product >> 32);
}

/* Which of the choices, more than one, the next 32 bits of a stream mean, or what it gives after them. */
GYMCORE_INLINE uint32_t gymcore_rng_choose(gymcore_rng *rng, uint32_t choices, uint32_t half)
{
    uint64_t product = (uint64_t)half * choices;
    if ((uint32_t)product < choices)
        return gymcore_rng_refuse(rng, choices, product);
    return (uint32_t)(product >> 32);
}

/* Uniform on 0 to choices - 1, 32 bits of choices: Generator.integers(choices), and the index that Generator.choice of
 * a sequence draws. D. Lemire, "Fast Random Integer Generation in an Interval" (2019); one choice draws nothing. */
GYMCORE_INLINE uint32_t gymcore_rng_below(gymcore_rng *rng, uint32_t choices)
{
    if (choices <= 1)
        return 0;
    return gymcore_rng_choose(rng, choices, gymcore_rng_next32_level(rng));
}

/* The next 32 bits of each of some streams, at most GYMCORE_ROUND_BLOCK: those with a half left over give it, and only the
 * others are advanced. */
#define GYMCORE_ROUND_BLOCK 512
GYMCORE_INLINE void gymcore_rng_halves(gymcore_rng *GYMCORE_RESTRICT rngs, const int64_t *GYMCORE_RESTRICT lanes,
                                       uint32_t *GYMCORE_RESTRICT halves, int64_t count)
{
    int64_t fresh[GYMCORE_ROUND_BLOCK], fresh_count = 0;
    GYMCORE_UNROLLED
    for (int64_t k = 0; k < count; k++) {
        gymcore_rng *rng = rngs + lanes[k];
        uint32_t none = rng->has_uint32 == 0; /* a caller may have written any number there */
        halves[k] = rng->uinteger;
        rng->has_uint32 = none;
        fresh[fresh_count] = k;
        fresh_count += none;
    }
    GYMCORE_UNROLLED
    for (int64_t f = 0; f < fresh_count; f++) {
        gymcore_rng *rng = rngs + lanes[fresh[f]];
        uint64_t draw = gymcore_rng_next64(rng);
        rng->uinteger = (uint32_t)(draw >> 32);
        halves[fresh[f]] = (uint32_t)draw;
    }
}

/* What a stream gives next: the half that may be left over and those of three words. A draw from them needs no branch on
 * whether there is one left over, nor on how many it takes. */
#define GYMCORE_AHEAD_BLOCK 64 /* streams to look ahead in at a time: 64 bytes each */
typedef struct {
    uint32_t held, halves[7];   /* whether the first half is there */
    uint64_t after[2][2];       /* the state after two words, and after three: high and low, as in the stream */
} gymcore_ahead;

/* Look ahead in some streams, which stay where they are. */
GYMCORE_INLINE void gymcore_rng_look(const gymcore_rng *GYMCORE_RESTRICT rngs, const int64_t *GYMCORE_RESTRICT lanes,
                                     gymcore_ahead *GYMCORE_RESTRICT aheads, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        gymcore_rng rng = rngs[lanes[k]];
        gymcore_ahead *ahead = aheads + k;
        ahead->held = rng.has_uint32 != 0;
        ahead->halves[0] = rng.uinteger;
        gymcore_split(gymcore_rng_next64(&rng), ahead->halves + 1);
        gymcore_split(gymcore_rng_next64(&rng), ahead->halves + 3);
        ahead->after[0][0] = rng.state_high;
        ahead->after[0][1] = rng.state_low;
        gymcore_split(gymcore_rng_next64(&rng), ahead->halves + 5);
        ahead->after[1][0] = rng.state_high;
        ahead->after[1][1] = rng.state_low;
    }
}

/* The halves that are there: six, or seven if one was left over. */
GYMCORE_INLINE const uint32_t *gymcore_next_halves(const gymcore_ahead *ahead)
{
    return ahead->halves + 1 - ahead->held;
}

/* Move the stream on by five or six of these halves. */
GYMCORE_INLINE void gymcore_rng_take(gymcore_rng *rng, const gymcore_ahead *ahead, int64_t count)
{
    int64_t end = count - (int64_t)ahead->held; /* 4: two words and no half, 5: half of the third word, 6: all of it */
    int64_t third = end > 4;
    rng->state_high = ahead->after[third][0];
    rng->state_low = ahead->after[third][1];
    rng->has_uint32 = end & 1;
    rng->uinteger = ahead->halves[4 + 2 * third];
}

GYMCORE_INLINE uint32_t gymcore_hash_word(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ (value >> 16);
}

GYMCORE_INLINE uint32_t gymcore_mix_words(uint32_t x, uint32_t y)
{
    uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
    return mixed ^ (mixed >> 16);
}

/* Seed from an entropy integer given as `count` little-endian 32-bit words (zero is one word 0). */
GYMCORE_INLINE void gymcore_rng_seed(gymcore_rng *rng, const uint32_t *words, int count)
{
    uint32_t pool[4], constant = 0x43b0d7e5u, values[8];
    for (int i = 0; i < 4; i++)
        pool[i] = gymcore_hash_word(i < count ? words[i] : 0, &constant, 0x931e8875u);
    for (int source = 0; source < 4; source++)
        for (int target = 0; target < 4; target++)
            if (source != target)
                pool[target] =
                    gymcore_mix_words(pool[target], gymcore_hash_word(pool[source], &constant, 0x931e8875u));
    for (int source = 4; source < count; source++)
        for (int target = 0; target < 4; target++)
            pool[target] = gymcore_mix_words(pool[target], gymcore_hash_word(words[source], &constant, 0x931e8875u));

    constant = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++)
        values[i] = gymcore_hash_word(pool[i & 3], &constant, 0x58f38dedu);

    uint64_t start_high = values[0] | ((uint64_t)values[1] << 32), start_low = values[2] | ((uint64_t)values[3] << 32);
    uint64_t stream_high = values[4] | ((uint64_t)values[5] << 32), stream_low = values[6] | ((uint64_t)values[7] << 32);
    rng->increment_high = (stream_high << 1) | (stream_low >> 63);
    rng->increment_low = (stream_low << 1) | 1;
    rng->state_high = rng->state_low = 0;
    rng->has_uint32 = rng->uinteger = 0;
    gymcore_rng_advance(rng);
    rng->state_low += start_low;
    rng->state_high += start_high + (rng->state_low < start_low);
    gymcore_rng_advance(rng);
}

/* Seed `count_lanes` streams with entropy, entropy + 1, ...; `words` (of `count` + 1 places, the last one spare for a
 * carry) is used up. */
GYMCORE_INLINE void gymcore_rng_seed_range(gymcore_rng *rngs, int64_t count_lanes, uint32_t *words, int count)
{
    for (int64_t lane = 0; lane < count_lanes; lane++) {
        gymcore_rng_seed(rngs + lane, words, count);
        int place = 0;
        while (++words[place] == 0)
            if (++place == count) {
                words[count++] = 1;
                break;
            }
    }
}

#endif
