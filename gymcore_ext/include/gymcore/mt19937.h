/* MT19937, and NumPy's RandomState, which draws from it in the legacy way, for one random stream per lane.
 *
 * A stream that was seeded with an integer s below 2^32 draws exactly what numpy.random.RandomState(s) draws; one with
 * more words, what RandomState(words) draws.
 * M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998) and its initialization of 2002; G. Marsaglia, T. A. Bray, "A
 * Convenient Method for Generating Normal Variables" (1964).
 */
#ifndef GYMCORE_MT19937_H
#define GYMCORE_MT19937_H

#include <math.h>

#include "rng.h"

enum { GYMCORE_MT_WORDS = 624, GYMCORE_MT_SHIFT = 397 };

typedef struct {
    uint32_t words[GYMCORE_MT_WORDS];
    uint32_t used;
} gymcore_mt19937;

/* `gauss` is the second value of the last pair of normal draws, if `has_gauss`. */
typedef struct {
    gymcore_mt19937 mt;
    uint32_t has_gauss;
    double gauss;
} gymcore_random_state;

/* Return whether a stream can draw: from words that are all 0, every draw is 0, and draws that repeat until a number
 * suits would never end. Of the first word, only the highest bit belongs to the state. */
static int gymcore_mt_is_valid(const gymcore_mt19937 *mt)
{
    uint32_t bits = mt->words[0] & 0x80000000u;
    for (int i = 1; i < GYMCORE_MT_WORDS; i++)
        bits |= mt->words[i];
    return bits != 0 && mt->used <= GYMCORE_MT_WORDS;
}

/* Return whether a saved stream is one that draws can lead to. */
static int gymcore_random_state_is_valid(const gymcore_random_state *stream)
{
    return gymcore_mt_is_valid(&stream->mt) && stream->has_gauss <= 1 && isfinite(stream->gauss);
}

static void gymcore_mt_seed_word(gymcore_mt19937 *mt, uint32_t seed)
{
    for (uint32_t i = 0; i < GYMCORE_MT_WORDS; i++) {
        mt->words[i] = seed;
        seed = 1812433253u * (seed ^ (seed >> 30)) + i + 1;
    }
    mt->used = GYMCORE_MT_WORDS;
}

/* Seed a stream from an integer, given as `count` 32-bit words, the lowest first. */
static void gymcore_mt_seed(gymcore_mt19937 *mt, const uint32_t *words, int count)
{
    uint32_t *state = mt->words;
    int i = 1, k, word = 0;
    if (count == 1) {
        gymcore_mt_seed_word(mt, words[0]);
        return;
    }
    gymcore_mt_seed_word(mt, 19650218u);
    for (k = count > GYMCORE_MT_WORDS ? count : GYMCORE_MT_WORDS; k; k--) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525u)) + words[word] + (uint32_t)word;
        if (++word == count)
            word = 0;
        if (++i == GYMCORE_MT_WORDS) {
            state[0] = state[GYMCORE_MT_WORDS - 1];
            i = 1;
        }
    }
    for (k = GYMCORE_MT_WORDS - 1; k; k--) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
        if (++i == GYMCORE_MT_WORDS) {
            state[0] = state[GYMCORE_MT_WORDS - 1];
            i = 1;
        }
    }
    state[0] = 0x80000000u;
}

static void gymcore_mt_refill(gymcore_mt19937 *mt)
{
    uint32_t *state = mt->words;
    for (int i = 0; i < GYMCORE_MT_WORDS; i++) {
        uint32_t joined = (state[i] & 0x80000000u) | (state[(i + 1) % GYMCORE_MT_WORDS] & 0x7fffffffu);
        state[i] = state[(i + GYMCORE_MT_SHIFT) % GYMCORE_MT_WORDS] ^ (joined >> 1) ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    mt->used = 0;
}

GYMCORE_INLINE uint32_t gymcore_mt_next32(gymcore_mt19937 *mt)
{
    if (mt->used >= GYMCORE_MT_WORDS)
        gymcore_mt_refill(mt);
    uint32_t word = mt->words[mt->used++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

/* Draw uniformly from [0, 1), with 53 bits, as random_sample() does. */
GYMCORE_INLINE double gymcore_mt_double(gymcore_mt19937 *mt)
{
    uint32_t high = gymcore_mt_next32(mt) >> 5, low = gymcore_mt_next32(mt) >> 6;
    return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

/* Draw from the standard normal distribution by the polar method, as randn() does: every second draw is the other
 * number of a pair. */
static double gymcore_random_state_normal(gymcore_random_state *stream)
{
    double x, y, square, factor;
    if (stream->has_gauss) {
        stream->has_gauss = 0;
        x = stream->gauss;
        stream->gauss = 0.0;
        return x;
    }
    do {
        x = 2.0 * gymcore_mt_double(&stream->mt) - 1.0;
        y = 2.0 * gymcore_mt_double(&stream->mt) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    factor = sqrt(-2.0 * log(square) / square);
    stream->gauss = factor * x;
    stream->has_gauss = 1;
    return factor * y;
}

/* Draw uniformly from 0 to choices - 1, as randint(choices) does: by masking, until the number is small enough. A single
 * choice draws nothing. */
GYMCORE_INLINE uint32_t gymcore_mt_below(gymcore_mt19937 *mt, uint32_t choices)
{
    uint32_t mask, draw;
    if (choices <= 1)
        return 0;
    mask = choices - 1;
    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    do
        draw = gymcore_mt_next32(mt) & mask;
    while (draw >= choices);
    return draw;
}

/* Seed `count_lanes` streams with entropy, entropy + 1, ... `words` has `count` + 1 elements, the last one for a carry,
 * and is overwritten. `stride` is the distance of streams in bytes. */
static void gymcore_random_state_seed_range(gymcore_random_state *first, int64_t stride, int64_t count_lanes,
                                            uint32_t *words, int count)
{
    for (int64_t lane = 0; lane < count_lanes; lane++) {
        gymcore_random_state *stream = (gymcore_random_state *)((char *)first + lane * stride);
        gymcore_mt_seed(&stream->mt, words, count);
        stream->has_gauss = 0;
        stream->gauss = 0.0;
        count = gymcore_next_entropy(words, count);
    }
}

#endif
