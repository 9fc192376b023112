/* The limit for batches of MuJoCo simulations: only mj_step and, if given, another function after each step of the
 * environment (mj_rnePostConstraint), with the same number of threads,
 * which synchronize after every step of the batch, as a policy that needs the observations requires.
 *
 * Compiled by mujoco_measures.py when needed, and called through ctypes, which releases the GIL. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

typedef void simulate(const void *model, void *data);

typedef struct {
    simulate *step, *then; /* `then` may be NULL */
    const void **models;
    void **datas;
    double **controls; /* mjData.ctrl of each lane */
    const double *actions; /* [steps, lanes, controls] */
    long lanes, control_size, frame_skip, steps, threads;
    atomic_long next, arrived, round;
} batch;

static void meet(batch *self)
{
    long round = atomic_load(&self->round);
    if (atomic_fetch_add(&self->arrived, 1) + 1 == self->threads) {
        atomic_store(&self->arrived, 0);
        atomic_store(&self->next, 0);
        atomic_fetch_add(&self->round, 1);
        return;
    }
    while (atomic_load(&self->round) == round)
        relax();
}

static void *work(void *argument)
{
    batch *self = argument;
    for (long step = 0; step < self->steps; step++) {
        const double *actions = self->actions + step * self->lanes * self->control_size;
        for (;;) {
            long i = atomic_fetch_add(&self->next, 1);
            if (i >= self->lanes)
                break;
            memcpy(self->controls[i], actions + i * self->control_size, self->control_size * sizeof(double));
            for (long k = 0; k < self->frame_skip; k++)
                self->step(self->models[i], self->datas[i]);
            if (self->then)
                self->then(self->models[i], self->datas[i]);
        }
        meet(self);
    }
    return 0;
}

int raw_mujoco(simulate *step, simulate *then, const void **models, void **datas, double **controls,
               const double *actions, long lanes, long control_size, long frame_skip, long steps, long threads)
{
    pthread_t others[64];
    batch self = { step, then, models, datas, controls, actions, lanes, control_size, frame_skip, steps,
                   threads, 0, 0, 0 };
    if (threads < 1 || threads > 64)
        return 1;
    for (long k = 1; k < threads; k++)
        if (pthread_create(&others[k], 0, work, &self))
            return 2;
    work(&self);
    for (long k = 1; k < threads; k++)
        pthread_join(others[k], 0);
    return 0;
}
