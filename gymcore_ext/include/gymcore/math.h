/* Deterministic elementary functions for physics loops.
 *
 * They have no branches, libm calls or fused multiply-adds, so they return the same bits on every machine, in every
 * instruction set, in a vector or alone. Errors, tested against mpmath (tests/ext/test_array_math.py):
 *   sine, cosine: at most 0.85 ulp for |x| <= 2^18; at most 1.1 ulp up to 2^20 (about one million radians), more than
 *   0.85 only where x is the double nearest a multiple of pi/2; beyond it at most |x| * 2^-52. From 2^51 on, and for nan
 *   and inf, the result is unspecified, but the functions always return and never trap.
 * Coefficients: tools/fit_trigonometry.py.
 */
#ifndef GYMCORE_LANE_MATH_H
#define GYMCORE_LANE_MATH_H

#include "platform.h"

#define GYMCORE_PI 0x1.921fb54442d18p+1
#define GYMCORE_TWO_PI 0x1.921fb54442d18p+2
#define GYMCORE_TURNS_PER_RADIAN 0x1.45f306dc9c883p-3

#define GYMCORE_SINE_0 -0x1.5555555555549p-3
#define GYMCORE_SINE_1 0x1.111111110f928p-7
#define GYMCORE_SINE_2 -0x1.a01a019c340cep-13
#define GYMCORE_SINE_3 0x1.71de359aecad6p-19
#define GYMCORE_SINE_4 -0x1.ae5e832295e33p-26
#define GYMCORE_SINE_5 0x1.5d9b4fce7d9b1p-33

#define GYMCORE_COSINE_0 0x1.555555555554cp-5
#define GYMCORE_COSINE_1 -0x1.6c16c16c15046p-10
#define GYMCORE_COSINE_2 0x1.a01a019c43e0ep-16
#define GYMCORE_COSINE_3 -0x1.27e4f780ec494p-22
#define GYMCORE_COSINE_4 0x1.1ee971b7d5564p-29
#define GYMCORE_COSINE_5 -0x1.8f67fc082dccep-37

/* pi/2 in three parts; the first two have 33 bits, so their products with |n| < 2^20 are exact. */
#define GYMCORE_HALF_PI_1 0x1.921fb54400000p+0
#define GYMCORE_HALF_PI_2 0x1.0b4611a600000p-34
#define GYMCORE_HALF_PI_3 0x1.3198a2e037073p-69
#define GYMCORE_TWO_OVER_PI 0x1.45f306dc9c883p-1

/* Adding 1.5 * 2^52 rounds to the nearest integer and leaves it in the low bits, without any rounding instruction
 * (SSE2 has none). */
#define GYMCORE_ROUND_SHIFT 6755399441055744.0

