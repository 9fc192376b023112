/* A table of transitions, which all lanes of a batch share. */
#ifndef GYMCORE_TABLE_H
#define GYMCORE_TABLE_H

#include "platform.h"

/* One outcome of an action: eight bytes, so that a table of thousands stays in the first-level cache. */
typedef struct {
    uint32_t next;  /* 2 * state + terminated */
    uint32_t value; /* index of gymcore_table.values */
} gymcore_transition;

typedef struct {
    double probability, reward;
} gymcore_transition_value;

typedef struct {
    int64_t states, actions, width;
    int64_t stride;                         /* outcomes of a state: actions * width */
    const gymcore_transition *outcomes;     /* [states, actions, width] */
    const gymcore_transition_value *values; /* [as many as there are different ones] */
    /* Probability of an outcome and those before it, but for the last one: [states, actions, width - 1], or [width - 1]
     * if that is the same for all actions, as it mostly is; an action of one outcome may have any. */
    const double *cumulative;
    int64_t common;                         /* whether it is */
    double first, second;                   /* then: the first two */
    const double *starts;                   /* [states]: cumulative probability of the first state */
    int64_t first_start, start_count;       /* no draw begins outside these */
    const uint64_t *masks;                  /* [states], a byte an action: those that change something; or NULL */
} gymcore_table;

#endif
