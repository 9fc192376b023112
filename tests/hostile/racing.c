/* A thread of the caller that writes into the actions of a step (racing.py). */
#include <stdint.h>

void gymcore_test_writer(int64_t *actions, const int64_t *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        actions[i] = values[i];
}
