"""ReplayMemory: the steps of all lanes in one ring of records, and batches of transitions that are drawn from them.

A record is an element of a structured array: an observation, and the action and the reward of the step that acted on
it. The record of the observation after that step is `next` records further on, which is negative if the step
terminated the episode, and 0 if there is no step, as in the last record of an episode. Each observation is thus stored
once, episodes look the same in every autoreset mode, and the records of a step lie next to each other.

If observations are stacks of frames, a record has one frame. The first stack of an episode takes as many records, each
followed by the next one. A transition begins at the record of its oldest frame, and everything else that it needs is in
records that follow.

This module is compiled because a step of 64 CartPoles takes a microsecond; adding it with NumPy takes ten.
"""
cimport cython
cimport numpy as cnp
from libc.math cimport INFINITY, powf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, llabs
from libc.string cimport memcmp, memcpy

from gymcore_ext.arrays cimport ArrayRing, array_pointer, check_no_overlap, clear_if_full, mark_busy
from gymcore_ext.engine.kernel cimport rng_double, rng_t
from gymcore_ext.sum_tree cimport find_leaves, level_width, sum_of, tree_size, update_all_sums, update_sums

import numpy as np

cnp.import_array()


cdef extern from *:
    """
    #include "gymcore/platform.h"

    /* Copies and comparisons of the usual sizes are one instruction, which halves the time of adding CartPoles. */
    static inline void gymcore_copy_item(char *to, const char *from, int64_t bytes)
    {
        if (bytes == 16) memcpy(to, from, 16);
        else if (bytes == 8) memcpy(to, from, 8);
        else memcpy(to, from, bytes);
    }

    static inline int gymcore_same_item(const char *item, const char *other, int64_t bytes)
    {
        return bytes == 16 ? !memcmp(item, other, 16) : !memcmp(item, other, bytes);
    }
    """
    void copy_item "gymcore_copy_item"(char* to, const char* source, int64_t bytes) noexcept nogil
    bint same_item "gymcore_same_item"(const char* item, const char* other, int64_t bytes) noexcept nogil
    void prefetch "GYMCORE_PREFETCH"(const void* address) noexcept nogil


cdef enum:
    # States of a lane.
    UNKNOWN = 0      # its next step begins an episode
    RUNNING = 1      # its newest observation belongs to an episode that continues
    ENDED = 2        # its newest observation is the last one of an episode
    # Autoreset modes, as in engine/episodes.pxd.
    NEXT_STEP = 0
    SAME_STEP = 1

VERSION = 1
cdef float EPSILON = 1e-6   # added to priorities, so that each transition is drawn now and then


cdef struct Part:
    # An array of observations or actions.
    Py_ssize_t offset        # position in a record
    Py_ssize_t bytes         # size of a frame, of which a record has one
    Py_ssize_t frames        # number of frames of an observation
    const char* before       # observations before the step, or actions
    const char* after        # observations after the step
    const char* last         # the same, for lanes whose episodes ended


cdef struct Ring:
    char* records
    int64_t record           # bytes
    int64_t capacity
    int64_t reward_at
    int64_t next_at


# Functions take the ring by value: the compiler then knows that storing a record does not change it.

cdef inline char* at(Ring ring, int64_t slot) noexcept nogil:
    return ring.records + slot * ring.record


cdef inline int32_t* next_of(Ring ring, int64_t slot) noexcept nogil:
    """Return the field `next` of a record."""
    return <int32_t*> (at(ring, slot) + ring.next_at)


cdef inline float* reward_of(Ring ring, int64_t slot) noexcept nogil:
    return <float*> (at(ring, slot) + ring.reward_at)


cdef inline int64_t advance(Ring ring, int64_t slot, int64_t distance) noexcept nogil:
    """Return the slot `abs(distance)` records after `slot`, or 0 if another process wrote an invalid distance."""
    slot += llabs(distance)
    if slot >= ring.capacity:
        slot -= ring.capacity
    return slot if slot < ring.capacity else 0


cdef inline int64_t following(Ring ring, int64_t slot) noexcept nogil:
    """Return the slot of the record after this one in the ring."""
    return slot + 1 if slot + 1 < ring.capacity else 0


