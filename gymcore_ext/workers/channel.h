/* Requests of a parent to its worker processes, and their answers, as words in shared memory.
 *
 * Two protocols share two doorbells:
 *   requests    the parent posts one numbered request to some workers and waits until all of them have answered it;
 *   lanes       the parent submits single lanes, each worker takes its own lanes such that they get equal time, and the
 *               parent gathers whichever lanes are ready.
 *
 * The channel survives a process that is killed between any two instructions:
 *   - There are no locks. Each word has one writer, except the countdown, which is replaced only as a whole, together with
 *     the number of its request, and counters that decide when to ring but carry no results.
 *   - A doorbell only shortens a wait. A waiting thread reads the words again after every slice of at most
 *     GYMCORE_SLICE, so a peer that was killed before it rang costs one slice.
 *   - Answers and ring entries are published last, so an entry that is visible is complete.
 * Zeroed memory is a channel without requests. This is C, not Cython, so that ThreadSanitizer can test it.
 */
#ifndef GYMCORE_CHANNEL_H
#define GYMCORE_CHANNEL_H

#include "wait.h"

#define GYMCORE_LINE_PAIR 128                /* processors fetch cache lines of 64 bytes in pairs */
#define GYMCORE_SLICE ((int64_t)50000000) /* nanoseconds after which a wait handles signals and reads the words again */
#define GYMCORE_ALL_REPLIES UINT64_MAX
#define GYMCORE_MAX_MEAN_STEPS 64         /* maximum distance of a lane from its worker's clock, in mean steps */

/* Cache lines that all processes share. */
typedef struct {
    gymcore_word worker_doorbell; /* workers sleep on it */
    gymcore_word parent_cpu;      /* CPU on which the parent wrote last */
    char pad0[GYMCORE_LINE_PAIR - 8];
    gymcore_word parent_doorbell, parent_asleep;
    gymcore_word64 wake_at; /* value of `completed` at which the parent must be woken */
    char pad1[GYMCORE_LINE_PAIR - 16];
    gymcore_word64 countdown; /* request << 32 | workers that have not answered */
    gymcore_word64 completed; /* lanes completed so far */
    char pad2[GYMCORE_LINE_PAIR - 16];
} gymcore_doorbells;

/* The slot of a worker: a cache line that the parent writes and one that the worker writes. */
typedef struct {
    gymcore_word64 inbox;  /* request << 32 | operation */
    gymcore_word64 head;   /* number of ring entries that the parent has read */
    gymcore_word activity; /* changes whenever there is new work for this worker */
    char pad0[GYMCORE_LINE_PAIR - 20];
    gymcore_word64 answer; /* request << 32 | status */
    gymcore_word64 tail;   /* number of ring entries that the worker has written */
    gymcore_word asleep;
    gymcore_word cpu; /* CPU on which the worker last woke up */
    double clock; /* time used by the lane that was taken last */
    double mean;  /* mean seconds of a step */
    char pad1[GYMCORE_LINE_PAIR - 40];
} gymcore_worker_slot;

/* Addresses of the parts of a channel in one process. Lanes first[k] <= lane < first[k + 1] belong to worker k. */
typedef struct {
    gymcore_doorbells *doorbells;
    gymcore_worker_slot *slots;
    double *used;            /* [num_envs] seconds used by each lane; written by its worker */
    gymcore_word *submitted; /* [num_envs] number of the lane's last submission; written by the parent */
    gymcore_word *taken;     /* [num_envs] number that was taken last; written by the worker, or the parent in its stead */
    gymcore_word64 *ring;    /* [2 * num_envs] submission << 32 | lane; the ring of worker k begins at 2 * first[k] */
    int64_t num_workers, num_envs;
    const int64_t *first; /* [num_workers + 1] */
} gymcore_channel;

GYMCORE_INLINE int64_t gymcore_channel_bytes(int64_t num_workers, int64_t num_envs)
{
    int64_t bytes = (int64_t)sizeof(gymcore_doorbells) + num_workers * (int64_t)sizeof(gymcore_worker_slot) +
                    num_envs * (int64_t)(sizeof(double) + 2 * sizeof(uint32_t) + 2 * sizeof(uint64_t));
    return (bytes + GYMCORE_LINE_PAIR - 1) / GYMCORE_LINE_PAIR * GYMCORE_LINE_PAIR;
}

GYMCORE_INLINE void gymcore_channel_place(gymcore_channel *c, char *memory)
{
    c->doorbells = (gymcore_doorbells *)memory;
    c->slots = (gymcore_worker_slot *)(c->doorbells + 1);
    c->used = (double *)(c->slots + c->num_workers);
    c->ring = (gymcore_word64 *)(c->used + c->num_envs);
    c->submitted = (gymcore_word *)(c->ring + 2 * c->num_envs);
    c->taken = c->submitted + c->num_envs;
}

