/* A table of transitions, which all lanes of a batch share. */
#ifndef GYMCORE_TABLE_H
#define GYMCORE_TABLE_H

#include "../include/gymcore/platform.h"

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
    /* Draws of 53 bits that have the second outcome or a later one, and the third one, begin here, for every action that
     * has several outcomes, if it is the same for all and there are no more than three, as there mostly are; else, and if
     * there is no such outcome, no draw is as large. */
    int64_t first, second;
    const double *cumulative;               /* otherwise [states, actions, width - 1], for all outcomes; or NULL */
    const double *starts;                   /* [states]: cumulative probability of the first state */
    int64_t first_start, start_count;       /* no draw begins outside these */
    const uint64_t *masks;                  /* [states], a byte an action: those that change something; or NULL */
} gymcore_table;

#endif