cdef inline int64_t after(Ring ring, int64_t slot) noexcept nogil:
    """Return the slot of the record with the next observation, or the same one if there is none."""
    return advance(ring, slot, next_of(ring, slot)[0])


cdef struct Lane:
    int64_t state
    int64_t window           # slot of the oldest frame of the newest observation
    int64_t newest           # slot of the newest frame
    int64_t acted_on         # slot of the newest frame before the step
    int64_t pending          # slot at which the oldest transition with missing steps begins
    int64_t num_pending      # number of steps from that slot on


@cython.final
cdef class ReplayMemory:
    """Stores steps of all lanes, and draws transitions. One thread at a time may use an object.

    Args:
        records: structured array [capacity], with the fields of `parts`, `reward` (float32) and `next` (int32).
        saved: structured array [1] with the rest of the state, which is kept up to date: version, stack, alpha,
            max_priority, random (uint64 [4]: a state of PCG64), head (the number of records written so far), windows
            and states (int64 [num_envs]) and tree (float64 [priority_tree_size(capacity)], or empty). Both arrays are
            checked, because they may be untrusted, and no index is used that is out of bounds, even if they change.
        parts: tuples (field, dtype, shape) for the arrays of observations, followed by those of actions.
        num_observations: number of the parts that belong to observations.
        num_envs, n_steps, discount, stack, alpha, autoreset_mode: as ReplayBuffer has them; the mode as a number. The
            capacity is at least `num_envs * (1 + stack) * (n_steps + stack)`, so that no record is overwritten before
            its transition is complete: a step begins an episode, of `1 + stack` records, in every lane at most.
        prioritized: whether there is a tree.
        single: whether observations and actions are one array each.
        errors: module of exception classes: InvalidArgument, ArgumentTypeError, ConcurrentUseError.
    """

    cdef readonly Py_ssize_t num_transitions   # how many transitions can be drawn
    cdef Py_ssize_t num_envs, filled, n_steps, stack, num_observations, num_parts, num_changed
    cdef int64_t head               # records written so far
    cdef int64_t slot               # where the next record goes
    cdef int autoreset_mode, busy
    cdef double discount, max_priority
    cdef float alpha
    cdef bint prioritized, single
    cdef object arrays, errors, rewards_like, flags_like
    cdef list prototypes, outputs
    cdef dict batches
    cdef Ring ring
    cdef uint8_t* ready             # whether a transition that can be drawn begins at a record
    cdef uint8_t* ended
    cdef int32_t* plan              # records of a step: 0 if it only resets the lane, 1 + stack if it begins an episode
    cdef int64_t* changed           # leaves
    cdef double* tree
    cdef Lane* lanes
    cdef Part* parts
    cdef void** pointers            # arrays of the batch that is being drawn
    cdef char* saved_at[5]          # addresses to which `save` writes
    cdef rng_t rng

    def __cinit__(
        self, object records, object saved, tuple parts, Py_ssize_t num_observations, *, Py_ssize_t num_envs,
        Py_ssize_t n_steps, double discount, Py_ssize_t stack, double alpha, int autoreset_mode, bint prioritized,
        bint single, object errors,
    ):
        cdef Py_ssize_t k
        self.arrays, self.errors, self.batches = (records, saved), errors, {}
        fields = records.dtype.fields
        self.ring = Ring(
            <char*> cnp.PyArray_DATA(records), records.itemsize, len(records), fields["reward"][1], fields["next"][1])
        self.num_envs, self.n_steps, self.stack, self.discount = num_envs, n_steps, stack, discount
        self.alpha, self.autoreset_mode, self.prioritized, self.single = alpha, autoreset_mode, prioritized, single
        self.num_observations, self.num_parts = num_observations, len(parts)
        self.ready = <uint8_t*> calloc(self.ring.capacity + num_envs, 1)
        self.plan = <int32_t*> calloc(num_envs, sizeof(int32_t))
        self.changed = <int64_t*> calloc(num_envs * (1 + stack + 2 * n_steps), sizeof(int64_t))
        self.lanes = <Lane*> calloc(num_envs, sizeof(Lane))
        self.parts = <Part*> calloc(self.num_parts + 1, sizeof(Part))
        self.pointers = <void**> calloc(self.num_parts + num_observations + 4, sizeof(void*))
        if not (self.ready and self.plan and self.changed and self.lanes and self.parts and self.pointers):
            raise MemoryError
        self.ended = self.ready + self.ring.capacity
        self.rewards_like = prototype(np.dtype(np.float64), num_envs)
        self.flags_like = prototype(np.dtype(np.bool_), num_envs)
        self.prototypes, self.outputs = [], list(parts)
        for k, (field, dtype, shape) in enumerate(parts):
            self.parts[k].offset, self.parts[k].bytes = fields[field][1], fields[field][0].itemsize
            self.parts[k].frames = stack if k < num_observations else 1
            self.prototypes.append((field, prototype(dtype, num_envs, shape)))
        self.outputs += [("rewards", np.dtype(np.float32), ()), ("discounts", np.dtype(np.float32), ())]
        self.outputs += [(f"next_{field}", dtype, shape) for field, dtype, shape in parts[:num_observations]]
        self.outputs += [("weights", np.dtype(np.float32), ()), ("indices", np.dtype(np.int64), ())]
        if prioritized:
            self.tree = <double*> cnp.PyArray_DATA(saved["tree"])
        for k, name in enumerate(("max_priority", "random", "head", "windows", "states")):
            self.saved_at[k] = <char*> cnp.PyArray_DATA(saved) + <Py_ssize_t> saved.dtype.fields[name][1]
        self.load(saved[0], alpha)

    def __dealloc__(self):
        free(self.ready)
        free(self.plan)
        free(self.changed)
        free(self.lanes)
        free(self.parts)
        free(self.pointers)

    # --- records -----------------------------------------------------------------------------------------------------

    cdef inline void set_priority(self, int64_t slot, double priority) noexcept nogil:
        self.tree[slot] = priority
        self.changed[self.num_changed] = slot
        self.num_changed += 1

    cdef inline Py_ssize_t complete(self, Ring ring, Lane* lane, Py_ssize_t num_steps) noexcept nogil:
        """Complete the transitions of a lane that have so many steps; return how many can now be drawn."""
        cdef Py_ssize_t completed = 0
        cdef int64_t pending = lane.pending, num_pending = lane.num_pending
        cdef uint8_t* ready = self.ready
        while num_pending >= num_steps:
            completed += not ready[pending]
            ready[pending] = 1
            if self.prioritized:
                self.set_priority(pending, self.max_priority)
            num_pending -= 1
            pending = after(ring, pending) if num_pending else lane.window
        lane.pending, lane.num_pending = pending, num_pending
        return completed

    # --- adding ------------------------------------------------------------------------------------------------------

    cdef const char* read(self, list holders, object array, cnp.ndarray prototype, str prefix, str name) except NULL:
        """Return the address of an array, or of a converted copy, which is appended to `holders` to keep it alive."""
        if (isinstance(array, cnp.ndarray) and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> array)
                and cnp.PyArray_TYPE(<cnp.ndarray> array) == cnp.PyArray_TYPE(prototype)
                and cnp.PyArray_SAMESHAPE(<cnp.ndarray> array, prototype)):
            return <const char*> cnp.PyArray_DATA(<cnp.ndarray> array)
        given, shape = np.asarray(array), (<object> prototype).shape
        if given.shape != shape or not np.can_cast(given.dtype, prototype.dtype, "same_kind"):
            raise self.errors.InvalidArgument(
                f"{prefix}{name}: expected {prototype.dtype} array of shape {shape}, got {given.dtype} {given.shape}")
        given = np.require(given, prototype.dtype, "CA")
        holders.append(given)
        return <const char*> cnp.PyArray_DATA(<cnp.ndarray> given)

    def add(
        self, observations, actions, next_observations, rewards, terminated, truncated, infos, batch, buffer,
    ):
        """Store a step of all lanes.

        Args:
            observations, actions, next_observations: tuples of arrays [num_envs, ...]; the array itself if
                `single`.
            rewards, terminated, truncated: arrays [num_envs].
            infos: infos of the step.
            batch: next observations as the environment returned them.
            buffer: object whose `_final_observations` is called with infos, batch, terminated and truncated if a step
                ended an episode in same-step mode. It returns `next_observations` with the last
                observations of these lanes. Binding the method for every call would take a twentieth of the time.
        """
        cdef Py_ssize_t k, i
        cdef list holders = []
        cdef bint single = self.single
        cdef uint8_t any_ended = 0
        cdef uint8_t* ended = self.ended
        cdef Part* part
        cdef const double* reward = <const double*> self.read(holders, rewards, self.rewards_like, "", "rewards")
        cdef const uint8_t* terminations = <const uint8_t*> self.read(
            holders, terminated, self.flags_like, "", "terminated")
        cdef const uint8_t* truncations = <const uint8_t*> self.read(
            holders, truncated, self.flags_like, "", "truncated")
        mark_busy(&self.busy, "this replay buffer is being used", self.errors)
        try:
            for i in range(self.num_envs):
                ended[i] = terminations[i] | truncations[i]
                any_ended |= ended[i]
            last = next_observations
            if any_ended and self.autoreset_mode == SAME_STEP:
                last = (<dict> infos).get("final_obs") if single and type(infos) is dict else None
                if not isinstance(last, cnp.ndarray) or cnp.PyArray_TYPE(<cnp.ndarray> last) == cnp.NPY_OBJECT:
                    last = buffer._final_observations(infos, batch, terminated, truncated)
            for k in range(self.num_parts):
                part, (name, prototype) = self.parts + k, self.prototypes[k]
                if k < self.num_observations:
                    part.before = self.read(holders, observations if single else observations[k], prototype, "", name)
                    part.after = part.last = self.read(
                        holders, next_observations if single else next_observations[k], prototype, "next_", name)
                    if last is not next_observations:
                        part.last = self.read(holders, last if single else last[k], prototype, "final_", name)
                else:
                    array = actions if single else actions[k - self.num_observations]
                    part.before = self.read(holders, array, prototype, "", name)
            if self.num_envs * self.ring.record < 1 << 16:   # releasing the GIL would take a twentieth of the time
                i = self.store(reward, terminations)
            else:
                with nogil:
                    i = self.store(reward, terminations)
            if i >= 0:
                raise self.errors.InvalidArgument(
                    f"next_observations[{i}]: expected all frames of observations[{i}] but the first, and one more; "
                    f"these are not stacks of {self.stack} frames")
        finally:
            self.busy = 0

    cdef Py_ssize_t store(self, const double* rewards, const uint8_t* terminated) noexcept nogil:
        """Store a step, and return -1; or return a lane whose observations are not stacks of frames."""
        cdef Py_ssize_t invalid = self.make_plan()
        if invalid < 0:
            self.write(rewards, terminated)
            self.save()
        return invalid

    cdef Py_ssize_t make_plan(self) noexcept nogil:
        """Decide what to do with each lane. Return a lane whose observations are not stacks of frames, or -1."""
        cdef Py_ssize_t i, k, f, bytes, n = self.num_envs
        cdef int64_t slot, skipped_state = ENDED if self.autoreset_mode == NEXT_STEP else RUNNING
        cdef int32_t begins = 1 + <int32_t> self.stack
        cdef int32_t[3] records = [begins, begins, begins]   # what a step takes in each state of a lane
        cdef int32_t* plan = self.plan
        cdef const Lane* lanes = self.lanes
        cdef const char* item
        cdef Part part
        cdef Ring ring = self.ring
        records[skipped_state], records[RUNNING] = 0, 1
        for i in range(n):
            plan[i] = records[lanes[i].state]
        for k in range(self.num_observations):   # a step that acted on another observation begins an episode
            part = self.parts[k]
            for i in range(n):
                slot, item = lanes[i].window, part.before + i * part.frames * part.bytes
                for f in range(part.frames):
                    if not same_item(item + f * part.bytes, at(ring, slot) + part.offset, part.bytes):
                        plan[i] = begins
                    slot = after(ring, slot) if part.frames > 1 else slot
        for k in range(self.num_observations if self.stack > 1 else 0):
            part = self.parts[k]
            bytes = part.bytes * part.frames
            for i in range(n):
                if plan[i] and memcmp(
                        part.before + i * bytes + part.bytes, (part.last if self.ended[i] else part.after) + i * bytes,
                        bytes - part.bytes):
                    return i
        return -1

    cdef void withdraw(self, int64_t slot, int64_t end) noexcept nogil:
        """Take away the transitions that begin at records which will be overwritten."""
        cdef int64_t k
        cdef uint8_t* ready = self.ready
        cdef Py_ssize_t withdrawn = 0
        for k in range(slot, end):
            withdrawn += ready[k]
            ready[k] = 0
        self.num_transitions -= withdrawn
        for k in range(slot, end if self.prioritized else slot):
            self.set_priority(k, 0)

    cdef int64_t begin(self, Ring ring, Lane* lane, Py_ssize_t i, int64_t slot) noexcept nogil:
        """Begin an episode, at a slot, with the observation that the step acted on, and return the slot after it."""
        cdef Py_ssize_t k, f
        cdef Part* part
        self.num_transitions += self.complete(ring, lane, 1)   # the previous episode ends
        lane.window = lane.pending = slot
        for f in range(self.stack):
            for k in range(self.num_observations):
                part = self.parts + k
                copy_item(at(ring, slot) + part.offset, part.before + (i * part.frames + f) * part.bytes, part.bytes)
            next_of(ring, slot)[0] = 1 if f + 1 < self.stack else 0
            lane.newest, slot = slot, following(ring, slot)
        return slot

    cdef void write(self, const double* rewards, const uint8_t* terminated) noexcept nogil:
        """Write the records of a step."""
        cdef Py_ssize_t i, k, count = 0, n = self.num_envs, n_steps = self.n_steps, stack = self.stack
        cdef int64_t slot, newest, end, distance
        cdef int64_t* windows = <int64_t*> self.saved_at[3]
        cdef int64_t* states = <int64_t*> self.saved_at[4]
        cdef Lane* lanes = self.lanes
        cdef Lane* lane
        cdef Part part
        cdef const char* item
        cdef Ring ring = self.ring
        cdef const int32_t* plan = self.plan
        cdef const uint8_t* ended = self.ended
        self.num_changed = 0
        for i in range(n):
            count += plan[i]
        end = self.slot + count
        self.withdraw(self.slot, min(end, ring.capacity))
        self.withdraw(0, end - ring.capacity)
        self.head += count
        self.filled = min(self.head, ring.capacity)
        slot = self.slot
        for i in range(n):
            if plan[i] == 0:
                continue
            if plan[i] > 1:
                slot = self.begin(ring, lanes + i, i, slot)
            newest = lanes[i].acted_on = lanes[i].newest
            distance = slot - newest + (ring.capacity if slot < newest else 0)
            next_of(ring, newest)[0] = <int32_t> (-distance if terminated[i] else distance)
            reward_of(ring, newest)[0] = <float> rewards[i]
            next_of(ring, slot)[0] = 0
            lanes[i].newest, slot = slot, following(ring, slot)
        self.slot = slot
        for i in range(n):   # load the records of the next step into the cache
            prefetch(at(ring, advance(ring, slot, i)))
        count = 0
        for i in range(n):
            lane = lanes + i
            if plan[i] == 0:
                lane.state = states[i] = UNKNOWN
                continue
            lane.state = states[i] = ENDED if ended[i] else RUNNING
            lane.window = windows[i] = lane.newest if stack == 1 else after(ring, lane.window)
            lane.num_pending += 1
            count += self.complete(ring, lane, 1 if ended[i] else n_steps)
        self.num_transitions += count
        for k in range(self.num_parts):
            part = self.parts[k]
            for i in range(n if k < self.num_observations else 0):
                item = (part.last if ended[i] else part.after) + ((i + 1) * part.frames - 1) * part.bytes
                if plan[i]:
                    copy_item(at(ring, lanes[i].newest) + part.offset, item, part.bytes)
            for i in range(0 if k < self.num_observations else n):
                if plan[i]:
                    copy_item(at(ring, lanes[i].acted_on) + part.offset, part.before + i * part.bytes, part.bytes)
        if self.prioritized:
            update_sums(self.tree, self.ring.capacity, self.changed, self.num_changed)

    # --- sampling ----------------------------------------------------------------------------------------------------

    def sample(self, Py_ssize_t batch_size, double beta, tuple out):
        """Draw transitions, with replacement, and return a list of arrays [batch_size, ...].

        The list has the arrays of observations, of actions, rewards, discounts, the arrays of next observations,
        weights and indices. They are the arrays in `out`, or arrays that the buffer recycles once no reference is left.
        """
        cdef Py_ssize_t k
        cdef ArrayRing ring
        cdef int64_t* slots
        cdef list arrays = [], named = []
        mark_busy(&self.busy, "this replay buffer is being used", self.errors)
        try:
            if self.num_transitions == 0:
                raise self.errors.InvalidArgument(f"batch_size: no transition is complete yet, got {batch_size}")
            if out is not None and len(out) != len(self.outputs):
                raise self.errors.InvalidArgument(f"out: expected {len(self.outputs)} arrays, got {len(out)}")
            if batch_size not in self.batches:
                clear_if_full(self.batches)
                self.batches[batch_size] = (
                    [ArrayRing((batch_size, *shape), dtype) for _, dtype, shape in self.outputs],
                    np.empty((3, batch_size), np.int64), np.empty(batch_size))
            rings, places, targets = self.batches[batch_size]
            slots = <int64_t*> cnp.PyArray_DATA(<cnp.ndarray> places)
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
                self.draw(batch_size, slots, <double*> cnp.PyArray_DATA(<cnp.ndarray> targets), <float> beta)
                self.gather(batch_size, slots, slots + batch_size, slots + 2 * batch_size)
                self.save()
        finally:
            self.busy = 0
        return arrays

    cdef void draw(self, Py_ssize_t count, int64_t* drawn, double* targets, float beta) noexcept nogil:
        """Write the slots at which transitions begin, and their indices and weights to the batch."""
        cdef Py_ssize_t b
        cdef float* weights = <float*> self.pointers[self.num_parts + 2 + self.num_observations]
        cdef int64_t* indices = <int64_t*> self.pointers[self.num_parts + 3 + self.num_observations]
        cdef double total, smallest = INFINITY
        cdef Ring ring = self.ring
        cdef rng_t rng = self.rng
        if self.prioritized:
            # Draw one from each of `count` ranges of equal weight (Schaul et al. 2016, appendix B.2.1).
            total = sum_of(self.tree + tree_size(ring.capacity) - 8)
            for b in range(count):
                targets[b] = (b + rng_double(&rng)) / count * total
            find_leaves(self.tree, self.ring.capacity, targets, drawn, count)
        for b in range(count):
            if self.prioritized:
                drawn[b] = min(drawn[b], ring.capacity - 1)   # another process may be changing the file
            else:
                drawn[b] = <int64_t> (rng_double(&rng) * self.filled)
            prefetch(self.ready + drawn[b])
            prefetch(at(ring, drawn[b]))
        for b in range(count):
            if self.prioritized:
                targets[b] = self.tree[drawn[b]]
                smallest = min(smallest, targets[b])
            else:
                weights[b] = 1
                while not self.ready[drawn[b]]:
                    drawn[b] = <int64_t> (rng_double(&rng) * self.filled)
            indices[b] = self.head - self.slot + drawn[b] - (ring.capacity if drawn[b] >= self.slot else 0)
        for b in range(count if self.prioritized else 0):
            weights[b] = powf(<float> (targets[b] / smallest), -beta)
        self.rng = rng

    cdef void gather(self, Py_ssize_t count, int64_t* first, int64_t* acted_on, int64_t* last) noexcept nogil:
        """Write the transitions that begin at the slots `first` to the batch. The other arrays are overwritten."""
        cdef Py_ssize_t b, k, n_steps = self.n_steps, stack = self.stack
        cdef int64_t slot
        cdef int32_t distance
        cdef float* rewards = <float*> self.pointers[self.num_parts]
        cdef float* discounts = <float*> self.pointers[self.num_parts + 1]
        cdef double total, factor, discount = self.discount
        cdef Ring ring = self.ring
        for b in range(count):
            slot = first[b]
            for _ in range(stack - 1):
                slot = after(ring, slot)
            acted_on[b], last[b], total, factor = slot, first[b], 0, 1
            for _ in range(n_steps):
                distance = next_of(ring, slot)[0]
                if distance == 0:
                    break
                total += factor * reward_of(ring, slot)[0]
                factor *= 0 if distance < 0 else discount
                slot, last[b] = advance(ring, slot, distance), after(ring, last[b])
            prefetch(at(ring, last[b]))
            rewards[b], discounts[b] = <float> total, <float> factor
        for k in range(self.num_parts):
            if k < self.num_observations:
                self.gather_part(self.parts[k], <char*> self.pointers[k], count, first)
                self.gather_part(self.parts[k], <char*> self.pointers[self.num_parts + 2 + k], count, last)
            else:
                self.gather_part(self.parts[k], <char*> self.pointers[k], count, acted_on)

    cdef void gather_part(self, Part part, char* out, Py_ssize_t count, const int64_t* slots) noexcept nogil:
        """Write the frames that begin at the slots."""
        cdef Py_ssize_t b
        cdef int64_t slot
        cdef Ring ring = self.ring
        for b in range(count):
            slot = slots[b]
            for _ in range(part.frames):
                copy_item(out, at(ring, slot) + part.offset, part.bytes)
                out += part.bytes
                slot = after(ring, slot) if part.frames > 1 else slot

    cdef inline int64_t slot_of(self, int64_t index) noexcept nogil:
        """Return where the transition of this index begins, which may be too large; -1 if it is overwritten."""
        cdef int64_t slot = self.slot - (self.head - index)
        return slot if slot >= 0 else slot + self.ring.capacity if slot >= self.slot - self.ring.capacity else -1

    def update_priorities(self, indices, priorities):
        """Set the priorities of transitions [n]. Transitions that have been overwritten meanwhile are skipped."""
        cdef Py_ssize_t k, live = 0, count = np.asarray(indices).size
        cdef list holders = []
        cdef cnp.ndarray numbers = np.empty(count + 1, np.int64)
        cdef int64_t* slots = <int64_t*> cnp.PyArray_DATA(numbers)
        cdef const int64_t* index = <const int64_t*> self.read(holders, indices, numbers[1:], "", "indices")
        cdef const double* priority = <const double*> self.read(
            holders, priorities, np.empty(count), "", "priorities")
        cdef int64_t slot, head = self.head
        cdef float value, largest = <float> self.max_priority
        mark_busy(&self.busy, "this replay buffer is being used", self.errors)
        try:
            for k in range(count):
                if not 0 <= priority[k] <= 3e38:
                    raise self.errors.InvalidArgument(f"priorities[{k}]: expected 0 to 3e38, got {priority[k]}")
                slot = self.slot_of(index[k]) if 0 <= index[k] < head else self.ring.capacity
                if slot >= 0 and (slot == self.ring.capacity or not self.ready[slot]):
                    raise self.errors.InvalidArgument(f"indices[{k}]: expected that of a transition, got {index[k]}")
            for k in range(count):
                slot = self.slot_of(index[k])
                if slot >= 0:
                    value = powf(<float> priority[k] + EPSILON, self.alpha)
                    largest = max(largest, value)
                    self.tree[slot] = value
                    slots[live] = slot
                    live += 1
            self.max_priority = largest
            update_sums(self.tree, self.ring.capacity, slots, live)
            self.save()
        finally:
            self.busy = 0

    # --- state -------------------------------------------------------------------------------------------------------

    cdef void save(self) noexcept nogil:
        """Write the state that `load` reads, except the tree and the states of lanes, which are there already."""
        memcpy(self.saved_at[0], &self.max_priority, sizeof(double))
        memcpy(self.saved_at[1], &self.rng, 4 * sizeof(uint64_t))
        memcpy(self.saved_at[2], &self.head, sizeof(int64_t))

    cdef int load(self, object saved, double alpha) except -1:
        """Check the state in the arrays, then continue with it. A failed check changes nothing."""
        cdef Py_ssize_t i, enough = self.stack - 1 + self.n_steps
        cdef int64_t age, slot, distance
        cdef int32_t[::1] steps = np.zeros(self.ring.capacity, np.int32)   # records that follow, up to `enough`
        cdef int32_t[::1] whose = np.zeros(self.ring.capacity, np.int32)   # 1 + lane whose episode goes on, or 0
        cdef double priority = 0
        cdef bint good
        cdef Lane* lane
        self.head, self.max_priority, random = saved["head"], saved["max_priority"], saved["random"].tolist()
        self.rng.state_high, self.rng.state_low, self.rng.increment_high, self.rng.increment_low = random
        if (saved["version"] != VERSION or saved["stack"] != self.stack or saved["alpha"] != alpha
                or not 0 < self.max_priority < INFINITY or random[3] % 2 == 0
                or not 0 <= self.head < <int64_t> 1 << 62):
            raise self.errors.InvalidArgument(
                f"path: expected version {VERSION}, stack {self.stack}, alpha {alpha}, a positive priority, the state "
                f"of a generator and a number of records, got version {saved['version']}, stack {saved['stack']}, "
                f"alpha {saved['alpha']}, priority {self.max_priority}, {random} and {self.head}")
        self.slot, self.filled = self.head % self.ring.capacity, min(self.head, self.ring.capacity)
        for i in range(self.num_envs):
            lane = self.lanes + i
            lane.state = saved["states"][i]
            lane.window = saved["windows"][i] if lane.state != UNKNOWN else 0
            good = lane.state == UNKNOWN or lane.state in (RUNNING, ENDED) and 0 <= lane.window < self.filled
            if good and lane.state != UNKNOWN:
                lane.newest = lane.window
                for _ in range(self.stack - 1):
                    good &= next_of(self.ring, lane.newest)[0] != 0
                    lane.newest = after(self.ring, lane.newest)
                good &= next_of(self.ring, lane.newest)[0] == 0 and whose[lane.newest] == 0
                whose[lane.newest] = i + 1 if lane.state == RUNNING else 0
            if not good:
                raise self.errors.InvalidArgument(
                    f"path: expected the newest observation of lane {i} in the last record of an episode")
        slot = self.slot
        for age in range(1, self.filled + 1):   # backward
            slot = (slot if slot else self.ring.capacity) - 1
            distance = llabs(next_of(self.ring, slot)[0])
            if self.prioritized:
                priority = self.tree[slot]
            if distance >= age or distance > self.num_envs * (1 + self.stack) or not 0 <= priority < INFINITY:
                raise self.errors.InvalidArgument(
                    f"path: expected a record of the next step or two, and a priority, in record {slot}, got a "
                    f"distance of {distance} and a priority of {priority}")
            if distance:
                steps[slot] = min(steps[after(self.ring, slot)] + 1, enough)
                whose[slot] = whose[after(self.ring, slot)]
            if steps[slot] >= (enough if whose[slot] else self.stack):
                self.ready[slot] = 1
                self.num_transitions += 1
            elif whose[slot]:
                self.lanes[whose[slot] - 1].pending = slot
        for i in range(self.num_envs):
            if self.lanes[i].state == RUNNING:
                self.lanes[i].num_pending = steps[self.lanes[i].pending] - self.stack + 1
        # Values are written where they differ only, so that an empty tree takes no memory.
        for slot in range(level_width(self.ring.capacity) if self.prioritized else 0):
            priority = 0
            if slot < self.ring.capacity and self.ready[slot]:
                priority = self.tree[slot] or self.max_priority
            if self.tree[slot] != priority:
                self.tree[slot] = priority
        if self.prioritized:
            update_all_sums(self.tree, self.ring.capacity)
        return 0


def priority_tree_size(Py_ssize_t capacity):
    """Return the number of elements of the tree of priorities."""
    return tree_size(capacity)


cdef cnp.ndarray prototype(object dtype, Py_ssize_t count, tuple shape=()):
    """Return an array of this dtype and shape [count, *shape], without memory for its elements."""
    return np.broadcast_to(np.zeros((), dtype), (count, *shape))