/* Return the bit by which a wake-up selects a worker. Workers with the same bit wake up together. */
GYMCORE_INLINE uint32_t gymcore_bit(int64_t worker) { return (uint32_t)1 << (worker & 31); }

/* Return the number of polls before sleeping: none if the awaited peer last used the CPU of this thread. The peer needs
 * that CPU, and does not get it during polls: with polls, 64 trivial environments take 270 us instead of 30. */
GYMCORE_INLINE int64_t gymcore_polls(gymcore_word *peer_cpu, int64_t spin)
{
    uint32_t cpu = gymcore_cpu();
    return cpu && gymcore_load32(peer_cpu) == cpu ? 0 : spin;
}

/* --- doorbells ----------------------------------------------------------------------------------------------------- */

/* Publish that there is new work for a worker; return its bit if it sleeps and must be woken, else 0. */
GYMCORE_INLINE uint32_t gymcore_notify(gymcore_channel *c, int64_t worker)
{
    gymcore_increment32(&c->slots[worker].activity);
    return gymcore_load32(&c->slots[worker].asleep) ? gymcore_bit(worker) : 0;
}

GYMCORE_INLINE void gymcore_ring_workers(gymcore_channel *c, uint32_t mask)
{
    if (mask) {
        gymcore_increment32(&c->doorbells->worker_doorbell);
        gymcore_wake(&c->doorbells->worker_doorbell, mask);
    }
}

/* Wake the parent if it sleeps. Only the first of several workers makes the system call. */
GYMCORE_INLINE void gymcore_ring_parent(gymcore_channel *c)
{
    if (gymcore_load32(&c->doorbells->parent_asleep) && gymcore_swap32(&c->doorbells->parent_asleep, 0)) {
        gymcore_increment32(&c->doorbells->parent_doorbell);
        gymcore_wake(&c->doorbells->parent_doorbell, 1);
    }
}

/* --- requests: parent ---------------------------------------------------------------------------------------------- */

/* Post a request to `count` workers: those with selected[k] != 0, or all if `selected` is NULL. The countdown is written
 * first, because a worker may answer before the request has reached the next one. */
static inline void gymcore_post(
    gymcore_channel *c, uint32_t request, uint32_t operation, const uint8_t *selected, int64_t count)
{
    uint32_t mask = 0;
    gymcore_store32(&c->doorbells->parent_cpu, gymcore_cpu());
    gymcore_store64(&c->doorbells->countdown, (uint64_t)request << 32 | (uint64_t)count);
    for (int64_t k = 0; k < c->num_workers; k++)
        if (!selected || selected[k]) {
            gymcore_store64(&c->slots[k].inbox, (uint64_t)request << 32 | operation);
            mask |= gymcore_notify(c, k);
        }
    gymcore_ring_workers(c, mask);
}

GYMCORE_INLINE int gymcore_replied(gymcore_channel *c, uint32_t request)
{
    return gymcore_load64(&c->doorbells->countdown) == (uint64_t)request << 32;
}

GYMCORE_INLINE int gymcore_answered(gymcore_channel *c, int64_t worker, uint32_t request)
{
    return gymcore_load64(&c->slots[worker].answer) >> 32 == request;
}

/* Return whether `goal` lanes have completed or, if `goal` is GYMCORE_ALL_REPLIES, whether all replies have arrived. */
GYMCORE_INLINE int gymcore_arrived(gymcore_channel *c, uint32_t request, uint64_t goal)
{
    return goal == GYMCORE_ALL_REPLIES ? gymcore_replied(c, request) : gymcore_load64(&c->doorbells->completed) >= goal;
}

/* Let the parent wait for one slice; return whether the awaited results have arrived (`gymcore_arrived`). */
static inline int gymcore_await_arrival(
    gymcore_channel *c, uint32_t request, uint64_t goal, int64_t until, int64_t spin)
{
    for (int64_t k = 0; k < c->num_workers && spin > 0; k++)
        spin = gymcore_polls(&c->slots[k].cpu, spin);
    for (; spin > 0; spin--) {
        if (gymcore_arrived(c, request, goal))
            return 1;
        gymcore_pause();
    }
    uint32_t ticket = gymcore_load32(&c->doorbells->parent_doorbell);
    gymcore_store64(&c->doorbells->wake_at, goal);
    gymcore_store32(&c->doorbells->parent_asleep, 1);
    if (!gymcore_arrived(c, request, goal))
        gymcore_wait(&c->doorbells->parent_doorbell, ticket, 1, until);
    gymcore_store32(&c->doorbells->parent_asleep, 0);
    return gymcore_arrived(c, request, goal);
}

