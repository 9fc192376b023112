/* The engine's work for every lane at every step besides physics: counting steps, summing rewards, the time limit, and
 * finding the lanes that ended. One implementation for all environments, compiled for every instruction set. */
#ifndef GYMCORE_ISA
#ifndef GYMCORE_LIFECYCLE_H
#define GYMCORE_LIFECYCLE_H

#include "../include/gymcore/kernel.h"

#if defined(__x86_64__) && defined(__clang__)
#include <cpuid.h>
#endif

/* A step limit that no count reaches. */
#define GYMCORE_NO_LIMIT INT32_MAX

typedef struct {
    /* Count a step of lanes [lo, hi), fewer than 2^16, and mark those that ended; ends[i - lo] says how the physics ended
     * the episode. A lane at its limit is truncated, whether it terminated or not. Returns how many ended. */
    int64_t (*count_step)(
        const double *rewards, const gymcore_flag *ends, uint8_t *terminated, uint8_t *truncated, uint8_t *ended,
        int32_t *elapsed, double *returns, int32_t limit, int64_t lo, int64_t hi);
    /* Whether some of `count` discrete actions lie outside [0, choices). */
    int64_t (*outside)(const int64_t *actions, int64_t choices, int64_t count);
} gymcore_lifecycle;

#define LIFECYCLE_LOOP(name, isa) GYMCORE_JOIN(gymcore_##name, isa)
#define GYMCORE_LOOPS "engine/lifecycle.h"
#include "../include/gymcore/instruction_sets.h"

#define LIFECYCLE_LOOPS(isa) { LIFECYCLE_LOOP(count_step, isa), LIFECYCLE_LOOP(outside, isa) },
static const gymcore_lifecycle gymcore_lifecycles[] = { GYMCORE_EACH_ISA(LIFECYCLE_LOOPS) };

/* Move a pointer by any number of bytes: the result stands for lane 0 of an array that begins with a later lane. It may
 * lie outside of the array, where it is never dereferenced. Pointer arithmetic past an array is undefined behavior, so
 * the sum is computed on integers. */
GYMCORE_INLINE void *gymcore_shifted(const void *pointer, int64_t bytes)
{
    return (void *)((uintptr_t)pointer + (uintptr_t)bytes);
}

/* --- listing lanes whose flag is set --- */

/* Return how many bits are set. */
GYMCORE_INLINE int gymcore_set_bits(uint64_t x)
{
    x -= (x >> 1) & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    return (int)((((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL) >> 56);
}

/* Return the index of the lowest bit that is set; x is not 0. */
GYMCORE_INLINE int gymcore_lowest_bit(uint64_t x)
{
#if defined(_MSC_VER)
    return gymcore_set_bits((x & (0 - x)) - 1);
#else
    return __builtin_ctzll(x);
#endif
}

/* Return a word whose bit k is set if flags[k] is not 0, for 64 flags. */
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

/* Number of elements that gymcore_flagged may write after the last lane of its list. */
#define GYMCORE_LIST_MARGIN 4

/* Write the indices i of [lo, hi) with flags[i] != 0 to `lanes`, in order, and return their number. `lanes` must hold
 * GYMCORE_LIST_MARGIN more: indices are written four at a time, because a branch for each would be mispredicted. */
GYMCORE_INLINE int64_t gymcore_flagged(const uint8_t *flags, int64_t lo, int64_t hi, int64_t *lanes)
{
    int64_t count = 0, i = lo;
    for (; i + 64 <= hi; i += 64) {
        uint64_t set = gymcore_sixty_four_bits(flags + i);
        int flagged = gymcore_set_bits(set);
        for (int k = 0; k < flagged; k += 4)
            for (int j = 0; j < 4; j++, set &= set - 1)
                lanes[count + k + j] = i + gymcore_lowest_bit(set | (uint64_t)1 << 63);
        count += flagged;
    }
    for (; i < hi; i++)
        if (flags[i])
            lanes[count++] = i;
    return count;
}

/* Return the best instruction set that this processor has and this build contains, as an index of gymcore_kernel.step.
 * All features of a level are tested, because a hypervisor may mask any of them. */
static int gymcore_best_isa(void)
{
#if GYMCORE_ISA_COUNT == 1
    return 0;
#else
    __builtin_cpu_init();
#if defined(__clang__) && __clang_major__ < 19
    /* Clang 16 knows neither the levels nor all of their features. */
    unsigned eax, ebx, basic = 0, extended = 0, edx;
    __get_cpuid(1, &eax, &ebx, &basic, &edx);
    __get_cpuid(0x80000001, &eax, &ebx, &extended, &edx);
    int v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && (basic & bit_CMPXCHG16B) &&
             (extended & bit_LAHF_LM);
    int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
             __builtin_cpu_supports("bmi2") && (basic & bit_F16C) && (basic & bit_MOVBE) && (extended & bit_LZCNT);
    int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
#else
    int v2 = __builtin_cpu_supports("x86-64-v2") != 0;
    int v3 = __builtin_cpu_supports("x86-64-v3") != 0;
    int v4 = __builtin_cpu_supports("x86-64-v4") != 0;
#endif
    return v4 ? 3 : v3 ? 2 : v2 ? 1 : 0;
#endif
}

#endif /* GYMCORE_LIFECYCLE_H */

#else /* the loops of one instruction set */

static GYMCORE_TARGET int64_t LIFECYCLE_LOOP(count_step, GYMCORE_ISA)(
    const double *GYMCORE_RESTRICT rewards, const gymcore_flag *GYMCORE_RESTRICT ends, uint8_t *GYMCORE_RESTRICT terminated,
    uint8_t *GYMCORE_RESTRICT truncated, uint8_t *GYMCORE_RESTRICT ended, int32_t *GYMCORE_RESTRICT elapsed,
    double *GYMCORE_RESTRICT returns, int32_t limit, int64_t lo, int64_t hi)
{
    uint16_t count = 0; /* wide enough for a block; int64 would take a third of the time of this loop */
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: count steps */
        int32_t steps = elapsed[i] + (elapsed[i] < GYMCORE_NO_LIMIT - 1); /* no overflow in an endless episode */
        uint8_t flags = (uint8_t)ends[i - lo], terminates = flags & GYMCORE_TERMINATED;
        uint8_t truncates = (steps >= limit) | flags >> 1, ends_here = terminates | truncates;
        elapsed[i] = steps;
        returns[i] += rewards[i];
        terminated[i] = terminates;
        truncated[i] = truncates;
        ended[i] = ends_here;
        count += ends_here;
    }
    return count;
}

static GYMCORE_TARGET int64_t LIFECYCLE_LOOP(outside, GYMCORE_ISA)(const int64_t *actions, int64_t choices, int64_t count)
{
    /* The highest bit is set if an action, or the number of choices after it, is negative. */
    uint64_t bits = 0;
    GYMCORE_UNROLLED
    for (int64_t i = 0; i < count; i++) /* loop: check actions */
        bits |= (uint64_t)actions[i] | ((uint64_t)choices - 1 - (uint64_t)actions[i]);
    return (int64_t)(bits >> 63);
}

#endif
