/* NumPy's PCG64 and SeedSequence, for one random stream per lane.
 *
 * A lane that was seeded with entropy s draws exactly what
 * numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(s))) draws.
 * PCG64 (XSL-RR 128/64) and the seed sequence: M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient
 * Statistically Good Algorithms for Random Number Generation" (2014), and "Developing a seed_seq Alternative" (2015).
 */
#ifndef GYMCORE_RNG_H
#define GYMCORE_RNG_H

#include "platform.h"

/* One stream of 40 bytes. As in NumPy, `has_uint32` and `uinteger` hold the unused half of a 64-bit draw. */
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
/* Return the high half of a 64 x 64 bit product, computed with 32-bit halves. */
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

/* Draw uniformly from [0, 1), with 53 bits, as Generator.random() does. */
GYMCORE_INLINE double gymcore_rng_double(gymcore_rng *rng)
{
    return (double)(int64_t)(gymcore_rng_next64(rng) >> 11) * (1.0 / 9007199254740992.0);
}

/* Draw 53 bits from each of `count` streams, in a loop of its own, which can use all registers. */
static GYMCORE_NOINLINE void gymcore_rng_bits(gymcore_rng *GYMCORE_RESTRICT rngs, int64_t *GYMCORE_RESTRICT bits,
                                              int64_t count)
{
    GYMCORE_UNROLLED
    for (int64_t i = 0; i < count; i++)
        bits[i] = (int64_t)(gymcore_rng_next64(rngs + i) >> 11);
}

/* Draw uniformly from [low, high), as Generator.uniform(low, high) does. */
GYMCORE_INLINE double gymcore_rng_uniform(gymcore_rng *rng, double low, double high)
{
    return low + (high - low) * gymcore_rng_double(rng);
}

/* Repeat draws until one is accepted; `product` is that of the first draw. */
static GYMCORE_COLD uint32_t gymcore_rng_draw_again(gymcore_rng *rng, uint32_t choices, uint64_t product)
{
    uint32_t threshold = (0u - choices) % choices;
    while ((uint32_t)product < threshold)
        product = (uint64_t)gymcore_rng_next32(rng) * choices;
    return (uint32_t)(product >> 32);
}

/* Draw uniformly from 0 to choices - 1, as Generator.integers(choices) does, and Generator.choice for the index of a
 * sequence. D. Lemire, "Fast Random Integer Generation in an Interval" (2019). A single choice draws nothing. */
GYMCORE_INLINE uint32_t gymcore_rng_below(gymcore_rng *rng, uint32_t choices)
{
    if (choices <= 1)
        return 0;
    uint64_t product = (uint64_t)gymcore_rng_next32(rng) * choices;
    if ((uint32_t)product < choices)
        return gymcore_rng_draw_again(rng, choices, product);
    return (uint32_t)(product >> 32);
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

/* Seed a stream from an integer, given as `count` 32-bit words, the lowest first (zero is one word 0). */
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

/* Add 1 to an integer of `count` words, which have room for one more; return how many it has then. */
GYMCORE_INLINE int gymcore_next_entropy(uint32_t *words, int count)
{
    int place = 0;
    while (++words[place] == 0)
        if (++place == count) {
            words[count++] = 1;
            break;
        }
    return count;
}

/* Seed `count_lanes` streams with entropy, entropy + 1, ... `words` has `count` + 1 elements, the last one for a carry,
 * and is overwritten. */
GYMCORE_INLINE void gymcore_rng_seed_range(gymcore_rng *rngs, int64_t count_lanes, uint32_t *words, int count)
{
    for (int64_t lane = 0; lane < count_lanes; lane++) {
        gymcore_rng_seed(rngs + lane, words, count);
        count = gymcore_next_entropy(words, count);
    }
}

#endif
