/* Listing the lanes whose flag is set. */
#ifndef GYMCORE_FLAGS_H
#define GYMCORE_FLAGS_H

#include "platform.h"

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

/* Bit k is whether flags[k] is not 0. */
GYMCORE_INLINE uint64_t gymcore_eight_bits(const uint8_t *flags)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++)
        bits |= (uint64_t)(flags[k] != 0) << k;
    return bits;
#else
    const uint64_t low = 0x7f7f7f7f7f7f7f7fULL;
    uint64_t eight;
    memcpy(&eight, flags, 8);
    eight = ((((eight & low) + low) | eight) & ~low) >> 7; /* 1 for every byte that is not 0 */
    return (eight * 0x0102040810204080ULL) >> 56;
#endif
}

/* Write the indices i of [lo, hi) with flags[i] != 0 to `lanes`, in order; return how many. */
GYMCORE_INLINE int64_t gymcore_flagged(const uint8_t *flags, int64_t lo, int64_t hi, int64_t *lanes)
{
    int64_t count = 0, i = lo;
    /* A bit for each of 64 flags, and then those that are set: what branches depends on 64 of them at once. */
    for (; i + 64 <= hi; i += 64) {
        uint64_t set = 0;
        for (int k = 0; k < 8; k++)
            set |= gymcore_eight_bits(flags + i + 8 * k) << (8 * k);
        for (; set; set &= set - 1)
            lanes[count++] = i + gymcore_lowest_bit(set);
    }
    for (; i < hi; i++)
        if (flags[i])
            lanes[count++] = i;
    return count;
}

#endif