/* --- requests: worker ---------------------------------------------------------------------------------------------- */

/* Find work for a worker: return 1 for a request other than `last` (in *inbox), 2 for lanes, 0 for nothing. *activity was
 * read before: as long as the word does not change, there is no new work. */
static inline int gymcore_find_work(
    gymcore_channel *c, int64_t worker, uint32_t last, uint64_t *inbox, uint32_t *activity)
{
    *activity = gymcore_load32(&c->slots[worker].activity);
    *inbox = gymcore_load64(&c->slots[worker].inbox);
    if (*inbox >> 32 != last && *inbox >> 32 != 0)
        return 1;
    for (int64_t lane = c->first[worker]; lane < c->first[worker + 1]; lane++)
        if (gymcore_load32(&c->submitted[lane]) != gymcore_load32(&c->taken[lane]))
            return 2;
    return 0;
}

/* Let a worker wait for one slice, or until its activity word is no longer `activity`. */
static inline void gymcore_await_activity(
    gymcore_channel *c, int64_t worker, uint32_t activity, int64_t until, int64_t spin)
{
    gymcore_worker_slot *slot = &c->slots[worker];
    for (spin = gymcore_polls(&c->doorbells->parent_cpu, spin); spin > 0; spin--) {
        if (gymcore_load32(&slot->activity) != activity)
            return;
        gymcore_pause();
    }
    uint32_t ticket = gymcore_load32(&c->doorbells->worker_doorbell);
    gymcore_store32(&slot->asleep, 1);
    if (gymcore_load32(&slot->activity) == activity)
        gymcore_wait(&c->doorbells->worker_doorbell, ticket, gymcore_bit(worker), until);
    gymcore_store32(&slot->asleep, 0);
    gymcore_store32(&slot->cpu, gymcore_cpu());
}

/* Answer a request. An answer to an abandoned request does not change the countdown of the next one. */
static inline void gymcore_reply(gymcore_channel *c, int64_t worker, uint32_t request, uint32_t status)
{
    if (gymcore_answered(c, worker, request))
        return; /* a second answer is not counted */
    gymcore_store64(&c->slots[worker].answer, (uint64_t)request << 32 | status);
    uint64_t seen = gymcore_load64(&c->doorbells->countdown);
    while (seen >> 32 == request && (uint32_t)seen) {
        if (gymcore_replace64(&c->doorbells->countdown, seen, seen - 1)) {
            if ((uint32_t)seen == 1)
                gymcore_ring_parent(c);
            return;
        }
        seen = gymcore_load64(&c->doorbells->countdown);
    }
}

/* --- lanes: worker ------------------------------------------------------------------------------------------------- */

/* Take the submitted lane that has used the least time; return -1 if there is none. The time of a lane is limited to
 * MAX_MEAN_STEPS mean steps around the worker's clock, so a lane that was slow or idle for long delays no lane forever. */
static inline int64_t gymcore_take(gymcore_channel *c, int64_t worker)
{
    gymcore_worker_slot *slot = &c->slots[worker];
    const double slack = GYMCORE_MAX_MEAN_STEPS * slot->mean;
    uint32_t submission = 0;
    int64_t best = -1;
    for (int64_t lane = c->first[worker]; lane < c->first[worker + 1]; lane++) {
        uint32_t number = gymcore_load32(&c->submitted[lane]);
        if (number == gymcore_load32(&c->taken[lane]))
            continue;
        /* The limited time is stored, so that the advancing clock reaches every waiting lane. */
        if (c->used[lane] > slot->clock + slack)
            c->used[lane] = slot->clock + slack;
        else if (c->used[lane] < slot->clock - slack)
            c->used[lane] = slot->clock - slack;
        if (best < 0 || c->used[lane] < c->used[best]) {
            best = lane;
            submission = number;
        }
    }
    if (best >= 0) {
        gymcore_store32(&c->taken[best], submission);
        if (c->used[best] > slot->clock)
            slot->clock = c->used[best];
    }
    return best;
}

/* Publish that a lane is ready, after `seconds` of work; return 0 if the ring is full, which only corrupt memory can cause.
 * If the parent has given up the lane since it was taken, the parent no longer waits for the number in `taken`. */
