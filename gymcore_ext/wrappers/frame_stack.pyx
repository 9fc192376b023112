"""FrameMemory: the last observations of every lane of a batch, and stacks of them.

A lane's frames lie in a ring of `depth` slots next to each other, so that a stack is one or two copies a lane. Every
lane has its own place in its ring: lanes begin episodes, and may be stepped, independently of one another.
"""
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from gymcore_ext.arrays cimport ArrayRing, array_pointer, claim, lane_pointer
from gymcore_ext.copying cimport copy_bytes

from importlib import import_module
from types import ModuleType

import numpy as np

cnp.import_array()

cdef enum:
    # Bytes of a result below which a call is shorter than giving the GIL away and taking it back.
    GIL_BYTES = 1 << 16
    # Numbers of rows for which arrays are kept: a program steps subsets of a few different sizes.
    MOST_SUBSETS = 4

# What happens to the lanes that do not begin an episode.
cdef enum:
    STAY = 0             # nothing: a masked reset
    GO_ON = 1            # they get a frame


cdef struct frames_t:
    char* frames             # [num_envs, depth, row]
    int32_t* newest          # [num_envs], the slot of the last frame
    const char* padding      # [row], or NULL: a first observation fills its lane's stack
    Py_ssize_t depth
    Py_ssize_t row           # bytes of a frame


cdef void begin(const frames_t* self, int64_t lane, const char* frame) noexcept nogil:
    """The first observation of an episode, with padding before it."""
    cdef char* slot = self.frames + lane * self.depth * self.row
    cdef Py_ssize_t _k
    for _k in range(self.depth - 1):
        copy_bytes(slot, frame if self.padding == NULL else self.padding, self.row)
        slot += self.row
    copy_bytes(slot, frame, self.row)
    self.newest[lane] = <int32_t> self.depth - 1


cdef void add(const frames_t* self, int64_t lane, const char* frame) noexcept nogil:
    """A further observation, in place of the oldest one."""
    cdef int32_t slot = self.newest[lane] + 1
    if slot == self.depth:
        slot = 0
    self.newest[lane] = slot
    copy_bytes(self.frames + (lane * self.depth + slot) * self.row, frame, self.row)


cdef void put_stack(const frames_t* self, int64_t lane, char* out) noexcept nogil:
    """Write the frames of a lane, the oldest first."""
    cdef const char* ring = self.frames + lane * self.depth * self.row
    cdef Py_ssize_t old = self.depth - 1 - self.newest[lane]
    copy_bytes(out, ring + (self.depth - old) * self.row, old * self.row)
    copy_bytes(out + old * self.row, ring, (self.depth - old) * self.row)


cdef void put_oldest(const frames_t* self, int64_t lane, char* out) noexcept nogil:
    """Write the oldest frame of a lane."""
    cdef Py_ssize_t slot = self.newest[lane] + 1
    if slot == self.depth:
        slot = 0
    copy_bytes(out, self.frames + (lane * self.depth + slot) * self.row, self.row)


