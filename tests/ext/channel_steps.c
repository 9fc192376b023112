/* Stop one process at every single instruction of the protocol, while the other one acts.
 *
 * For every scene and every number n, a process is traced for n instructions, then the other process acts from beginning to
 * end, then the first one continues. Nothing may be lost, counted twice, or slept through: waits last longer than any test.
 * Prints the number of instructions of every scene. Exits with 77 if the system does not allow tracing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "workers/channel.h"

enum { WORKERS = 2, LANES = 3, FORBIDDEN = 77, ALARM = 60 };

static const int64_t first[WORKERS + 1] = {0, 2, 3};
static const int32_t owner[LANES] = {0, 0, 1};

static const char *scene;
static long steps;
static gymcore_channel channel;

/* A process's own data; in shared memory, so that whichever process plays the parent finds it. */
typedef struct {
    uint8_t state[LANES];
    int64_t queue[LANES];
    gymcore_parent_state parent;
    uint64_t inbox;
    uint32_t activity;
    int64_t lane;
    volatile int done; /* the traced process has done its part */
} notes;

static notes *shared;
static int64_t later; /* long after the alarm that ends a scene */

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s, after %ld instructions, line %d: %s\n", scene, steps, __LINE__, #condition); \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

static void answer(int64_t worker, uint32_t last, uint32_t expected)
{
    uint64_t inbox;
    uint32_t activity;
    if (gymcore_find_work(&channel, worker, last, &inbox, &activity) == 1 && inbox >> 32 == expected)
        gymcore_reply(&channel, worker, expected, 0);
}

static void submit(int64_t lane) { gymcore_submit(&channel, &shared->parent, &lane, 1, owner); }

static void gather(void)
{
    uint64_t completed;
    CHECK(gymcore_gather(&channel, &shared->parent, &completed));
}

/* --- scenes: the state before, the traced process, the other process, the checks at the end ------------------------- */

/* A new request, while a worker answers an abandoned one late, and then this one. */
static void abandoned_request(void) { gymcore_post(&channel, 1, 5, NULL, WORKERS); }
static void posts(void) { gymcore_post(&channel, 2, 6, NULL, WORKERS); }
static void answers_late(void)
{
    gymcore_reply(&channel, 0, 1, 0);
    CHECK(!gymcore_replied(&channel, 2));
    answer(0, 1, 2);
    CHECK(!gymcore_replied(&channel, 2));
}
static void counts_two(void)
{
    answer(0, gymcore_answered(&channel, 0, 2) ? 2 : 1, 2);
    CHECK(!gymcore_replied(&channel, 2) && !gymcore_answered(&channel, 1, 2));
    answer(1, 0, 2);
    CHECK(gymcore_replied(&channel, 2) && gymcore_answered(&channel, 0, 2) && gymcore_answered(&channel, 1, 2));
}
static void replies_late(void) { gymcore_reply(&channel, 0, 1, 0); }

/* Both workers answer at the same time: each is counted once. */
static void replies(void) { gymcore_reply(&channel, 0, 1, 0); }
static void replies_too(void) { gymcore_reply(&channel, 1, 1, 0); }
static void counted(void) { CHECK(gymcore_replied(&channel, 1)); }

/* No event is missed by a process that is falling asleep. */
static void sees(void)
{
    CHECK(gymcore_find_work(&channel, 0, 1, &shared->inbox, &shared->activity) == 0);
}
static void abandoned_and_seen(void)
{
    abandoned_request();
    sees();
}
static void awaits_request(void) { gymcore_await_activity(&channel, 0, shared->activity, later, 3); }
static void finds_request(void)
{
    CHECK(gymcore_find_work(&channel, 0, 1, &shared->inbox, &shared->activity) == 1);
    CHECK(shared->inbox == ((uint64_t)2 << 32 | 6));
}
static void submits(void) { submit(1); }
static void finds_lane(void)
{
    CHECK(gymcore_find_work(&channel, 0, 1, &shared->inbox, &shared->activity) == 2);
    CHECK(gymcore_take(&channel, 0) == 1);
}
static void one_answer_missing(void)
{
    abandoned_request();
    gymcore_reply(&channel, 1, 1, 0);
}
static void awaits_replies(void)
{
    while (!gymcore_await_arrival(&channel, 1, GYMCORE_ALL_REPLIES, later, 3))
        ;
}
static void two_lanes_out(void)
{
    submit(0);
    submit(2);
    CHECK(gymcore_take(&channel, 0) == 0);
    CHECK(gymcore_take(&channel, 1) == 2);
    CHECK(gymcore_complete(&channel, 1, 2, 1.0));
}
static void awaits_lanes(void)
{
    uint64_t completed;
    for (;;) {
        CHECK(gymcore_gather(&channel, &shared->parent, &completed));
        if (shared->parent.count == 2)
            return;
        gymcore_await_arrival(&channel, 0, completed + 2 - (uint64_t)shared->parent.count, later, 3);
    }
}
static void completes(void) { CHECK(gymcore_complete(&channel, 0, 0, 1.0)); }
static void has_two(void) { CHECK(shared->parent.count == 2); }

