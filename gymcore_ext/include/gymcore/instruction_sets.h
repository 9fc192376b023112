/* Compiles the loops of a file once for each instruction set (platform.h).
 *
 * That file defines GYMCORE_LOOPS as its own name and includes this one, which includes it again for each instruction
 * set. GYMCORE_ISA is then the suffix of the names of its functions, and GYMCORE_TARGET their attribute. */
#define GYMCORE_ISA _baseline
#define GYMCORE_TARGET
#include GYMCORE_LOOPS
#undef GYMCORE_ISA
#undef GYMCORE_TARGET

#if GYMCORE_ISA_COUNT > 1
#define GYMCORE_ISA _v2
#define GYMCORE_TARGET __attribute__((target("arch=x86-64-v2")))
#include GYMCORE_LOOPS
#undef GYMCORE_ISA
#undef GYMCORE_TARGET
#define GYMCORE_ISA _v3
#define GYMCORE_TARGET __attribute__((target("arch=x86-64-v3")))
#include GYMCORE_LOOPS
#undef GYMCORE_ISA
#undef GYMCORE_TARGET
#define GYMCORE_ISA _v4
#define GYMCORE_TARGET __attribute__((target("arch=x86-64-v4")))
#include GYMCORE_LOOPS
#undef GYMCORE_ISA
#undef GYMCORE_TARGET
#endif

#undef GYMCORE_LOOPS
