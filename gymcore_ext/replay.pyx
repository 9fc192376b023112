"""ReplayMemory: a ring of records per lane, which stores its steps, and batches of transitions drawn from the records.

A record is an element of a structured array [num_envs, rows]: an observation, and the action, the reward and the flags
of the step that acted on it. The next record of the lane has the observation after that step, so each observation is
stored once. The last observation of an episode is in a record without a step, and so is the newest observation of a
lane. Records thus look the same in every autoreset mode, and no transition extends beyond a record without a step.

If observations are stacks of frames, a record has only the newest frame. The other frames of the first stack of an
episode are in preceding records without a step. So the stack of any step is in the records up to that of the step.
This module is compiled because a step of 64 CartPoles takes a microsecond; adding it with NumPy takes ten.
"""
cimport cython
cimport numpy as cnp
from libc.math cimport INFINITY, pow
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from gymcore_ext.arrays cimport ArrayRing, array_pointer, check_no_overlap, clear_if_full, has_shape, mark_busy
from gymcore_ext.engine.kernel cimport rng_double, rng_next64, rng_t
from gymcore_ext.sum_tree cimport find_leaves, update_sums

import numpy as np

cnp.import_array()


cdef extern from *:
    """
    #include "gymcore/rng.h"

    /* Return a random integer below n, and replace the 64 random bits by the remaining ones, for the next integer. */
    static inline uint64_t gymcore_take_below(uint64_t *bits, uint64_t n)
    {
    #if defined(__SIZEOF_INT128__)
        uint64_t high = (uint64_t)((unsigned __int128)*bits * n >> 64);
    #else
        uint64_t high = gymcore_multiply_high(*bits, n);
    #endif
        *bits *= n;
        return high;
    }

    /* With constants for the usual sizes, an item is copied by one instruction: 1.5 times as fast for CartPole. */
    #define GYMCORE_FOR_SIZE(bytes, work) do { \
        if ((bytes) == 16) work(16) else if ((bytes) == 8) work(8) else if ((bytes) == 4) work(4) else work(bytes) \
    } while (0)
    #define GYMCORE_SAME_ITEMS(size) \
        for (int64_t i = 0; i < n; i++) \
            same[i] &= memcmp(records[i] + offset, rows + i * stride, size) == 0;
    #define GYMCORE_ADD_ITEMS(size) \
        for (int64_t i = 0; i < n; i++) \
            memcpy(records[i] + offset, (ended[i] ? last : rows) + i * stride, size);
    #define GYMCORE_GATHER_ITEMS(size) \
        for (int64_t b = 0; b < n; b++) \
            memcpy(out + b * stride, records + slots[b] * record + offset, size);

    static inline void gymcore_same_items(
        char *const *records, int64_t offset, const char *rows, int64_t stride, int64_t bytes, int64_t n, uint8_t *same)
    {
        GYMCORE_FOR_SIZE(bytes, GYMCORE_SAME_ITEMS);
    }

    static inline void gymcore_add_items(
        char *const *records, int64_t offset, const char *rows, const char *last, const uint8_t *ended, int64_t stride,
        int64_t bytes, int64_t n)
    {
        GYMCORE_FOR_SIZE(bytes, GYMCORE_ADD_ITEMS);
    }

    static inline void gymcore_gather_items(
        const char *records, int64_t record, int64_t offset, const int64_t *slots, char *out, int64_t stride,
        int64_t bytes, int64_t n)
    {
        GYMCORE_FOR_SIZE(bytes, GYMCORE_GATHER_ITEMS);
    }
    """
    void same_items "gymcore_same_items"(
        char** records, int64_t offset, const char* rows, int64_t stride, int64_t bytes, int64_t n, uint8_t* same,
    ) noexcept nogil
    void add_items "gymcore_add_items"(
        char** records, int64_t offset, const char* rows, const char* last, const uint8_t* ended, int64_t stride,
        int64_t bytes, int64_t n) noexcept nogil
    void gather_items "gymcore_gather_items"(
        const char* records, int64_t record, int64_t offset, const int64_t* slots, char* out, int64_t stride,
        int64_t bytes, int64_t n) noexcept nogil
    uint64_t take_below "gymcore_take_below"(uint64_t* bits, uint64_t n) noexcept nogil
    void prefetch "GYMCORE_PREFETCH"(const void* address) noexcept nogil


