/* Physics and observations of a kernel for many steps, without resets, limits or statistics: the upper bound for the engine.
 *
 *     cc -O2 -shared -fPIC -I $(python -c "import gymcore_ext; print(gymcore_ext.get_include())") \
 *         -o raw_physics.so raw_physics.c
 */
#include "gymcore/kernel.h"

/* `actions` are [steps, n]; the kernel has one array of observations, parameters shared by all lanes and no draws. */
void raw_physics(const gymcore_kernel *kernel, int isa, double *const *state, double *const *parameters,
                 const int64_t *actions, void *observations, double *rewards, gymcore_flag *ends, int64_t steps, int64_t n)
{
    gymcore_columns columns = {.state = state, .parameters = parameters};
    for (int64_t step = 0; step < steps; step++)
        for (int64_t lo = 0; lo < n; lo += GYMCORE_BLOCK)
            kernel->step[isa].shared(&columns, actions + step * n, &observations, rewards, ends, lo,
                                     lo + GYMCORE_BLOCK < n ? lo + GYMCORE_BLOCK : n);
}
