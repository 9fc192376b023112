/* Listing the lanes whose flag is set. */
#ifndef GYMCORE_FLAGS_H
#define GYMCORE_FLAGS_H

#include "../include/gymcore/platform.h"

/* Index of the lowest bit that is set; x is not 0. */
GYMCORE_INLINE int gymcore_lowest_bit(uint64_t x)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(x);
#else
    int index = 0;
    for (; !(x & 1); x >>= 1)
        index++;
    return index;
#endif
}

/* Bit k is whether flags[k] is not 0, of 64 flags. */
GYMCORE_INLINE uint64_t gymcore_sixty_four_bits(const uint8_t *flags)
{
    uint64_t bits = 0;
#if defined(__SSE2__)
    for (int k = 0; k < 64; k += 16) {
        __m128i none = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(flags + k)), _mm_setzero_si128());
        bits |= (uint64_t)(uint16_t)~_mm_movemask_epi8(none) << k;
    }
#elif defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (int k = 0; k < 64; k++)
        bits |= (uint64_t)(flags[k] != 0) << k;
#else
    const uint64_t low = 0x7f7f7f7f7f7f7f7fULL;
    for (int k = 0; k < 64; k += 8) {
        uint64_t eight;
        memcpy(&eight, flags + k, 8);
        eight = ((((eight & low) + low) | eight) & ~low) >> 7; /* 1 for every byte that is not 0 */
        bits |= (eight * 0x0102040810204080ULL) >> 56 << k;
    }
#endif
    return bits;
}

/* How many bits are set. */
GYMCORE_INLINE int gymcore_set_bits(uint64_t x)
{
    x -= (x >> 1) & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    return (int)((((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL) >> 56);
}

/* Lanes that gymcore_flagged may write beyond the last one that it lists. */
#define GYMCORE_LIST_MARGIN 4

/* Write the indices i of [lo, hi) with flags[i] != 0 to `lanes`, in order; return how many. There has to be room for
 * GYMCORE_LIST_MARGIN more: they are written four at a time, since a branch for each would be mispredicted for each. */
GYMCORE_INLINE int64_t gymcore_flagged(const uint8_t *flags, int64_t lo, int64_t hi, int64_t *lanes)
{
    int64_t count = 0, i = lo;
    for (; i + 64 <= hi; i += 64) {
        uint64_t set = gymcore_sixty_four_bits(flags + i);
        int found = gymcore_set_bits(set);
        for (int k = 0; k < found; k += 4)
            for (int j = 0; j < 4; j++, set &= set - 1)
                lanes[count + k + j] = i + gymcore_lowest_bit(set | (uint64_t)1 << 63);
        count += found;
    }
    for (; i < hi; i++)
        if (flags[i])
            lanes[count++] = i;
    return count;
}

#endif