/* A lane is given up and submitted again, while its worker takes or completes it: it is delivered once. */
static void lane_out(void) { submit(0); }
static void takes(void) { shared->lane = gymcore_take(&channel, 0); }
static void asks_again(void)
{
    gather();
    gymcore_forget(&channel, &shared->parent, 0);
    submit(0);
}
static void delivered_once(void)
{
    CHECK(shared->lane <= 0);
    if (shared->lane == 0)
        CHECK(gymcore_complete(&channel, 0, 0, 1.0));
    gather();
    takes();
    if (shared->lane == 0)
        CHECK(gymcore_complete(&channel, 0, 0, 1.0));
    gather();
    CHECK(shared->parent.count == 1 && shared->parent.submitted == 1 && shared->parent.queue[0] == 0);
    CHECK(gymcore_take(&channel, 0) == -1);
}
static void lane_taken(void)
{
    submit(0);
    takes();
}
static void lane_given_up(void)
{
    lane_taken();
    asks_again();
}
static void completes_it(void) { CHECK(gymcore_complete(&channel, 0, 0, 1.0)); }
static void delivered_once_more(void)
{
    gather();
    CHECK(shared->parent.count == 0);
    takes();
    CHECK(shared->lane == 0);
    completes_it();
    gather();
    CHECK(shared->parent.count == 1 && shared->parent.submitted == 1);
}
/* ... and also only once if the parent is the process that is stopped. */
static void completes_or_takes(void)
{
    completes_it();
    takes();
}
static void delivered_if_taken(void)
{
    if (shared->lane != 0)
        takes();
    CHECK(shared->lane == 0);
    completes_it();
    gather();
    CHECK(shared->parent.count == 1 && shared->parent.submitted == 1);
}

typedef struct {
    const char *name;
    void (*before)(void), (*traced)(void), (*other)(void), (*after)(void);
} play;

static const play plays[] = {
    {"posts while a late one answers", abandoned_request, posts, answers_late, counts_two},
    {"answers late while a new one is posted", abandoned_request, replies_late, posts, counts_two},
    {"two answer at once", abandoned_request, replies, replies_too, counted},
    {"falls asleep before a request", abandoned_and_seen, awaits_request, posts, finds_request},
    {"falls asleep before a lane", abandoned_and_seen, awaits_request, submits, finds_lane},
    {"posts while one falls asleep", one_answer_missing, awaits_replies, replies, counted},
    {"gathers while a lane completes", two_lanes_out, awaits_lanes, completes, has_two},
    {"takes a lane that is given up", lane_out, takes, asks_again, delivered_once},
    {"completes a lane that was given up", lane_given_up, completes_it, gather, delivered_once_more},
    {"gives up a lane that completes", lane_taken, asks_again, completes_or_takes, delivered_if_taken},
};

/* Wait for the traced process to stop or end; 0 if it sleeps instead. */
static int stopped(pid_t child, int *status)
{
    for (int looks = 0; looks < 2000; looks++) {
        pid_t found = waitpid(child, status, WNOHANG);
        CHECK(found >= 0);
        if (found == child)
            return 1;
        if (looks > 1000)
            gymcore_nap(20000);
    }
    return 0;
}

static void begin(char *memory, size_t size)
{
    memset(memory, 0, size);
    memset(shared, 0, sizeof(*shared));
    shared->parent = (gymcore_parent_state){shared->state, shared->queue, 0, 0};
}

/* Run one play with the traced process stopped after `limit` instructions; 0 if it had ended or slept by then. */
static int perform(const play *one, long limit)
{
    int status, sleeps = 0;
    one->before();
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(FORBIDDEN);
        __asm__ volatile("int3"); /* stops here, not in the library's code around a signal */
        one->traced();
        shared->done = 1;
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status))
        exit(WEXITSTATUS(status));
    CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) == 0);
    for (steps = 0; steps < limit && !sleeps && !shared->done; steps++) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL))
            exit(FORBIDDEN);
        sleeps = !stopped(child, &status);
    }
    int all = sleeps || shared->done;
    one->other();
    if (sleeps)
        CHECK(waitpid(child, &status, 0) == child);
    while (!WIFEXITED(status)) {
        CHECK(WIFSTOPPED(status));
        CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
        CHECK(waitpid(child, &status, 0) == child);
    }
    CHECK(WEXITSTATUS(status) == 0);
    one->after();
    return !all;
}

static void sleeps_on(int number)
{
    (void)number;
    CHECK(!"it is still asleep");
}

int main(void)
{
    const size_t size = (size_t)gymcore_channel_bytes(WORKERS, LANES);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = mmap(NULL, sizeof(notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    channel = (gymcore_channel){.num_workers = WORKERS, .num_envs = LANES, .first = first};
    gymcore_channel_place(&channel, memory);
    later = gymcore_clock() + (int64_t)3600 * 1000000000;
    signal(SIGALRM, sleeps_on);
    for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
        long limit = 0;
        scene = plays[i].name;
        do {
            alarm(ALARM);
            begin(memory, size);
        } while (perform(&plays[i], limit++) && limit < 2000);
        printf("%s: %ld\n", scene, limit);
        fflush(stdout);
    }
    return 0;
}