cdef class FrameMemory:
    """The last `depth` observations of each lane.

    Args:
        num_envs: number of lanes.
        depth: observations of a stack, at least 1.
        shape: of one observation.
        dtype: of one observation; plain numbers.
        padding: array [*shape] that stands before the first observation of an episode; None for that observation.
        oldest: return the oldest observation of each stack instead of the stack.
        errors: namespace of exception classes: InvalidArgument, ArgumentTypeError, ConcurrentUseError.

    Arrays that its methods return belong to the caller: their memory is used again only after nobody holds them (or a
    view of them) any more. One thread at a time may use an object; a second one gets ConcurrentUseError.
    """

    cdef readonly Py_ssize_t num_envs
    cdef readonly Py_ssize_t depth
    cdef readonly bint oldest
    cdef frames_t memory
    cdef tuple shape
    cdef object dtype, errors
    cdef cnp.ndarray frames, newest, padding
    cdef dict rings          # ArrayRing of results, by their number of rows
    cdef ArrayRing finals
    cdef Py_ssize_t final_rows
    cdef bint busy

    def __cinit__(
        self, Py_ssize_t num_envs, Py_ssize_t depth, tuple shape, object dtype, *, object padding=None,
        bint oldest=False, object errors,
    ):
        if num_envs < 1:
            raise errors.InvalidArgument(f"num_envs: expected at least 1, got {num_envs}")
        if not 1 <= depth <= 0x7FFFFFFF:
            raise errors.InvalidArgument(f"depth: expected at least 1, got {depth}")
        self.dtype = np.dtype(dtype)
        if self.dtype.kind not in "biufc" or not self.dtype.isnative:
            raise errors.InvalidArgument(f"dtype: expected numbers in the byte order of this machine, got {self.dtype}")
        self.num_envs = num_envs
        self.depth = depth
        self.shape = shape
        self.oldest = oldest
        self.errors = errors
        self.rings = {}
        self.frames = np.zeros((num_envs, depth, *shape), self.dtype)
        self.newest = np.full(num_envs, depth - 1, np.int32)
        if padding is not None:
            self.padding = np.array(padding, self.dtype, order="C")
            if (<object> self.padding).shape != shape:
                raise errors.InvalidArgument(
                    f"padding: expected an array of shape {shape}, got {(<object> self.padding).shape}")
        self._bind()

    cdef _bind(self):
        self.memory.frames = <char*> cnp.PyArray_DATA(self.frames)
        self.memory.newest = <int32_t*> cnp.PyArray_DATA(self.newest)
        self.memory.padding = NULL if self.padding is None else <const char*> cnp.PyArray_DATA(self.padding)
        self.memory.depth = self.depth
        self.memory.row = cnp.PyArray_NBYTES(self.frames) // (self.num_envs * self.depth)

    def __reduce__(self):
        errors = self.errors.__name__ if isinstance(self.errors, ModuleType) else self.errors
        arguments = self.num_envs, self.depth, self.shape, self.dtype, self.padding, bool(self.oldest), errors
        return _made_again, (*arguments, self.frames.copy(), self.newest.copy())

    def __deepcopy__(self, memo):
        function, arguments = self.__reduce__()
        return function(*arguments)

    # --- one call at a time ---------------------------------------------------------------------------------------

    cdef int _enter(self) except -1:
        return claim(&self.busy, "these frames are being stacked", self.errors)

    cdef cnp.ndarray _batch(self, object observations, Py_ssize_t rows):
        """A batch [rows, *shape] in one piece, of our dtype; maybe the very array."""
        array = np.asarray(observations, self.dtype, "C")
        if array.shape != (rows, *self.shape):
            raise self.errors.InvalidArgument(
                f"observations: expected shape {(rows, *self.shape)}, got {array.shape}")
        return array

    cdef Py_ssize_t _rows(self, cnp.ndarray lanes) except -1:
        """How many lanes these are, all of them for None; one that is none is an error."""
        if lanes is None:
            return self.num_envs
        lane_pointer(lanes, "lanes", self.num_envs, self.errors)
        return cnp.PyArray_SIZE(lanes)

    cdef tuple _shape(self, Py_ssize_t rows):
        if self.oldest:
            return (rows, *self.shape)
        return (rows, self.depth, *self.shape)

    cdef ArrayRing _ring(self, Py_ssize_t rows):
        if rows not in self.rings:
            if len(self.rings) == MOST_SUBSETS:
                self.rings.clear()
            self.rings[rows] = ArrayRing(self._shape(rows), self.dtype)
        return self.rings[rows]

    # --- frames in, stacks out ------------------------------------------------------------------------------------

    def reset(self, observations, cnp.ndarray begun not None):
        """Begin episodes in some lanes.

        Args:
            observations: [num_envs, *shape]; the rows of other lanes are not looked at.
            begun: bool [num_envs], the lanes that begin one; the others keep their frames.

        Returns:
            The stacks [num_envs, depth, *shape] of all lanes, oldest frame first.
        """
        return self._turn(observations, begun, STAY, None)

    def step(self, observations, cnp.ndarray begun not None, cnp.ndarray lanes=None):
        """Take an observation of every lane, or of some.

        Args:
            observations: [n, *shape].
            begun: bool [n], whether it is the first one of an episode.
            lanes: int64 [n], whose they are; None for all in order.

        Returns:
            The stacks [n, depth, *shape] of these lanes, oldest frame first.
        """
        return self._turn(observations, begun, GO_ON, lanes)

    cdef object _turn(self, object observations, cnp.ndarray begun, int others, cnp.ndarray lanes):
        cdef Py_ssize_t rows = self._rows(lanes)
        cdef const int64_t* chosen = NULL if lanes is None else <const int64_t*> cnp.PyArray_DATA(lanes)
        cdef const uint8_t* first
        cdef cnp.ndarray batch
        cdef char* out
        cdef const frames_t* memory = &self.memory
        cdef const char* frames
        first = <const uint8_t*> array_pointer(begun, "begun", cnp.NPY_BOOL, (rows,), False, self.errors)
        batch = self._batch(observations, rows)
        frames = <const char*> cnp.PyArray_DATA(batch)
        self._enter()
        try:
            result = self._ring(rows).take(<void**> &out)
            if rows * memory.row * (1 if self.oldest else self.depth) < GIL_BYTES:
                turn(memory, frames, first, others, chosen, rows, self.oldest, out)
            else:
                with nogil:
                    turn(memory, frames, first, others, chosen, rows, self.oldest, out)
        finally:
            self.busy = False
        return result

    def peek(self, observations, cnp.ndarray mask not None, cnp.ndarray lanes=None):
        """Stacks as `step` would return them, while every lane stays as it is.

        Args:
            observations: [n, *shape]; only the rows in the mask are looked at.
            mask: bool [n].
            lanes: int64 [n], whose they are; None for all in order.

        Returns:
            [n, depth, *shape], zeros in the rows that are not in the mask.
        """
        cdef Py_ssize_t rows = self._rows(lanes), k, size = self.memory.row * (1 if self.oldest else self.depth)
        cdef const int64_t* indices = NULL if lanes is None else <const int64_t*> cnp.PyArray_DATA(lanes)
        cdef const uint8_t* chosen = <const uint8_t*> array_pointer(
            mask, "mask", cnp.NPY_BOOL, (rows,), False, self.errors)
        cdef cnp.ndarray batch = self._batch(observations, rows)
        cdef const char* frame = <const char*> cnp.PyArray_DATA(batch)
        cdef const frames_t* memory = &self.memory
        cdef char* out
        self._enter()
        try:
            if self.finals is None or self.final_rows != rows:
                self.finals = ArrayRing(self._shape(rows), self.dtype)
                self.final_rows = rows
            result = self.finals.take(<void**> &out)
            with nogil:
                for k in range(rows):
                    if not chosen[k]:
                        memset(out, 0, size)
                    elif self.oldest:
                        peek_oldest(memory, k if indices == NULL else indices[k], frame, out)
                    else:
                        peek_stack(memory, k if indices == NULL else indices[k], frame, out)
                    out += size
                    frame += memory.row
        finally:
            self.busy = False
        return result


