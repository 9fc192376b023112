/* Macros for the differences between compilers and processors: instruction sets, inlining, thread-local storage.
 *
 * Every batch loop is compiled once for each instruction set below, and a new batch chooses one (`choose_isa` in
 * engine/kernels.pyx). The sets have names rather than being left to `target_clones`, so that a program can choose one
 * (GYMCORE_ISA=baseline|x86-64-v2|x86-64-v3|x86-64-v4), tests can compare their bytes in one process, and no ifunc is
 * needed (musl, clang). The baseline is what the platform guarantees: NEON, or plain SSE2. GCC 12 does not vectorize
 * comparisons for SSE2, so loops are compiled for x86-64-v2 as well. No loop may contain a fused multiply-add or a
 * reassociated sum, so that all of them compute the same bits: contraction is switched off below, and -ffast-math is an
 * error.
 */
#ifndef GYMCORE_PLATFORM_H
#define GYMCORE_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__FAST_MATH__)
#error "gymcore promises the same bits everywhere: build it without -ffast-math"
#endif

/* The functions in the rest of the including file have no fused multiply-adds with a compiler's default flags. GCC
 * ignores the pragma of the C standard, and so does Clang with -ffp-contract=fast. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#if defined(__x86_64__) && ((defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12) || \
                            (defined(__clang__) && __clang_major__ >= 16)) && !defined(GYMCORE_BASELINE_ONLY)
#define GYMCORE_ISA_COUNT 4
#define GYMCORE_EACH_ISA(x) x(_baseline) x(_v2) x(_v3) x(_v4)
#else
#define GYMCORE_ISA_COUNT 1
#define GYMCORE_EACH_ISA(x) x(_baseline)
#endif

/* GYMCORE_INDEPENDENT_LANES: the lanes of the following loop do not depend on each other. Clang is told to use four vectors
 * per variable, which hide each other's latency; with one, Pendulum makes 209 instead of 359 million steps per second
 * (Clang 21, x86-64-v4). GCC uses four because of gymcore_flag (kernel.h).
 * GYMCORE_UNROLLED: for short loops that do not become vector code. _FULLY: for loops of a constant count below 64.
 * GYMCORE_FLATTEN: inline the whole physics of a lane into its loops, however long it is, because a call in the loop body
 * would keep it scalar. Clang inlines only the calls of the function itself, so the functions that these call are always
 * inlined on Clang; on GCC, Acrobot would then take 1.6 times as long (GCC 12, x86-64-v4).
 * GYMCORE_COLD: a function that is hardly ever called, kept out of the loop that calls it. */
#if defined(_MSC_VER)
#define GYMCORE_RESTRICT __restrict
#define GYMCORE_THREAD __declspec(thread)
#define GYMCORE_INLINE static __forceinline
#define GYMCORE_NOINLINE __declspec(noinline)
#define GYMCORE_COLD __declspec(noinline)
#define GYMCORE_FLATTEN
#define GYMCORE_ALWAYS_INLINE
#define GYMCORE_INDEPENDENT_LANES __pragma(loop(ivdep))
#define GYMCORE_UNROLLED
#define GYMCORE_UNROLLED_FULLY
#define GYMCORE_PREFETCH(address) (void)(address)
#else
#define GYMCORE_RESTRICT __restrict__
#define GYMCORE_THREAD __thread
#define GYMCORE_INLINE static inline GYMCORE_ALWAYS_INLINE
#define GYMCORE_NOINLINE __attribute__((noinline))
#define GYMCORE_COLD __attribute__((noinline, cold))
#define GYMCORE_FLATTEN __attribute__((flatten))
#define GYMCORE_PREFETCH(address) __builtin_prefetch(address, 1)
#if defined(__clang__)
#define GYMCORE_ALWAYS_INLINE __attribute__((always_inline))
#define GYMCORE_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")
#define GYMCORE_UNROLLED _Pragma("clang loop unroll_count(4)")
#define GYMCORE_UNROLLED_FULLY _Pragma("clang loop unroll(full)")
#else
#define GYMCORE_ALWAYS_INLINE
#define GYMCORE_INDEPENDENT_LANES _Pragma("GCC ivdep")
#define GYMCORE_UNROLLED _Pragma("GCC unroll 4")
#define GYMCORE_UNROLLED_FULLY _Pragma("GCC unroll 64")
#endif
#endif

#define GYMCORE_JOIN_(a, b) a##b
#define GYMCORE_JOIN(a, b) GYMCORE_JOIN_(a, b)
#define GYMCORE_TEXT_(a) #a
#define GYMCORE_TEXT(a) GYMCORE_TEXT_(a)

#endif
