/* The pool of pool.h: every lane is processed once, by any thread; for ThreadSanitizer too.
 *
 *     pool_shares WORKERS ROUNDS
 *
 * Jobs of many sizes follow each other, some at once and some after the workers fall asleep. Lanes are plain memory, so a
 * job that began before the last one ended, or continued after it, is a data race. Jobs that run out of time are resumed.
 * Exits with 0 if every sum was right.
 */
#include <stdio.h>
#include "engine/pool.h"

enum { LANES = 4000 };

static int64_t seen[LANES];

typedef struct {
    int64_t lanes, add;
} task;

static int64_t job(void *context, int64_t lo, int64_t hi)
{
    const task *mine = context;
    if (lo < 0 || lo >= hi || hi > mine->lanes)
        abort();
    for (int64_t i = lo; i < hi; i++)
        seen[i] += mine->add;
    return hi - lo;
}

/* Return the fraction of jobs that a pool shares during `seconds`; a job takes `alone` or `shared` nanoseconds. */
static double part_shared(gymcore_choice *choice, int64_t *now, double seconds, int64_t alone, int64_t shared)
{
    int64_t end = *now + (int64_t)(seconds * 1e9), jobs = 0, together = 0;
    while (*now < end) {
        int64_t begun = *now;
        jobs++;
        together += choice->shared;
        *now += choice->shared ? shared : alone;
        gymcore_choose(choice, 100, begun, *now);
    }
    return (double)together / (double)jobs;
}

static int chooses_well(void)
{
    int64_t now = 1000;
    gymcore_choice choice = {1, 0, now, GYMCORE_MIN_HOLD_NS, {0, 0}, {0, 0}};
    int right = part_shared(&choice, &now, 4, 20000, 12000) > 0.97;  /* worth it */
    right &= part_shared(&choice, &now, 4, 20000, 12000) > 0.99;     /* and tried less and less */
    part_shared(&choice, &now, 2, 20000, 19000);                     /* no longer: it notices */
    right &= part_shared(&choice, &now, 4, 20000, 19000) < 0.03;
    part_shared(&choice, &now, 2, 40000, 21000);
    return right && part_shared(&choice, &now, 4, 40000, 21000) > 0.97;
}

int main(int argc, char **argv)
{
    int workers = atoi(argv[1]), rounds = atoi(argv[argc - 1]);
    int64_t interrupted = 0;
    const int64_t sizes[] = {1, 2, 63, 64, 65, 999, 1000, 1001, 2500, LANES};
    const int64_t leasts[] = {1, 7, 64, 192, 5000};
    if (!chooses_well())
        return fprintf(stderr, "shares what is faster alone\n"), 1;
    for (int start = 0; start < 3; start++) {
        gymcore_pool *pool = gymcore_pool_new(workers + 1, start == 2);
        for (int round = 0; round < rounds; round++) {
            task mine = {sizes[round % 10], round + 1};
            int64_t least = leasts[round % 5], most = round % 3 ? 2048 : least;
            for (int64_t i = 0; i < LANES; i++)
                seen[i] = -i;
            int64_t patience = round % 7 < 2 ? round % 7 * 5000 : -1, sum = 0;
            gymcore_range lanes = {0, mine.lanes};
            while (lanes.lo < lanes.hi) {
                int64_t until = patience < 0 ? GYMCORE_NO_DEADLINE : gymcore_clock() + patience;
                sum += gymcore_pool_run(pool, job, &mine, &lanes, least, most, round % (workers + 1), until);
                interrupted += lanes.lo < lanes.hi;
            }
            if (sum != mine.lanes)
                return fprintf(stderr, "%d lanes of %d\n", (int)sum, (int)mine.lanes), 1;
            for (int64_t i = 0; i < LANES; i++)
                if (seen[i] != -i + (i < mine.lanes ? mine.add : 0))
                    return fprintf(stderr, "lane %d of %d\n", (int)i, (int)mine.lanes), 1;
            if (round % 50 == 49) { /* until the workers sleep */
                struct timespec time = {0, 2 * GYMCORE_AWAKE_NS};
                nanosleep(&time, NULL);
            }
        }
        gymcore_pool_free(pool);
    }
    if (!interrupted)
        return fprintf(stderr, "no job ran out of time\n"), 1;
    puts("right");
    return 0;
}