cdef void peek_stack(const frames_t* self, int64_t lane, const char* frame, char* out) noexcept nogil:
    """Write what would be the stack of a lane if it got one more frame: all but the oldest, then this one."""
    cdef const char* ring = self.frames + lane * self.depth * self.row
    cdef Py_ssize_t old = self.depth - 1 - self.newest[lane]
    if old > 0:
        copy_bytes(out, ring + (self.newest[lane] + 2) * self.row, (old - 1) * self.row)
        copy_bytes(out + (old - 1) * self.row, ring, (self.depth - old) * self.row)
    else:
        copy_bytes(out, ring + self.row, (self.depth - 1) * self.row)
    copy_bytes(out + (self.depth - 1) * self.row, frame, self.row)


cdef void peek_oldest(const frames_t* self, int64_t lane, const char* frame, char* out) noexcept nogil:
    """Write what would be the oldest frame of a lane if it got one more."""
    if self.depth == 1:
        copy_bytes(out, frame, self.row)
    else:
        copy_bytes(out, self.frames + (lane * self.depth + (self.newest[lane] + 2) % self.depth) * self.row, self.row)


cdef void turn(
    const frames_t* memory, const char* frames, const uint8_t* begun, int others, const int64_t* lanes, Py_ssize_t rows,
    bint oldest, char* out,
) noexcept nogil:
    """Take the frames of some lanes, and write what they are to return."""
    cdef Py_ssize_t k, size = memory.row * (1 if oldest else memory.depth)
    cdef int64_t lane
    for k in range(rows):
        lane = k if lanes == NULL else lanes[k]
        if begun[k]:
            begin(memory, lane, frames)
        elif others == GO_ON:
            add(memory, lane, frames)
        if oldest:
            put_oldest(memory, lane, out)
        else:
            put_stack(memory, lane, out)
        frames += memory.row
        out += size


def _made_again(num_envs, depth, shape, dtype, padding, oldest, errors, frames, newest):
    """A copy, for pickle, which takes modules by their names only."""
    cdef FrameMemory memory
    if isinstance(errors, str):
        errors = import_module(errors)
    memory = FrameMemory(num_envs, depth, shape, dtype, padding=padding, oldest=oldest, errors=errors)
    memory.frames = frames
    memory.newest = newest
    memory._bind()
    return memory
