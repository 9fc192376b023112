"""Channel: numbered requests, and single lanes, between a parent and its worker processes over shared memory.

channel.h has the protocol. This module checks arguments, releases the GIL while waiting, and divides waits into slices,
between which Python handles signals. `watch_parent` ends a worker process with its parent (watch.h).
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove, memset

import numpy as np

cnp.import_array()


cdef extern from "workers/channel.h" nogil:
    enum:
        IDLE "GYMCORE_IDLE"
        SUBMITTED "GYMCORE_SUBMITTED"
    const int64_t SLICE "GYMCORE_SLICE"
    const uint64_t ALL_REPLIES "GYMCORE_ALL_REPLIES"

    ctypedef struct doorbells_t "gymcore_doorbells":
        uint64_t countdown
    ctypedef struct worker_slot_t "gymcore_worker_slot":
        uint64_t inbox
        uint64_t answer
    ctypedef struct channel_t "gymcore_channel":
        doorbells_t* doorbells
        worker_slot_t* slots
        int64_t num_workers
        int64_t num_envs
        const int64_t* first
    ctypedef struct parent_state_t "gymcore_parent_state":
        uint8_t* state
        int64_t* queue
        int64_t count
        int64_t submitted

    int64_t clock_now "gymcore_clock"() noexcept
    uint64_t load64 "gymcore_load64"(uint64_t* word) noexcept
    void store64 "gymcore_store64"(uint64_t* word, uint64_t value) noexcept
    int64_t channel_bytes "gymcore_channel_bytes"(int64_t num_workers, int64_t num_envs) noexcept
    void channel_place "gymcore_channel_place"(channel_t* channel, char* memory) noexcept

    void channel_post "gymcore_post"(
        channel_t* channel, uint32_t request, uint32_t operation, const uint8_t* selected, int64_t count) noexcept
    bint channel_answered "gymcore_answered"(channel_t* channel, int64_t worker, uint32_t request) noexcept
    bint await_arrival "gymcore_await_arrival"(
        channel_t* channel, uint32_t request, uint64_t goal, int64_t until, int64_t spin) noexcept

    int find_work "gymcore_find_work"(
        channel_t* channel, int64_t worker, uint32_t last, uint64_t* inbox, uint32_t* activity) noexcept
    void await_activity "gymcore_await_activity"(
        channel_t* channel, int64_t worker, uint32_t activity, int64_t until, int64_t spin) noexcept
    void channel_reply "gymcore_reply"(channel_t* channel, int64_t worker, uint32_t request, uint32_t status) noexcept

    void channel_submit "gymcore_submit"(
        channel_t* channel, parent_state_t* parent, const int64_t* lanes, int64_t count, const int32_t* owner) noexcept
    bint gather "gymcore_gather"(channel_t* channel, parent_state_t* parent, uint64_t* completed) noexcept
    void forget_lane "gymcore_forget"(channel_t* channel, parent_state_t* parent, int64_t lane) noexcept
    int64_t channel_take "gymcore_take"(channel_t* channel, int64_t worker) noexcept
    bint channel_complete "gymcore_complete"(
        channel_t* channel, int64_t worker, int64_t lane, double seconds) noexcept


cdef extern from "workers/watch.h":
    int start_watch "gymcore_watch"(long long pid, int pidfd, int exit_code) noexcept


cdef int64_t deadline_after(double timeout) except -1:
    """Return the time in nanoseconds at which a wait that begins now ends, at most 1e9 seconds from now."""
    if isnan(timeout):
        raise ValueError("timeout: expected seconds, got nan")
    return clock_now() + <int64_t> (min(max(timeout, 0.0), 1e9) * 1e9)


@cython.no_gc  # a Channel cannot be part of a cycle, and its memory must outlive it
cdef class Channel:
    """One end of a channel. The parent has one, and each worker process has its own, over the same memory.

    Requests: the parent calls `post`, then `wait`; a worker calls `next`, then `reply`. Only the latest request counts:
    a worker never sees an older one, and a reply to an older one changes nothing.

    Lanes: the parent calls `submit`, then `ready`; a worker calls `take`, then `complete`.

    Args:
        memory: writable buffer that the processes share, with zeros before the channel is first used. The channel keeps
            a reference to it.
        offset: index of the byte in `memory` where the channel begins; its address must be a multiple of 64.
        bounds: (lo, hi) of each worker, which owns lanes lo <= lane < hi. The first range begins with lane 0, and each
            other range where the previous one ends.

    Waits take a time-out in seconds and `spin`, the number of polls (about ten nanoseconds each) before sleeping. They
    sleep at once if the peer uses the CPU of the caller, because the peer needs it.
    They release the GIL and let Python handle signals, so they raise KeyboardInterrupt within 0.1 s; nothing is lost
    then. A wait never outlasts its time-out, wherever the peer was killed.

    Another thread may post or submit during a wait. If two threads wait, one may wake up to 0.05 s late.
    """

    cdef channel_t channel
    cdef parent_state_t parent
    cdef int32_t* owner
    cdef uint8_t* selected
    cdef uint32_t request
    cdef list arrays  # the memory that the pointers point to

    def __cinit__(self, object memory, Py_ssize_t offset, list bounds):
        cdef Py_ssize_t k, lane, lo, hi, num_workers = len(bounds)
        cdef Py_ssize_t num_envs = bounds[num_workers - 1][1] if bounds else 0
        cdef int64_t* first
        if num_workers < 1 or not 0 <= num_envs <= 0x7FFFFFFF:
            raise ValueError(f"bounds: expected at least one worker, and fewer than 2^31 lanes, got {bounds}")
        self.channel.num_workers = num_workers
        self.channel.num_envs = num_envs
        self.arrays = []
        self.channel.first = first = <int64_t*> self._zeros(num_workers + 1, np.int64)
        self.owner = <int32_t*> self._zeros(num_envs, np.int32)
        self.selected = <uint8_t*> self._zeros(num_workers, np.uint8)
        self.parent.state = <uint8_t*> self._zeros(num_envs, np.uint8)
        self.parent.queue = <int64_t*> self._zeros(num_envs, np.int64)
        for k, (lo, hi) in enumerate(bounds):
            if not first[k] == lo <= hi <= num_envs:
                raise ValueError(f"bounds[{k}]: expected {first[k]} = lo <= hi <= {num_envs}, got ({lo}, {hi})")
            first[k + 1] = hi
            for lane in range(lo, hi):
                self.owner[lane] = <int32_t> k
        array = np.frombuffer(memory, np.uint8, channel_bytes(num_workers, num_envs), offset)
        if not array.flags.writeable:
            raise ValueError("memory: expected a writable buffer, got a read-only one")
        if array.ctypes.data % 64:
            raise ValueError(f"offset: expected an address that is a multiple of 64, got {offset} into the memory")
        self.arrays.append(array)
        channel_place(&self.channel, <char*> cnp.PyArray_DATA(array))
        # A second object of a parent, which replaces a dropped one, continues the numbers of requests.
        self.request = <uint32_t> (load64(&self.channel.doorbells.countdown) >> 32)

    cdef void* _zeros(self, Py_ssize_t count, dtype) except NULL:
        """Return zeroed memory that lives as long as this object."""
        array = np.zeros(max(count, 1), dtype)
        self.arrays.append(array)
        return cnp.PyArray_DATA(<cnp.ndarray> array)

    @staticmethod
    def nbytes(Py_ssize_t num_workers, Py_ssize_t num_envs):
        """Return the bytes of shared memory that a channel needs, a multiple of 128."""
        return channel_bytes(num_workers, num_envs)

    cdef int _check_worker(self, Py_ssize_t worker) except -1:
        if not 0 <= worker < self.channel.num_workers:
            raise ValueError(f"worker: expected 0 to {self.channel.num_workers - 1}, got {worker}")
        return 0

    # --- requests: parent -----------------------------------------------------------------------------------------

    cdef int64_t _select(self, object workers) except -1:
        """Select workers (None: all), and return their number; change nothing if one of them does not exist."""
        cdef Py_ssize_t worker
        if workers is None:
            memset(self.selected, 1, self.channel.num_workers)
            return self.channel.num_workers
        chosen = set(workers)
        for worker in chosen:
            self._check_worker(worker)
        if not chosen:
            raise ValueError("workers: expected at least one, got none")
        memset(self.selected, 0, self.channel.num_workers)
        for worker in chosen:
            self.selected[worker] = 1
        return len(chosen)

    @property
    def next_request_number(self):
        """Number that the next `post` will return, for a caller that needs it before."""
        return self.request + 1 if self.request != 0xFFFFFFFF else 1

    def post(self, Py_ssize_t opcode, workers=None):
        """Request an operation from workers. An earlier request that was not answered is abandoned.

        Args:
            opcode: number of the operation, 0 to 2147483647.
            workers: indices of the workers; all by default.

        Returns:
            The number of the request: 1 to 4294967295, then 1 again.
        """
        cdef int64_t count
        if not 0 <= opcode <= 0x7FFFFFFF:
            raise ValueError(f"opcode: expected 0 to 2147483647, got {opcode}")
        count = self._select(workers)
        self.request = self.next_request_number
        channel_post(&self.channel, self.request, <uint32_t> opcode, self.selected, count)
        return self.request

    cdef int _check_request(self, uint32_t request) except -1:
        if request != self.request or request == 0:
            raise ValueError(f"request: expected the latest one, {self.request}, got {request}")
        return 0

    def wait(self, uint32_t request, double timeout, Py_ssize_t spin=0):
        """Wait until all workers of a request have replied. Return True, or False after the time-out.

        Raises:
            ValueError: If `request` is not the latest one.
        """
        cdef int64_t until
        cdef bint done
        self._check_request(request)
        until = deadline_after(timeout)
        while True:
            with nogil:
                done = await_arrival(&self.channel, request, ALL_REPLIES, min(until, clock_now() + SLICE), spin)
            # Check the answers too: a worker that was killed between its answer and its decrement has answered.
            if done or not self.unanswered(request):
                return True
            spin = 0
            PyErr_CheckSignals()
            # A signal handler may have posted another request.
            self._check_request(request)
            if clock_now() >= until:
                return False

    def unanswered(self, uint32_t request):
        """Return the workers that have not replied to the latest request, in order."""
        cdef Py_ssize_t k
        self._check_request(request)
        return [
            k for k in range(self.channel.num_workers)
            if self.selected[k] and not channel_answered(&self.channel, k, request)]

    def status(self, Py_ssize_t worker):
        """Return the status in the last reply of a worker, whichever request it answers."""
        self._check_worker(worker)
        return <int32_t> <uint32_t> load64(&self.channel.slots[worker].answer)

    def withdraw(self, Py_ssize_t worker):
        """Discard the last request to a dead worker, so that its replacement does not execute it again."""
        self._check_worker(worker)
        store64(&self.channel.slots[worker].inbox, 0)

    # --- requests: worker -----------------------------------------------------------------------------------------

    def next(self, Py_ssize_t worker, uint32_t last, double timeout, Py_ssize_t spin=0):
        """Wait for a request.

        Args:
            worker: index of the caller.
            last: number of the previous request of this worker, 0 for none.
            timeout: seconds; 0 polls once.
            spin: number of polls before sleeping.

        Returns:
            (request, opcode), or None after the time-out, or if there are lanes for `take`.
        """
        cdef int64_t until = deadline_after(timeout)
        cdef uint64_t inbox = 0
        cdef uint32_t activity = 0
        cdef int work
        self._check_worker(worker)
        while True:
            work = find_work(&self.channel, worker, last, &inbox, &activity)
            if work:
                return (inbox >> 32, inbox & 0xFFFFFFFF) if work == 1 else None
            if clock_now() >= until:
                return None
            with nogil:
                await_activity(&self.channel, worker, activity, min(until, clock_now() + SLICE), spin)
            spin = 0
            PyErr_CheckSignals()

    def reply(self, Py_ssize_t worker, uint32_t request, int32_t status=0):
        """Answer a request. The parent then sees everything that the worker has written to shared memory before."""
        self._check_worker(worker)
        channel_reply(&self.channel, worker, request, <uint32_t> status)

    # --- lanes: parent --------------------------------------------------------------------------------------------

    cdef cnp.ndarray _lanes(self, object lanes):
        """Return lanes as an int64 vector, or raise if one is out of range."""
        cdef cnp.ndarray vector
        cdef const int64_t* values
        cdef Py_ssize_t i
        array = np.asarray(lanes)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise ValueError(f"lanes: expected a vector of integers, got shape {array.shape} of {array.dtype}")
        vector = np.array(array, np.int64)  # a copy, which no other thread can change after the check
        values = <const int64_t*> cnp.PyArray_DATA(vector)
        for i in range(cnp.PyArray_SIZE(vector)):
            if not 0 <= values[i] < self.channel.num_envs:
                raise ValueError(f"lanes[{i}]: expected a lane below {self.channel.num_envs}, got {values[i]}")
        return vector

    def submit(self, lanes):
        """Submit lanes to their workers. A call that raises changes nothing.

        Args:
            lanes: vector of lane indices, preferably int64. None of them may be outstanding.

        Raises:
            ValueError: If a lane is outstanding, occurs twice or does not exist.
        """
        cdef cnp.ndarray vector = self._lanes(lanes)
        cdef const int64_t* values = <const int64_t*> cnp.PyArray_DATA(vector)
        cdef Py_ssize_t i, k, count = cnp.PyArray_SIZE(vector)
        for i in range(count):
            if self.parent.state[values[i]] != IDLE:
                # Either this call has submitted the lane (below), or an earlier one.
                repeated = values[i] in vector[:i]
                for k in range(i):
                    self.parent.state[values[k]] = IDLE
                raise ValueError(f"lanes[{i}]: lane {values[i]} is " + ("named twice" if repeated else "outstanding"))
            self.parent.state[values[i]] = SUBMITTED
        channel_submit(&self.channel, &self.parent, values, count, self.owner)

    def ready(self, Py_ssize_t batch_size, double timeout, Py_ssize_t spin=0):
        """Wait until `batch_size` lanes are ready, and return those that were ready first.

        Returns:
            Lanes, int64 [batch_size], or None after the time-out (all lanes then stay outstanding).

        Raises:
            ValueError: If fewer lanes are outstanding, so that the wait would never end.
            RuntimeError: If the shared memory was overwritten.
        """
        cdef int64_t until = deadline_after(timeout)
        cdef uint64_t goal
        if not 1 <= batch_size <= self.parent.submitted:
            raise ValueError(
                f"batch_size: expected 1 to the {self.parent.submitted} lanes outstanding, got {batch_size}")
        while True:
            goal = self._queue_ready_lanes()
            if self.parent.count >= batch_size:
                return self._hand_out(batch_size)
            goal += <uint64_t> (batch_size - self.parent.count)
            if clock_now() >= until:
                return None
            # This releases the GIL, but does not access `parent`: another thread may submit meanwhile.
            with nogil:
                await_arrival(&self.channel, 0, goal, min(until, clock_now() + SLICE), spin)
            spin = 0
            PyErr_CheckSignals()

    cdef uint64_t _queue_ready_lanes(self) except? 0:
        """Move ready lanes from the rings to the queue; return the total number of completions before."""
        cdef uint64_t completed
        if not gather(&self.channel, &self.parent, &completed):
            raise RuntimeError("channel: the shared memory was overwritten")
        return completed

    cdef object _hand_out(self, Py_ssize_t count):
        cdef cnp.ndarray lanes = np.empty(count, np.int64)
        cdef int64_t* values = <int64_t*> cnp.PyArray_DATA(lanes)
        cdef Py_ssize_t i
        for i in range(count):
            values[i] = self.parent.queue[i]
            self.parent.state[values[i]] = IDLE
        self.parent.count -= count
        self.parent.submitted -= count
        memmove(self.parent.queue, self.parent.queue + count, self.parent.count * sizeof(int64_t))
        return lanes

    @property
    def num_outstanding(self):
        """Number of lanes that were submitted and not returned by `ready`."""
        return self.parent.submitted

    def outstanding(self):
        """Return the lanes that were submitted and not returned by `ready`, int64, in order."""
        cdef int64_t i
        return np.array([i for i in range(self.channel.num_envs) if self.parent.state[i] != IDLE], np.int64)

    def forget(self, lanes):
        """Give up the outstanding ones among `lanes`: `ready` will not return them.

        A lane that its worker has not taken is withdrawn; a lane that its worker has taken is dropped on completion.
        """
        cdef cnp.ndarray vector = self._lanes(lanes)
        cdef const int64_t* values = <const int64_t*> cnp.PyArray_DATA(vector)
        cdef Py_ssize_t i
        # Gather first, so that a ring has at most two entries of a lane: one that was given up, and a current one.
        self._queue_ready_lanes()
        for i in range(cnp.PyArray_SIZE(vector)):
            forget_lane(&self.channel, &self.parent, values[i])

    # --- lanes: worker --------------------------------------------------------------------------------------------

    def take(self, Py_ssize_t worker):
        """Take the submitted lane of a worker that has used the least time so far. Return -1 if there is none.

        A lane that is 20 times slower is stepped a twentieth as often. It never starves, because the time of a lane is
        limited to 64 mean steps around that of the others.
        """
        self._check_worker(worker)
        return channel_take(&self.channel, worker)

    def complete(self, Py_ssize_t worker, Py_ssize_t lane, double seconds):
        """Report that a taken lane is ready, after `seconds` of work. The parent then sees its results."""
        self._check_worker(worker)
        if not 0 <= lane < self.channel.num_envs or self.owner[lane] != worker:
            raise ValueError(f"lane: expected a lane of worker {worker}, got {lane}")
        if not channel_complete(&self.channel, worker, lane, seconds):
            raise RuntimeError(f"complete: lane {lane} was completed without being taken")


def watch_parent(long long pid, int pidfd=-1, int exit_code=1):
    """End this process, without cleanup, as soon as another process has ended, even if Python is stuck.

    Args:
        pid: the process to watch.
        pidfd: its pidfd, as returned by `os.pidfd_open(pid)`, so that no later process with the same number is
            mistaken for it; the caller may close it afterwards. -1: check once a second whether the process lives.
        exit_code: exit status of this process, 0 to 255.

    Raises:
        RuntimeError: If the system cannot start a thread.
    """
    if start_watch(pid, pidfd, exit_code):
        raise RuntimeError("watch_parent: the system gave no thread")