GYMCORE_INLINE uint64_t gymcore_bits(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
GYMCORE_INLINE double gymcore_from_bits(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }

/* Return a if the condition is 1, b if it is 0. The code uses masks, because a compiler may turn `?:` into branches if
 * there are other comparisons of the same numbers nearby, and a loop with branches does not become vector code. There are
 * two ways to make the mask, because GCC 14 turns the second into a product of 64-bit integers, which NEON does not have,
 * and GCC 12 does not vectorize Acrobot with the first. */
GYMCORE_INLINE double gymcore_select(int condition, double a, double b)
{
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ > 12
    uint64_t bits = gymcore_bits(a);
    return gymcore_from_bits(bits ^ ((bits ^ gymcore_bits(b)) & ((uint64_t)condition - 1)));
#else
    uint64_t mask = (uint64_t)0 - (uint64_t)condition;
    return gymcore_from_bits((gymcore_bits(a) & mask) | (gymcore_bits(b) & ~mask));
#endif
}

/* Return -x if the condition is 1, x if it is 0. */
GYMCORE_INLINE double gymcore_negated(int64_t condition, double x)
{
    return gymcore_from_bits(gymcore_bits(x) ^ ((uint64_t)condition << 63));
}

/* Convert a whole number 0 <= x < 2^52 to an integer, without a conversion instruction (AVX2 has none for vectors). For
 * any other x the result is some integer of this range. */
#define GYMCORE_WHOLE 4503599627370496.0
#define GYMCORE_WHOLE_BITS (((uint64_t)1 << 52) - 1)
GYMCORE_INLINE uint64_t gymcore_to_whole(double x) { return gymcore_bits(x + GYMCORE_WHOLE) & GYMCORE_WHOLE_BITS; }

/* Return the nearest integer, ties to even, for |x| < 2^51. */
GYMCORE_INLINE double gymcore_round(double x) { return (x + GYMCORE_ROUND_SHIFT) - GYMCORE_ROUND_SHIFT; }

/* Return the largest integer not above x, for |x| < 2^51. */
GYMCORE_INLINE double gymcore_floor(double x)
{
    double nearest = gymcore_round(x);
    return nearest - gymcore_select(nearest > x, 1.0, 0.0);
}

/* Compute sin(x) and cos(x) together: they share the reduction, which is half of the work. */
GYMCORE_INLINE void gymcore_sincos(double x, double *sine, double *cosine)
{
    /* x = n * pi/2 + (y + tail), |y| <= pi/4; the tail is the rounding error of y (Cody and Waite 1980). */
    double shifted = x * GYMCORE_TWO_OVER_PI + GYMCORE_ROUND_SHIFT;
    double n = shifted - GYMCORE_ROUND_SHIFT;
    double first = x - n * GYMCORE_HALF_PI_1;
    double second_product = n * GYMCORE_HALF_PI_2;
    double second = first - second_product;
    double rest = n * GYMCORE_HALF_PI_3 - ((first - second) - second_product);
    double y = second - rest;
    double tail = (second - y) - rest;

    double z = y * y;
    double cube = z * y;
    double s = GYMCORE_SINE_1 +
               z * (GYMCORE_SINE_2 + z * (GYMCORE_SINE_3 + z * (GYMCORE_SINE_4 + z * GYMCORE_SINE_5)));
    double sine_y = y - ((z * (0.5 * tail - cube * s) - tail) - cube * GYMCORE_SINE_0);
    double c = z * (GYMCORE_COSINE_0 +
                    z * (GYMCORE_COSINE_1 +
                         z * (GYMCORE_COSINE_2 +
                              z * (GYMCORE_COSINE_3 + z * (GYMCORE_COSINE_4 + z * GYMCORE_COSINE_5)))));
    double half = 0.5 * z;
    double head = 1.0 - half;
    double cosine_y = head + (((1.0 - head) - half) + (z * c - y * tail));

    /* Odd quadrants swap sine and cosine; bit 1 of n and of n + 1 are their signs. This uses bit masks, not branches. The
     * mask is not `0 - (quadrant & 1)`, which GCC 14 and newer recognize as a truth value and cannot vectorize. */
    uint64_t quadrant = gymcore_bits(shifted);
    uint64_t keep = (quadrant & 1) - 1;
    uint64_t sine_bits = gymcore_bits(sine_y);
    uint64_t cosine_bits = gymcore_bits(cosine_y);
    uint64_t difference = (sine_bits ^ cosine_bits) & ~keep;
    *sine = gymcore_from_bits((sine_bits ^ difference) ^ ((quadrant & 2) << 62));
    *cosine = gymcore_from_bits((cosine_bits ^ difference) ^ (((quadrant + 1) & 2) << 62));
}

GYMCORE_INLINE double gymcore_sin(double x)
{
    double sine, cosine;
    gymcore_sincos(x, &sine, &cosine);
    return sine;
}

GYMCORE_INLINE double gymcore_cos(double x)
{
    double sine, cosine;
    gymcore_sincos(x, &sine, &cosine);
    return cosine;
}

/* Return x mod 2 pi in [0, 2 pi], equal to Python's `x % (2 * pi)` for |x| <= 2^30. (The result is 2 pi for negative
 * numbers so small that adding 2 pi rounds to it.) The double nearest 2 pi is split so that both products and both
 * differences are exact; as in Python, only adding 2 pi to a negative remainder rounds. */
GYMCORE_INLINE double gymcore_mod_two_pi(double x)
{
    const double head = 0x1.921fb50000000p+2, rest = 0x1.110b460000000p-24;
    double turns = gymcore_round(x * GYMCORE_TURNS_PER_RADIAN); /* near half a turn, an error of 1 is harmless */
    double remainder = (x - turns * head) - turns * rest;
    return gymcore_select(remainder < 0.0, remainder + GYMCORE_TWO_PI, remainder);
}

GYMCORE_INLINE double gymcore_clip(double x, double low, double high)
{
    double raised = gymcore_select(x < low, low, x);
    return gymcore_select(raised > high, high, raised);
}

#endif