cdef enum:
    # Flags of a record.
    TERMINATED = 1
    TRUNCATED = 2
    NO_STEP = 4      # and no other
    # States of a lane.
    UNKNOWN = 0      # its next step begins an episode
    RUNNING = 1      # its newest observation belongs to an episode that continues
    ENDED = 2        # its newest observation is the last one of an episode
    # What `add` does with a lane.
    SKIP = 0         # nothing, because the step only resets it
    CONTINUE = 1
    BEGIN = 2
    # Autoreset modes, as in engine/episodes.pxd.
    NEXT_STEP = 0
    SAME_STEP = 1

VERSION = 1
cdef double EPSILON = 1e-6   # added to priorities, so that each transition is drawn now and then


cdef struct Part:
    # An array of observations or actions.
    Py_ssize_t offset        # in a record
    Py_ssize_t bytes         # of a frame: a record has one
    Py_ssize_t frames        # of an observation
    int typenum
    const char* before       # observations before the step, or actions
    const char* after        # observations after the step
    const char* last         # the same, for lanes whose episodes ended


@cython.final
cdef class ReplayMemory:
    """Stores steps of all lanes, and draws transitions. One thread at a time may use an object.

    Args:
        steps: structured array [num_envs, rows] of records, with the fields of `parts`, `flags` (uint8), `reward`
            (float32) and, for prioritized sampling, `priority` (float32).
        lanes: structured array [1] with the rest of the state, which is kept up to date: version, stack, alpha,
            max_priority, random (uint64 [4]: a state of PCG64), heads and states (int64 [num_envs]: the number of
            records that a lane has written, and its state). Both arrays are checked, because they may be untrusted.
        parts: tuples (field, dtype, shape) for the arrays of observations, followed by those of actions.
        num_observations: number of the parts that belong to observations.
        n_steps, discount, stack, alpha, autoreset_mode: as in ReplayBuffer; the mode is a number.
        tree: zeros, float64 [twice a power of two that is at smallest `steps.size`], or None if sampling is uniform.
        errors: module of exception classes: InvalidArgument, ArgumentTypeError, ConcurrentUseError.
    """

    cdef readonly Py_ssize_t size   # transitions that can be drawn
    cdef Py_ssize_t num_envs, rows, record, n_steps, stack, num_observations, num_parts, leaves, widest, num_changed
    cdef Py_ssize_t flags_at, reward_at, priority_at
    cdef int autoreset_mode, busy
    cdef double discount, alpha, max_priority
    cdef bint prioritized
    cdef object arrays, saved, errors
    cdef list fields, shapes, outputs
    cdef dict batches
    cdef char* steps
    cdef char* spare            # a record for steps that are not stored
    cdef int64_t* heads
    cdef int64_t* states
    cdef int64_t* slots
    cdef int64_t* ready         # records of a lane before this number have all that a transition needs
    cdef int64_t* changed       # leaves
    cdef uint8_t* plan
    cdef uint8_t* ended
    cdef double* sums
    cdef char** newest          # newest record of each lane
    cdef char** acted_on        # the record before it
    cdef Part* parts
    cdef void** pointers        # arrays of the batch that is being drawn
    cdef char* saved_at[4]      # addresses to which `save` writes
    cdef rng_t rng

    def __cinit__(
        self, object steps, object lanes, tuple parts, Py_ssize_t num_observations, *, Py_ssize_t n_steps,
        double discount, Py_ssize_t stack, double alpha, int autoreset_mode, object tree, object errors,
    ):
        cdef Py_ssize_t k
        self.num_envs, self.rows = steps.shape
        self.arrays, self.saved, self.errors, self.batches = (steps, tree), lanes, errors, {}
        self.steps, self.record = <char*> cnp.PyArray_DATA(steps), steps.itemsize
        self.n_steps, self.discount, self.stack, self.alpha = n_steps, discount, stack, alpha
        self.autoreset_mode, self.prioritized = autoreset_mode, tree is not None
        self.num_observations, self.num_parts = num_observations, len(parts)
        fields = steps.dtype.fields
        self.flags_at, self.reward_at = fields["flags"][1], fields["reward"][1]
        # A step may complete all incomplete transitions of a lane, and overwrite others.
        self.heads = <int64_t*> calloc(self.num_envs * (4 + n_steps + 2 * stack + 2), sizeof(int64_t))
        self.plan = <uint8_t*> calloc(2, self.num_envs)
        self.parts = <Part*> calloc(self.num_parts + 1, sizeof(Part))
        self.pointers = <void**> calloc(self.num_parts + num_observations + 4, sizeof(void*))
        self.newest = <char**> calloc(2 * self.num_envs, sizeof(char*))
        self.spare = <char*> calloc(1, self.record)
        if not (self.heads and self.plan and self.parts and self.pointers and self.newest and self.spare):
            raise MemoryError
        self.states, self.slots = self.heads + self.num_envs, self.heads + 2 * self.num_envs
        self.ready, self.changed = self.heads + 3 * self.num_envs, self.heads + 4 * self.num_envs
        self.ended, self.acted_on = self.plan + self.num_envs, self.newest + self.num_envs
        self.fields, self.shapes, self.outputs = [], [], []
        for k, (field, dtype, shape) in enumerate(parts):
            self.parts[k].offset, self.parts[k].bytes = fields[field][1], fields[field][0].itemsize
            self.parts[k].frames = stack if k < num_observations else 1
            self.parts[k].typenum = dtype.num
            self.fields.append(field)
            self.shapes.append((self.num_envs, *shape))
            self.outputs.append((field, dtype, shape))
        self.outputs += [("rewards", np.dtype(np.float32), ()), ("discounts", np.dtype(np.float32), ())]
        self.outputs += [(f"next_{field}", dtype, shape) for field, dtype, shape in parts[:num_observations]]
        self.outputs += [("weights", np.dtype(np.float32), ()), ("indices", np.dtype(np.int64), ())]
        if self.prioritized:
            self.sums, self.leaves = <double*> cnp.PyArray_DATA(tree), tree.size // 2
            self.priority_at = fields["priority"][1]
        self.load(lanes[0])

    def __dealloc__(self):
        free(self.heads)
        free(self.plan)
        free(self.parts)
        free(self.pointers)
        free(self.newest)
        free(self.spare)

    # --- records of a lane -------------------------------------------------------------------------------------------

    cdef inline Py_ssize_t slot_of(self, Py_ssize_t lane, int64_t number) noexcept nogil:
        """Return the slot of the record with this number, which must be in the ring."""
        cdef Py_ssize_t slot = self.slots[lane] - (self.heads[lane] - 1 - number)
        return slot + self.rows if slot < 0 else slot

    cdef inline int64_t oldest(self, Py_ssize_t lane) noexcept nogil:
        """Return the number of the oldest record whose whole stack is in the ring."""
        return max(self.heads[lane] - self.rows, 0) + self.stack - 1

    cdef inline char* at(self, Py_ssize_t lane, Py_ssize_t slot) noexcept nogil:
        return self.steps + (lane * self.rows + slot) * self.record

    cdef inline bint has_step(self, Py_ssize_t lane, Py_ssize_t slot) noexcept nogil:
        return (<uint8_t*> self.at(lane, slot))[self.flags_at] != NO_STEP

    cdef inline void set_priority(self, Py_ssize_t lane, Py_ssize_t slot, float priority) noexcept nogil:
        cdef Py_ssize_t leaf = lane * self.rows + slot
        self.sums[self.leaves + leaf] = priority
        memcpy(self.steps + leaf * self.record + self.priority_at, &priority, sizeof(float))
        self.changed[self.num_changed] = leaf
        self.num_changed += 1

    cdef inline void make_available(self, Py_ssize_t lane, int64_t end) noexcept nogil:
        """Make the transitions before record `end`, which are complete now, available for sampling."""
        cdef int64_t number
        cdef Py_ssize_t slot
        for number in range(max(self.ready[lane], self.oldest(lane)), end):
            slot = self.slot_of(lane, number)
            if self.has_step(lane, slot):
                self.size += 1
                if self.prioritized:
                    self.set_priority(lane, slot, <float> self.max_priority)
        if end > self.ready[lane]:
            self.ready[lane] = end

    cdef inline int new_record(self, Py_ssize_t lane, char* first) noexcept nogil:
        """Begin a record, which has no step yet, and return how many transitions it makes unavailable: 0 or 1.

        `first` is the first record in the memory of the lane.
        """
        cdef int lost = 0
        cdef int64_t head = self.heads[lane]
        cdef Py_ssize_t slot = self.slots[lane] + 1, withdrawn
        if slot == self.rows:
            slot = 0
        if head >= self.rows and head - self.rows + self.stack - 1 < self.ready[lane]:
            withdrawn = slot + self.stack - 1
            if withdrawn >= self.rows:
                withdrawn -= self.rows
            if (<uint8_t*> first)[withdrawn * self.record + self.flags_at] != NO_STEP:
                lost = 1
                if self.prioritized:
                    self.set_priority(lane, withdrawn, 0)
        self.heads[lane] = head + 1
        self.slots[lane] = slot
        self.newest[lane] = first = first + slot * self.record
        first[self.flags_at] = NO_STEP
        return lost

    # --- adding ------------------------------------------------------------------------------------------------------

    cdef const char* read(
        self, list holders, object array, int typenum, tuple shape, str prefix, str name,
    ) except NULL:
        """Return the address of an array, or of a converted copy, which is appended to `holders` to keep it alive."""
        if isinstance(array, cnp.ndarray) and cnp.PyArray_TYPE(<cnp.ndarray> array) == typenum:
            if cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> array) and has_shape(<cnp.ndarray> array, shape):
                return <const char*> cnp.PyArray_DATA(<cnp.ndarray> array)
        dtype = cnp.PyArray_DescrFromType(typenum)
        given = np.asarray(array)
        if given.shape != shape or not np.can_cast(given.dtype, dtype, "same_kind"):
            raise self.errors.InvalidArgument(
                f"{prefix}{name}: expected {dtype} array of shape {shape}, got {given.dtype} {given.shape}")
        given = np.require(given, dtype, "CA")
        holders.append(given)
        return <const char*> cnp.PyArray_DATA(<cnp.ndarray> given)

    def add(
        self, tuple observations not None, tuple actions not None, tuple next_observations not None, rewards,
        terminated, truncated, infos, batch, finals,
    ):
        """Store a step of all lanes.

        Args:
            observations, actions, next_observations: arrays [num_envs, ...].
            rewards, terminated, truncated: arrays [num_envs].
            infos: infos of the step.
            batch: next observations as the environment returned them.
            finals: function that is called with infos, batch, terminated and truncated if a step ended an episode in
                same-step mode. It returns arrays like `next_observations`, with the last observations of these lanes.
        """
        cdef Py_ssize_t k, i
        cdef list holders = []
        cdef bint any_ended = False
        cdef Part* part
        cdef tuple shape = (self.num_envs,), last
        cdef const double* reward = <const double*> self.read(
            holders, rewards, cnp.NPY_FLOAT64, shape, "", "rewards")
        cdef const uint8_t* terminations = <const uint8_t*> self.read(
            holders, terminated, cnp.NPY_BOOL, shape, "", "terminated")
        cdef const uint8_t* truncations = <const uint8_t*> self.read(
            holders, truncated, cnp.NPY_BOOL, shape, "", "truncated")
        mark_busy(&self.busy, "this replay buffer is being used", self.errors)
        try:
            for i in range(self.num_envs):
                self.ended[i] = terminations[i] | truncations[i]
                any_ended |= self.ended[i]
            last = next_observations
            if any_ended and self.autoreset_mode == SAME_STEP:
                last = finals(infos, batch, terminated, truncated)
            for k in range(self.num_parts):
                part, name, shape = self.parts + k, self.fields[k], self.shapes[k]
                if k < self.num_observations:
                    part.before = self.read(holders, observations[k], part.typenum, shape, "", name)
                    part.after = self.read(holders, next_observations[k], part.typenum, shape, "next_", name)
                    part.last = part.after
                    if last is not next_observations:
                        part.last = self.read(holders, last[k], part.typenum, shape, "final_", name)
                else:
                    array = actions[k - self.num_observations]
                    part.before = part.last = self.read(holders, array, part.typenum, shape, "", name)
            with nogil:
                i = self.make_plan()
                if i < 0:
                    self.write(reward, terminations, truncations)
            if i >= 0:
                raise self.errors.InvalidArgument(
                    f"next_observations[{i}]: expected all frames of observations[{i}] but the first, and one more; "
                    f"these are not stacks of {self.stack} frames")
        finally:
            self.busy = 0

    cdef Py_ssize_t make_plan(self) noexcept nogil:
        """Decide what to do with each lane. Return a lane whose observations are not stacks of frames, or -1."""
        cdef Py_ssize_t i, k, f, bytes, n = self.num_envs
        cdef uint8_t* same = self.plan   # whether the step acted on the newest observation; then the plan
        cdef int64_t skipped_state = ENDED if self.autoreset_mode == NEXT_STEP else -1
        cdef Part* part
        cdef const char* other
        for i in range(n):
            same[i] = (self.states[i] == RUNNING) | (self.states[i] == skipped_state)
        for k in range(self.num_observations):
            part = self.parts + k
            bytes = part.bytes * part.frames
            same_items(self.newest, part.offset, part.before + bytes - part.bytes, bytes, part.bytes, n, same)
            for i in range(n if self.stack > 1 else 0):
                for f in range(self.stack - 1 if same[i] else 0):
                    other = self.at(i, self.slot_of(i, self.heads[i] - self.stack + f)) + part.offset
                    same[i] &= memcmp(part.before + i * bytes + f * part.bytes, other, part.bytes) == 0
        for i in range(n):
            self.plan[i] = BEGIN if not same[i] else CONTINUE if self.states[i] == RUNNING else SKIP
        for k in range(self.num_observations if self.stack > 1 else 0):
            part = self.parts + k
            bytes = part.bytes * part.frames
            for i in range(n):
                other = (part.last if self.ended[i] else part.after) + i * bytes
                if self.plan[i] != SKIP and memcmp(part.before + i * bytes + part.bytes, other, bytes - part.bytes):
                    return i
        return -1

    cdef void begin(self, Py_ssize_t lane) noexcept nogil:
        """Begin an episode with the observation that the step acted on."""
        cdef Py_ssize_t k, f
        cdef Part* part
        self.make_available(lane, self.heads[lane] - 1)
        for f in range(self.stack):
            self.size -= self.new_record(lane, self.at(lane, 0))
            for k in range(self.num_observations):
                part = self.parts + k
                memcpy(
                    self.newest[lane] + part.offset, part.before + (lane * part.frames + f) * part.bytes, part.bytes)
        self.ready[lane] = self.heads[lane] - 1

    cdef void write(self, const double* rewards, const uint8_t* terminated, const uint8_t* truncated) noexcept nogil:
        """Write the records of a step."""
        cdef Py_ssize_t i, k, skipped, n = self.num_envs
        cdef Py_ssize_t change = 0   # of `size`; updating `size` itself would slow down the loop
        cdef int64_t widest = 0
        cdef Part* part
        cdef char* first = self.steps
        cdef char* record
        cdef float reward
        self.num_changed = 0
        for i in range(n):
            if self.plan[i] == SKIP:
                self.states[i] = UNKNOWN
                self.acted_on[i] = self.newest[i] = self.spare
            else:
                if self.plan[i] == BEGIN:
                    self.begin(i)
                record = self.acted_on[i] = self.newest[i]
                reward = <float> rewards[i]
                memcpy(record + self.reward_at, &reward, sizeof(float))
                record[self.flags_at] = terminated[i] | truncated[i] << 1
                change -= self.new_record(i, first)
                prefetch(self.newest[i] + self.record)  # for the next step
                self.states[i] = ENDED if self.ended[i] else RUNNING
                if self.n_steps == 1:  # a faster form of the general case below
                    self.ready[i] = self.heads[i] - 1
                    change += 1
                    if self.prioritized:
                        self.set_priority(i, (record - first) // self.record, <float> self.max_priority)
                else:
                    self.make_available(i, self.heads[i] - (1 if self.ended[i] else self.n_steps))
            widest = max(widest, self.ready[i] - max(self.heads[i] - self.rows, 0))
            first += self.rows * self.record
        self.size += change
        self.widest = widest - self.stack + 1
        for k in range(self.num_parts):
            part = self.parts + k
            if k < self.num_observations:
                skipped = (part.frames - 1) * part.bytes
                add_items(self.newest, part.offset, part.after + skipped, part.last + skipped, self.ended,
                          part.bytes + skipped, part.bytes, n)
            else:
                add_items(self.acted_on, part.offset, part.before, part.last, self.ended, part.bytes, part.bytes, n)
        if self.prioritized:
            update_sums(self.sums, self.leaves, self.changed, self.num_changed)
        self.save()

    # --- sampling ----------------------------------------------------------------------------------------------------

    def sample(self, Py_ssize_t batch_size, double beta, tuple out):
        """Draw transitions, with replacement, and return a list of arrays [batch_size, ...].

        The list has the arrays of observations, of actions, rewards, discounts, the arrays of next observations,
        weights and indices. They are those of `out`, or arrays that are recycled only if nobody refers to them.
        """
        cdef Py_ssize_t k
        cdef ArrayRing ring
        cdef int64_t[:, ::1] slots
        cdef double[::1] targets
        cdef list arrays = [], named = []
        mark_busy(&self.busy, "this replay buffer is being used", self.errors)
        try:
            if self.size == 0:
                raise self.errors.InvalidArgument(f"batch_size: no transition is complete yet, got {batch_size}")
            if out is not None and len(out) != len(self.outputs):
                raise self.errors.InvalidArgument(f"out: expected {len(self.outputs)} arrays, got {len(out)}")
            if batch_size not in self.batches:
                clear_if_full(self.batches)
                self.batches[batch_size] = (
                    [ArrayRing((batch_size, *shape), dtype) for _, dtype, shape in self.outputs],
                    np.empty((2, batch_size), np.int64), np.empty(batch_size))
            rings, slots, targets = self.batches[batch_size]
            for k in range(len(self.outputs)):
                ring = <ArrayRing> rings[k]
                if out is None:
                    arrays.append(ring.take(&self.pointers[k]))
                else:
                    self.pointers[k] = array_pointer(
                        out[k], self.outputs[k][0], ring.typenum, ring.shape, True, self.errors)
                    named.append((self.outputs[k][0], out[k]))
            check_no_overlap(named, self.errors)
            with nogil:
                self.draw(batch_size, &slots[0, 0], &targets[0], beta)
                self.gather(batch_size, &slots[0, 0], &slots[1, 0])
                self.save()
        finally:
            self.busy = 0
        return arrays

    cdef inline int64_t any_record(self, int64_t* index) noexcept nogil:
        """Draw a record at which a transition may begin. Return its slot, and write its index."""
        cdef uint64_t bits
        cdef Py_ssize_t lane
        cdef int64_t number
        while True:
            bits = rng_next64(&self.rng)
            lane = take_below(&bits, self.num_envs)
            number = self.oldest(lane) + <int64_t> take_below(&bits, self.widest)
            if number < self.ready[lane]:
                index[0] = number * self.num_envs + lane
                return lane * self.rows + self.slot_of(lane, number)

    cdef void draw(self, Py_ssize_t count, int64_t* drawn, double* targets, double beta) noexcept nogil:
        """Draw transitions. Write their slots (lane * rows + slot) to `drawn`, and indices and weights to the batch."""
        cdef Py_ssize_t b, lane, rewards = self.num_parts
        cdef float* weights = <float*> self.pointers[rewards + 2 + self.num_observations]
        cdef int64_t* indices = <int64_t*> self.pointers[rewards + 3 + self.num_observations]
        cdef int64_t age
        cdef double smallest = INFINITY
        if not self.prioritized:
            for b in range(count):
                drawn[b] = self.any_record(indices + b)
                prefetch(self.steps + drawn[b] * self.record)
                prefetch(self.steps + (drawn[b] + 1) * self.record)
                weights[b] = 1
            for b in range(count):
                # Draw again for records without a step, of which episodes have few.
                while (<uint8_t*> self.steps)[drawn[b] * self.record + self.flags_at] == NO_STEP:
                    drawn[b] = self.any_record(indices + b)
            return
        # Draw one from each of `count` ranges of equal weight (Schaul et al. 2016, appendix B.2.1).
        for b in range(count):
            targets[b] = (b + rng_double(&self.rng)) / count * self.sums[1]
        find_leaves(self.sums, self.leaves, targets, drawn, count)
        for b in range(count):
            prefetch(self.steps + drawn[b] * self.record)
            prefetch(self.steps + (drawn[b] + 1) * self.record)
            lane = drawn[b] // self.rows
            age = self.slots[lane] - drawn[b] % self.rows
            indices[b] = (self.heads[lane] - 1 - (age + self.rows if age < 0 else age)) * self.num_envs + lane
            targets[b] = self.sums[self.leaves + drawn[b]]
            smallest = min(smallest, targets[b])
        for b in range(count):
            weights[b] = <float> pow(targets[b] / smallest, -beta)

    cdef void gather(self, Py_ssize_t count, int64_t* drawn, int64_t* drawn_next) noexcept nogil:
        """Write the transitions that begin at the slots `drawn` to the batch."""
        cdef Py_ssize_t b, k, j, slot
        cdef float* rewards = <float*> self.pointers[self.num_parts]
        cdef float* discounts = <float*> self.pointers[self.num_parts + 1]
        cdef const char* lane
        cdef const char* record
        cdef double total, factor
        cdef float reward
        for b in range(count):
            slot = drawn[b] % self.rows
            lane = self.steps + (drawn[b] - slot) * self.record
            record = lane + slot * self.record
            total, factor = 0, 1
            for _ in range(self.n_steps):
                memcpy(&reward, record + self.reward_at, sizeof(float))
                total += factor * reward
                factor *= 0 if record[self.flags_at] & TERMINATED else self.discount
                slot = 0 if slot + 1 == self.rows else slot + 1
                record = lane + slot * self.record
                if <uint8_t> record[self.flags_at] == NO_STEP:
                    break
            rewards[b], discounts[b] = <float> total, <float> factor
            drawn_next[b] = drawn[b] - drawn[b] % self.rows + slot
        for k in range(self.num_parts + self.num_observations):
            j = k if k < self.num_parts else k - self.num_parts
            self.gather_part(
                self.parts + j, <char*> self.pointers[k if j == k else k + 2], count, drawn if j == k else drawn_next)

    cdef void gather_part(self, const Part* part, char* out, Py_ssize_t count, int64_t* drawn) noexcept nogil:
        """Write the stacks of frames that end at the slots `drawn` to `out`."""
        cdef Py_ssize_t b, f, slot
        if part.frames == 1:
            gather_items(self.steps, self.record, part.offset, drawn, out, part.bytes, part.bytes, count)
            return
        for b in range(count):
            for f in range(part.frames - 1, -1, -1):
                slot = drawn[b] - f + (self.rows if drawn[b] % self.rows < f else 0)
                memcpy(out, self.steps + slot * self.record + part.offset, part.bytes)
                out += part.bytes

    def update_priorities(self, indices, priorities):
        """Set the priorities of transitions [n]. Transitions that have been overwritten meanwhile are skipped."""
        cdef Py_ssize_t k, lane, slot, live = 0, count = np.asarray(indices).size
        cdef list holders = []
        cdef tuple shape = (count,)
        cdef const int64_t* index = <const int64_t*> self.read(
            holders, indices, cnp.NPY_INT64, shape, "", "indices")
        cdef const double* priority = <const double*> self.read(
            holders, priorities, cnp.NPY_FLOAT64, shape, "", "priorities")
        cdef int64_t[::1] nodes = np.empty(count + 1, np.int64)
        cdef int64_t number
        cdef float value
        mark_busy(&self.busy, "this replay buffer is being used", self.errors)
        try:
            for k in range(count):
                if not 0 <= priority[k] <= 3e38:
                    raise self.errors.InvalidArgument(f"priorities[{k}]: expected 0 to 3e38, got {priority[k]}")
                number, lane = index[k] // self.num_envs, index[k] % self.num_envs
                if index[k] < 0 or number >= self.ready[lane] or (
                        number >= self.oldest(lane) and not self.has_step(lane, self.slot_of(lane, number))):
                    raise self.errors.InvalidArgument(f"indices[{k}]: expected that of a transition, got {index[k]}")
            for k in range(count):
                number, lane = index[k] // self.num_envs, index[k] % self.num_envs
                if number >= self.oldest(lane):
                    slot = lane * self.rows + self.slot_of(lane, number)
                    value = <float> pow(priority[k] + EPSILON, self.alpha)
                    self.max_priority = max(self.max_priority, value)
                    self.sums[self.leaves + slot] = value
                    memcpy(self.steps + slot * self.record + self.priority_at, &value, sizeof(float))
                    nodes[live] = slot
                    live += 1
            update_sums(self.sums, self.leaves, &nodes[0], live)
            self.save()
        finally:
            self.busy = 0

    # --- state -------------------------------------------------------------------------------------------------------

    cdef void save(self) noexcept nogil:
        """Write the state that `load` reads."""
        memcpy(self.saved_at[0], &self.max_priority, sizeof(double))
        memcpy(self.saved_at[1], &self.rng, 4 * sizeof(uint64_t))
        memcpy(self.saved_at[2], self.heads, self.num_envs * sizeof(int64_t))
        memcpy(self.saved_at[3], self.states, self.num_envs * sizeof(int64_t))

    cdef int load(self, object saved) except -1:
        """Check the state in the arrays, and continue with it."""
        cdef Py_ssize_t i, k, gap
        cdef int64_t number, end, head
        cdef uint8_t flags, before
        cdef float priority = 1
        cdef bint good
        for k, name in enumerate(("max_priority", "random", "heads", "states")):
            self.saved_at[k] = <char*> cnp.PyArray_DATA(self.saved) + <Py_ssize_t> self.saved.dtype.fields[name][1]
        self.max_priority, random = saved["max_priority"], saved["random"].tolist()
        self.rng.state_high, self.rng.state_low, self.rng.increment_high, self.rng.increment_low = random
        for i in range(self.num_envs):
            self.heads[i], self.states[i] = saved["heads"][i], saved["states"][i]
        if (saved["version"] != VERSION or saved["stack"] != self.stack or saved["alpha"] != self.alpha
                or not 0 < self.max_priority < INFINITY or random[3] % 2 == 0):
            raise self.errors.InvalidArgument(
                f"path: expected version {VERSION}, stack {self.stack}, alpha {self.alpha}, a positive priority and "
                f"the state of a generator, got {saved}")
        for i in range(self.num_envs):
            head = end = self.heads[i]
            good = 0 <= head < (<int64_t> 1 << 62) // self.num_envs and (
                UNKNOWN <= self.states[i] <= (ENDED if head else UNKNOWN))
            gap = self.stack if head > self.rows else 0   # records without a step so far
            before = NO_STEP
            for number in range(max(head - self.rows, 0), head if good else 0):
                flags = (<uint8_t*> self.at(i, number % self.rows))[self.flags_at]
                # Episodes begin with a stack of frames. They, and all records of a lane, end with one without a step.
                good &= flags <= NO_STEP and (flags == NO_STEP or number < head - 1 and (
                    before == 0 or before == NO_STEP and gap >= self.stack - 1))
                gap, before = gap + 1 if flags == NO_STEP else 0, flags
            if good and head:
                self.slots[i] = (head - 1) % self.rows
                # If the episode continues, go back to the first step that still lacks later steps for its transition.
                end = head - 1
                while self.states[i] == RUNNING and end > max(head - self.n_steps, 0):
                    if not self.has_step(i, (end - 1) % self.rows):
                        break
                    end -= 1
                self.ready[i] = end
                self.widest = max(self.widest, end - self.oldest(i))
                for number in range(self.oldest(i), end):
                    k = number % self.rows
                    if self.has_step(i, k):
                        self.size += 1
                        if self.prioritized:
                            memcpy(&priority, self.at(i, k) + self.priority_at, sizeof(float))
                            good &= 0 < priority < INFINITY
                            self.sums[self.leaves + i * self.rows + k] = priority
            else:
                self.slots[i] = -1
            if not good:
                raise self.errors.InvalidArgument(
                    f"path: expected the flags and priorities that lane {i} can have after {head} records")
            self.newest[i] = self.at(i, self.slots[i]) if head else self.spare
        for k in range(self.leaves - 1, 0, -1):
            self.sums[k] = self.sums[2 * k] + self.sums[2 * k + 1]
        return 0
