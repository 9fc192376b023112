/* Kill a worker at every single instruction of the protocol.
 *
 * A worker is stepped instruction by instruction. After each one, shared memory has the contents that a worker killed
 * there would leave; a parent and a new worker continue with a copy of it. Prints the number of these states. Exits with
 * 77 if the system does not allow tracing.
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

enum { WORKERS = 2, LANES = 6, REQUEST = 41, STATUS = 7, FORBIDDEN = 77 };

static const int64_t first[WORKERS + 1] = {0, 4, 6};
static const int32_t owner[LANES] = {0, 0, 0, 0, 1, 1};

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "after %ld instructions, line %d: %s\n", steps, __LINE__, #condition); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static long steps;

typedef struct {
    uint8_t state[LANES];
    int64_t queue[LANES];
    int64_t count, submitted;
} parent_memory;

static gymcore_channel open_channel(char *memory)
{
    gymcore_channel channel = {.num_workers = WORKERS, .num_envs = LANES, .first = first};
    gymcore_channel_place(&channel, memory);
    return channel;
}

/* The traced worker uses every part of the protocol. */
static void work(char *memory)
{
    gymcore_channel channel = open_channel(memory);
    uint64_t inbox;
    uint32_t activity;
    for (int i = 0; i < 2; i++) {
        int64_t lane = gymcore_take(&channel, 0);
        gymcore_complete(&channel, 0, lane, 0.5);
    }
    gymcore_find_work(&channel, 0, 0, &inbox, &activity);
    gymcore_reply(&channel, 0, (uint32_t)(inbox >> 32), STATUS);
    gymcore_find_work(&channel, 0, REQUEST, &inbox, &activity);
    gymcore_take(&channel, 0);
    gymcore_await_activity(&channel, 0, activity, gymcore_clock(), 2);
    gymcore_await_activity(&channel, 0, activity - 1, gymcore_clock(), 0);
}

/* Continue as the parent, and as a worker that replaces the killed one. */
static void survive(char *memory, const parent_memory *before)
{
    gymcore_channel channel = open_channel(memory);
    parent_memory mine = *before;
    gymcore_parent_state parent = {mine.state, mine.queue, mine.count, mine.submitted};
    uint64_t completed, inbox;
    uint32_t activity;
    int64_t lane, lanes[LANES];
    int taken = 0;

    /* Worker 1 answers; then either all have answered or only worker 0 has not. A wait whose time is over returns. */
    gymcore_reply(&channel, 1, REQUEST, 0);
    int replied = gymcore_await_arrival(&channel, REQUEST, GYMCORE_ALL_REPLIES, gymcore_clock(), 0);
    int answered = gymcore_answered(&channel, 0, REQUEST);
    CHECK(!replied || answered);
    CHECK((gymcore_answered(&channel, 0, REQUEST) && gymcore_answered(&channel, 1, REQUEST)) == answered);
    CHECK(!answered || (uint32_t)channel.slots[0].answer == STATUS);

    /* Each completed lane arrived exactly once; the others are still outstanding. */
    gymcore_await_arrival(&channel, 0, 100, gymcore_clock(), 0);
    CHECK(gymcore_gather(&channel, &parent, &completed));
    CHECK(parent.count <= 2 && (uint64_t)parent.count == channel.slots[0].tail);
    for (int64_t i = 0; i < parent.count; i++)
        CHECK(parent.queue[i] < 4 && parent.state[parent.queue[i]] == GYMCORE_READY);
    CHECK(parent.count < 2 || parent.queue[0] != parent.queue[1]);

    /* The lanes of worker 0 are given up and submitted again; a new worker takes each of them once. */
    channel.slots[0].inbox = 0;
    for (lane = 0; lane < 4; lane++)
        gymcore_forget(&channel, &parent, lane);
    CHECK(parent.count == 0 && parent.submitted == 2);
    CHECK(gymcore_find_work(&channel, 0, 0, &inbox, &activity) == 0);
    for (lane = 0; lane < 4; lane++)
        lanes[lane] = lane;
    gymcore_submit(&channel, &parent, lanes, 4, owner);
    CHECK(gymcore_find_work(&channel, 0, 0, &inbox, &activity) == 2);
    while ((lane = gymcore_take(&channel, 0)) >= 0) {
        CHECK(gymcore_complete(&channel, 0, lane, 1.0));
        taken++;
    }
    CHECK(taken == 4);
    while ((lane = gymcore_take(&channel, 1)) >= 0)
        CHECK(gymcore_complete(&channel, 1, lane, 1.0));
    CHECK(gymcore_gather(&channel, &parent, &completed));
    CHECK(parent.count == LANES);

    /* Requests are answered as before. */
    gymcore_post(&channel, REQUEST + 1, 1, NULL, WORKERS);
    for (int k = 0; k < WORKERS; k++) {
        CHECK(gymcore_find_work(&channel, k, 0, &inbox, &activity) == 1 && inbox >> 32 == REQUEST + 1);
        CHECK(!gymcore_replied(&channel, REQUEST + 1));
        gymcore_reply(&channel, k, REQUEST + 1, 0);
    }
    CHECK(gymcore_replied(&channel, REQUEST + 1));
}

int main(void)
{
    const size_t size = (size_t)gymcore_channel_bytes(WORKERS, LANES);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *last = calloc(1, size), *copy = aligned_alloc(GYMCORE_LINE_PAIR, size);
    parent_memory mine = {0};
    gymcore_parent_state parent = {mine.state, mine.queue, 0, 0};
    gymcore_channel channel = open_channel(memory);
    const int64_t lanes[LANES] = {0, 1, 2, 3, 4, 5};
    long states = 0;
    int status;
    pid_t child;

    gymcore_submit(&channel, &parent, lanes, LANES, owner);
    mine.submitted = parent.submitted;
    gymcore_post(&channel, REQUEST, 5, NULL, WORKERS);
    /* The state that a sleeping parent would have left: workers ring the doorbell. */
    gymcore_store64(&channel.doorbells->wake_at, 1);
    gymcore_store32(&channel.doorbells->parent_asleep, 1);

    child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(FORBIDDEN);
        raise(SIGSTOP);
        work(memory);
        _exit(0);
    }
    for (;;) {
        CHECK(waitpid(child, &status, 0) == child);
        if (steps == 0 && WIFSTOPPED(status))
            CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) == 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == FORBIDDEN)
            return FORBIDDEN;
        if (WIFEXITED(status))
            break;
        CHECK(WIFSTOPPED(status));
        if (states == 0 || memcmp(last, memory, size)) {
            memcpy(last, memory, size);
            memcpy(copy, memory, size);
            survive(copy, &mine);
            states++;
        }
        CHECK(steps++ < 1000000);
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL))
            return FORBIDDEN;
    }
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(gymcore_answered(&channel, 0, REQUEST) && channel.slots[0].tail == 2);
    printf("%ld states after %ld instructions\n", states, steps);
    return 0;
}
