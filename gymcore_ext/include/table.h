/* A table of transitions, which all lanes of a batch share. */
#ifndef GYMCORE_TABLE_H
#define GYMCORE_TABLE_H

#include "platform.h"

/* One outcome of an action: 32 bytes, two a cache line. */
typedef struct {
    double cumulative; /* probability of this outcome and those before it */
    double probability;
    double reward;
    int32_t next;
    int32_t terminated;
} gymcore_transition;

/* Every row ends with a cumulative probability of infinity, so that all draws find a place in it. */
typedef struct {
    int64_t states, actions, width;
    int64_t stride;                     /* outcomes of a state: actions * width */
    const gymcore_transition *outcomes; /* [states, actions, width] */
    const double *starts;               /* [states]: cumulative probability of the first state */
    int64_t first_start, start_count;   /* no draw begins outside these */
    const uint64_t *masks;              /* [states], a byte an action: those that change something; or NULL */
} gymcore_table;

#endif
