"""FrameMemory: the last observations of every lane of a batch, and stacks of them.

The frames of a lane are adjacent in memory, the oldest first. A new frame moves the others, which takes little time
compared to copying the stack for the caller. Lanes begin episodes, and may be stepped, independently of each other.
"""
cimport cython
cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memmove

from gymcore_ext.arrays cimport ArrayRing, array_pointer, clear_if_full, copy_bytes, lane_pointer, mark_busy

from importlib import import_module

import numpy as np

cnp.import_array()

# Actions of an update, one per lane.
cpdef enum:
    ADD         # add a frame
    BEGIN       # begin an episode with this frame
    KEEP        # change nothing
    PEEK        # change nothing, but return the stack as if the frame had been added


@cython.final
cdef class FrameMemory:
    """The last `depth` observations of each lane.

    Args:
        num_envs: number of lanes.
        depth: number of observations in a stack, at least 1.
        shape: shape of one observation.
        dtype: dtype of one observation; plain numbers.
        padding: array [*shape] before the first observation of an episode; None to repeat that observation.
        oldest: return the oldest observation of each stack instead of the stack.
        errors: module of exception classes: InvalidArgument, ArgumentTypeError, ConcurrentUseError.

    Returned arrays belong to the caller: they are recycled only when no reference to them or to a view of them is left.
    One thread at a time may use an object; a second one gets ConcurrentUseError.
    """

    cdef Py_ssize_t num_envs, depth, row_bytes
    cdef bint oldest
    cdef tuple shape
    cdef object dtype, errors
    cdef cnp.ndarray frames, padding
    cdef char* memory                # [num_envs, depth, *shape]
    cdef const char* filler          # [*shape], or NULL if the first observation of an episode fills the stack
    cdef dict rings          # ArrayRing of results, by number of rows
    cdef int busy

    def __cinit__(
        self, Py_ssize_t num_envs, Py_ssize_t depth, tuple shape, object dtype, *, object padding=None,
        bint oldest=False, object errors,
    ):
        if num_envs < 1:
            raise errors.InvalidArgument(f"num_envs: expected at least 1, got {num_envs}")
        if depth < 1:
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
        self.memory = <char*> cnp.PyArray_DATA(self.frames)
        self.row_bytes = cnp.PyArray_NBYTES(self.frames) // (num_envs * depth)
        if padding is not None:
            self.padding = np.array(padding, self.dtype, order="C")
            if (<object> self.padding).shape != shape:
                raise errors.InvalidArgument(
                    f"padding: expected an array of shape {shape}, got {(<object> self.padding).shape}")
            self.filler = <const char*> cnp.PyArray_DATA(self.padding)

    def __reduce__(self):
        arguments = self.num_envs, self.depth, self.shape, self.dtype
        options = {"padding": self.padding, "oldest": bool(self.oldest)}
        return _restored, (self.errors.__name__, arguments, options, self.frames.copy())

    def update(self, observations, cnp.ndarray changes not None, cnp.ndarray lanes=None):
        """Update the stacks of all lanes, or of some, with their new observations.

        Args:
            observations: [n, *shape].
            changes: uint8 [n], what to do with each lane: ADD, BEGIN, KEEP or PEEK; or bool [n], ADD or BEGIN.
            lanes: int64 [n], the lane of each observation; None for all lanes in order.

        Returns:
            The stacks [n, depth, *shape] of these lanes, oldest frame first; with `oldest`, [n, *shape].
        """
        cdef Py_ssize_t rows = self.num_envs, count = 1 if self.oldest else self.depth
        cdef const int64_t* indices = NULL
        cdef const uint8_t* change
        cdef int typenum
        cdef const char* frame
        cdef char* out
        if lanes is not None:
            lanes = lanes.copy()  # another thread cannot change the copy after the check
            indices, rows = lane_pointer(lanes, "lanes", self.num_envs, self.errors), cnp.PyArray_SIZE(lanes)
        typenum = cnp.NPY_BOOL if cnp.PyArray_TYPE(changes) == cnp.NPY_BOOL else cnp.NPY_UINT8
        change = <const uint8_t*> array_pointer(changes, "changes", typenum, (rows,), False, self.errors)
        batch = np.asarray(observations, self.dtype, "C")
        if batch.shape != (rows, *self.shape):
            raise self.errors.InvalidArgument(
                f"observations: expected shape {(rows, *self.shape)}, got {batch.shape}")
        frame = <const char*> cnp.PyArray_DATA(batch)
        mark_busy(&self.busy, "these frames are being stacked", self.errors)
        try:
            if rows not in self.rings:
                clear_if_full(self.rings)
                shape = (rows, *self.shape) if self.oldest else (rows, self.depth, *self.shape)
                self.rings[rows] = ArrayRing(shape, self.dtype)
            result = (<ArrayRing> self.rings[rows]).take(<void**> &out)
            with nogil:
                self.update_lanes(frame, change, indices, rows, count, out)
        finally:
            self.busy = 0
        return result

    def copy_lanes(self, source, target):
        """Give the lanes in `target` copies of the frames of those in `source`, int64 [n]."""
        mark_busy(&self.busy, "these frames are being stacked", self.errors)
        try:
            self.frames[target] = self.frames[source]
        finally:
            self.busy = 0

    cdef void update_lanes(
        self, const char* frame, const uint8_t* changes, const int64_t* lanes, Py_ssize_t rows, Py_ssize_t count,
        char* out,
    ) noexcept nogil:
        """Update the stacks of lanes, and write the `count` oldest frames of each stack (all, or 1) to `out`."""
        cdef Py_ssize_t k, i, bytes = self.row_bytes, last = (self.depth - 1) * bytes
        cdef char* stack
        for k in range(rows):
            stack = self.memory + (k if lanes == NULL else lanes[k]) * self.depth * bytes
            if changes[k] == PEEK:
                copy_bytes(out, stack + bytes, min(count * bytes, last))
                if count == self.depth:
                    copy_bytes(out + last, frame, bytes)
            else:
                if changes[k] == ADD:
                    memmove(stack, stack + bytes, last)
                elif changes[k] == BEGIN:
                    for i in range(self.depth - 1):
                        copy_bytes(stack + i * bytes, frame if self.filler == NULL else self.filler, bytes)
                if changes[k] == ADD or changes[k] == BEGIN:
                    copy_bytes(stack + last, frame, bytes)
                copy_bytes(out, stack, count * bytes)
            frame += bytes
            out += count * bytes


def _restored(errors, arguments, options, frames):
    """Return a copy, for pickle, which can store modules only by their names."""
    cdef FrameMemory memory = FrameMemory(*arguments, **options, errors=import_module(errors))
    memory.frames[...] = frames
    return memory
