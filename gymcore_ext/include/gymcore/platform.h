/* What differs between compilers and processors: instruction sets, inlining, thread-local storage.
 *
 * Every batch loop is compiled once per instruction set below and one of them is chosen when a batch is made
 * (`choose_isa` in engine/kernels.pyx). The sets are named rather than left to `target_clones`, so that a program
 * can choose one (GYMCORE_ISA=baseline|x86-64-v2|x86-64-v3|x86-64-v4), tests can compare their bytes in one process, and
 * it works without ifunc (musl, clang). The baseline is what the platform guarantees: NEON, or plain SSE2. GCC 12 does
 * not vectorise comparisons for SSE2, so loops are compiled for x86-64-v2 as well. No loop may contain a fused
 * multiply-add or a reassociated sum: contraction is switched off below, and -ffast-math is an error, so all of them
 * compute the same bits.
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

/* Functions that follow, until the end of the file that includes this, have no fused multiply-adds, whatever the flags say.
 * GCC ignores the pragma of the C standard. */
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

/* GYMCORE_INDEPENDENT_LANES: the lanes of the loop that follows do not depend on each other. On Clang, four vectors per
 * variable hide the latency of one behind the others. GCC takes as many because of gymcore_flag (kernel.h); Clang would
 * take one: Pendulum 209 instead of 359 million steps per second (Clang 21, x86-64-v4).
 * GYMCORE_UNROLLED: for short loops that do not become vector code; fully, for loops of a constant count below 64.
 * GYMCORE_FLATTEN: inline the whole physics of a lane into its loops, however long it is, since a call in the loop body
 * would keep it scalar. Clang inlines the calls of one function and not those of its callees, which are therefore always
 * inlined; on GCC, Acrobot would then take 1.6 times as long (GCC 12, x86-64-v4).
 * GYMCORE_COLD: a function for what nearly never happens, out of the way of the loop that calls it. */
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