static inline int gymcore_complete(gymcore_channel *c, int64_t worker, int64_t lane, double seconds)
{
    gymcore_worker_slot *slot = &c->slots[worker];
    uint64_t size = 2 * (uint64_t)(c->first[worker + 1] - c->first[worker]);
    uint64_t tail = slot->tail;
    if (tail - gymcore_load64(&slot->head) >= size)
        return 0;
    if (!(seconds > 1e-6)) /* or NaN; a lane whose steps cost nothing would always be first */
        seconds = 1e-6;
    c->used[lane] += seconds;
    if (!(slot->mean > 0))
        slot->mean = seconds;
    if (seconds > GYMCORE_MAX_MEAN_STEPS * slot->mean)
        seconds = GYMCORE_MAX_MEAN_STEPS * slot->mean;
    slot->mean += (seconds - slot->mean) / 32;
    gymcore_store64(
        &c->ring[2 * c->first[worker] + (int64_t)(tail % size)],
        (uint64_t)gymcore_load32(&c->taken[lane]) << 32 | (uint64_t)lane);
    gymcore_store64(&slot->tail, tail + 1);
    if (gymcore_add64(&c->doorbells->completed, 1) >= gymcore_load64(&c->doorbells->wake_at))
        gymcore_ring_parent(c);
    return 1;
}

/* --- lanes: parent ------------------------------------------------------------------------------------------------- */

/* State of the parent, which workers do not see. */
typedef struct {
    uint8_t *state;   /* [num_envs] of gymcore_lane_state */
    int64_t *queue;   /* [num_envs] ready lanes, in the order in which they were gathered */
    int64_t count;    /* number of lanes in the queue */
    int64_t submitted; /* number of lanes that are not idle */
} gymcore_parent_state;

enum gymcore_lane_state { GYMCORE_IDLE, GYMCORE_SUBMITTED, GYMCORE_READY };

/* Move lanes from the rings to the queue, except those that were given up meanwhile; return 0 if a ring is corrupt.
 * *completed is read first, so every lane that it counts is gathered. */
static inline int gymcore_gather(gymcore_channel *c, gymcore_parent_state *parent, uint64_t *completed)
{
    *completed = gymcore_load64(&c->doorbells->completed);
    for (int64_t k = 0; k < c->num_workers; k++) {
        gymcore_worker_slot *slot = &c->slots[k];
        uint64_t size = 2 * (uint64_t)(c->first[k + 1] - c->first[k]);
        uint64_t head = slot->head, tail = gymcore_load64(&slot->tail);
        if (tail == head)
            continue;
        if (tail - head > size)
            return 0;
        for (; head != tail; head++) {
            uint64_t entry = gymcore_load64(&c->ring[2 * c->first[k] + (int64_t)(head % size)]);
            int64_t lane = (int64_t)(uint32_t)entry;
            if (lane < c->first[k] || lane >= c->first[k + 1])
                return 0;
            if (parent->state[lane] == GYMCORE_SUBMITTED && c->submitted[lane] == entry >> 32) {
                parent->state[lane] = GYMCORE_READY;
                parent->queue[parent->count++] = lane;
            }
        }
        gymcore_store64(&slot->head, head);
    }
    return 1;
}

/* Submit lanes, which must be idle, and notify their workers. */
static inline void gymcore_submit(
    gymcore_channel *c, gymcore_parent_state *parent, const int64_t *lanes, int64_t count, const int32_t *owner)
{
    uint32_t mask = 0;
    gymcore_store32(&c->doorbells->parent_cpu, gymcore_cpu());
    for (int64_t i = 0; i < count; i++) {
        parent->state[lanes[i]] = GYMCORE_SUBMITTED;
        gymcore_store32(&c->submitted[lanes[i]], c->submitted[lanes[i]] + 1);
        mask |= gymcore_notify(c, owner[lanes[i]]);
    }
    parent->submitted += count;
    gymcore_ring_workers(c, mask);
}

/* Cancel the request of a lane: the worker skips it if it has not taken it yet, and the parent ignores its result. Call
 * this only after gathering the rings. */
static inline void gymcore_forget(gymcore_channel *c, gymcore_parent_state *parent, int64_t lane)
{
    if (parent->state[lane] == GYMCORE_IDLE)
        return;
    if (parent->state[lane] == GYMCORE_READY) {
        int64_t count = 0;
        for (int64_t i = 0; i < parent->count; i++)
            if (parent->queue[i] != lane)
                parent->queue[count++] = parent->queue[i];
        parent->count = count;
    }
    parent->state[lane] = GYMCORE_IDLE;
    parent->submitted--;
    /* The worker itself would write the same number, so the order of the two writes does not matter. */
    gymcore_store32(&c->taken[lane], c->submitted[lane]);
}

#endif
