/* The protocol of channel.h between threads, for ThreadSanitizer and for systems without futexes.
 *
 *     channel_threads WORKERS LANES ROUNDS
 *
 * A parent and its workers exchange the data of requests in plain memory, so a missing ordering between them is a data race
 * that ThreadSanitizer reports. Exits with 0 if every number was right.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "workers/channel.h"

enum { ADD = 1, NOTHING = 2, STOP = 3 };

static int num_workers, num_lanes, rounds;
static char *memory;
static int64_t *first;
static int64_t *question, *reply;         /* [num_workers], plain */
static int64_t *action, *observation;     /* [num_lanes], plain */

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                       \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static gymcore_channel open_channel(void)
{
    gymcore_channel channel = {.num_workers = num_workers, .num_envs = num_lanes, .first = first};
    gymcore_channel_place(&channel, memory);
    return channel;
}

static int64_t soon(void) { return gymcore_clock() + GYMCORE_SLICE; }

static void *work(void *argument)
{
    int64_t me = (int64_t)(intptr_t)argument;
    gymcore_channel channel = open_channel();
    uint64_t inbox;
    uint32_t last = 0, activity;
    for (;;) {
        int found = gymcore_find_work(&channel, me, last, &inbox, &activity);
        if (found == 2) {
            int64_t lane = gymcore_take(&channel, me);
            if (lane >= 0) {
                observation[lane] = 3 * action[lane] + lane;
                CHECK(gymcore_complete(&channel, me, lane, 1e-3 * (double)(1 + lane % 5)));
            }
        } else if (found == 1) {
            uint32_t operation = (uint32_t)inbox;
            last = (uint32_t)(inbox >> 32);
            if (operation == ADD)
                reply[me] = question[me] + me;
            gymcore_reply(&channel, me, last, operation);
            if (operation == STOP)
                return NULL;
        } else
            gymcore_await_activity(&channel, me, activity, soon(), me % 2 ? 100 : 0);
    }
}

static void wait_for(gymcore_channel *channel, uint32_t request, int64_t spin)
{
    for (int slices = 0; !gymcore_await_arrival(channel, request, GYMCORE_ALL_REPLIES, soon(), spin); slices++)
        CHECK(slices < 600);
}

int main(int count, char **words)
{
    CHECK(count == 4);
    num_workers = atoi(words[1]);
    num_lanes = atoi(words[2]);
    rounds = atoi(words[3]);
    memory = aligned_alloc(GYMCORE_LINE_PAIR, (size_t)gymcore_channel_bytes(num_workers, num_lanes));
    memset(memory, 0, (size_t)gymcore_channel_bytes(num_workers, num_lanes));
    first = calloc((size_t)num_workers + 1, sizeof(int64_t));
    question = calloc((size_t)num_workers, sizeof(int64_t));
    reply = calloc((size_t)num_workers, sizeof(int64_t));
    action = calloc((size_t)num_lanes, sizeof(int64_t));
    observation = calloc((size_t)num_lanes, sizeof(int64_t));
    uint8_t *selected = calloc((size_t)num_workers, 1);
    int32_t *owner = calloc((size_t)num_lanes, sizeof(int32_t));
    for (int k = 0; k < num_workers; k++) {
        first[k + 1] = (int64_t)(k + 1) * num_lanes / num_workers;
        for (int64_t lane = first[k]; lane < first[k + 1]; lane++)
            owner[lane] = k;
    }
    gymcore_channel channel = open_channel();
    gymcore_parent_state parent = {calloc((size_t)num_lanes, 1), calloc((size_t)num_lanes, sizeof(int64_t)), 0, 0};
    pthread_t *threads = calloc((size_t)num_workers, sizeof(pthread_t));
    for (int k = 0; k < num_workers; k++)
        CHECK(pthread_create(&threads[k], NULL, work, (void *)(intptr_t)k) == 0);
    uint32_t request = 0xFFFFFFFF - (uint32_t)rounds / 2; /* numbers wrap around on the way */
    srand(1);

    /* Requests to some of the workers, each answered before the next one. */
    for (int round = 0; round < rounds; round++) {
        int asked = 0;
        for (int k = 0; k < num_workers; k++) {
            selected[k] = rand() % 2 || k == round % num_workers;
            asked += selected[k];
            if (selected[k])
                question[k] = round;
        }
        request = request + 1 ? request + 1 : 1;
        gymcore_post(&channel, request, ADD, selected, asked);
        wait_for(&channel, request, round % 3 ? 0 : 200);
        for (int k = 0; k < num_workers; k++)
            CHECK(!selected[k] || (gymcore_answered(&channel, k, request) && reply[k] == round + k));
    }

    /* Requests given up one after another: only the last one counts, and all workers answer it. */
    for (int round = 0; round < rounds / 10; round++) {
        for (int burst = rand() % 4; burst >= 0; burst--) {
            request = request + 1 ? request + 1 : 1;
            gymcore_post(&channel, request, NOTHING, NULL, num_workers);
        }
        wait_for(&channel, request, 0);
        for (int k = 0; k < num_workers; k++)
            CHECK(gymcore_answered(&channel, k, request));
    }

    /* Lanes, in any order of arrival. */
    int64_t *lanes = calloc((size_t)num_lanes, sizeof(int64_t)), delivered = 0;
    for (int64_t lane = 0; lane < num_lanes; lane++)
        lanes[lane] = lane;
    gymcore_submit(&channel, &parent, lanes, num_lanes, owner);
    for (int slices = 0; delivered < (int64_t)rounds * num_lanes;) {
        int64_t wanted = 1 + rand() % num_lanes;
        uint64_t completed;
        CHECK(gymcore_gather(&channel, &parent, &completed));
        if (parent.count < wanted) {
            CHECK(slices++ < 600 + 100 * rounds);
            gymcore_await_arrival(&channel, 0, completed + (uint64_t)(wanted - parent.count), soon(), 0);
            continue;
        }
        for (int64_t i = 0; i < wanted; i++) {
            int64_t lane = lanes[i] = parent.queue[i];
            CHECK(parent.state[lane] == GYMCORE_READY);
            CHECK(observation[lane] == 3 * action[lane] + lane);
            parent.state[lane] = GYMCORE_IDLE;
            action[lane]++;
        }
        parent.count -= wanted;
        parent.submitted -= wanted;
        memmove(parent.queue, parent.queue + wanted, (size_t)parent.count * sizeof(int64_t));
        delivered += wanted;
        gymcore_submit(&channel, &parent, lanes, wanted, owner);
    }

    request = request + 1 ? request + 1 : 1;
    gymcore_post(&channel, request, STOP, NULL, num_workers);
    wait_for(&channel, request, 0);
    for (int k = 0; k < num_workers; k++)
        pthread_join(threads[k], NULL);
    puts("right");
    return 0;
}
