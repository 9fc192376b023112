"""The array toolkit: checked access to arrays of callers, lane indices, busy flags and recycled output arrays."""

cimport numpy as cnp
from libc.stdint cimport int64_t


cdef extern from *:
    """
    #include "gymcore/platform.h"

    /* Copy rows of kilobytes. On AMD's Zen processors `rep movsb`, by which glibc's memcpy copies from 2 KiB on, takes
     * twelve times as long where the target lies a few bytes behind the source within a page: 9.5 us instead of 0.8 for
     * 28 KiB and a distance of 16 bytes. Array addresses vary from run to run, so the same program was sometimes fast
     * and sometimes slow. From 4 MiB on, memcpy bypasses the caches, which this loop cannot. */
    static inline void gymcore_copy(void *GYMCORE_RESTRICT target, const void *GYMCORE_RESTRICT source, size_t bytes)
    {
    #if defined(__SSE2__)
        if (bytes >= 1024 && bytes < 4 << 20) {
            __m128i *to = (__m128i *)target;
            const __m128i *from = (const __m128i *)source, *end = from + bytes / 64 * 4;
            for (; from < end; from += 4, to += 4) {
                __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
                __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
                _mm_storeu_si128(to, a);
                _mm_storeu_si128(to + 1, b);
                _mm_storeu_si128(to + 2, c);
                _mm_storeu_si128(to + 3, d);
            }
            memcpy(to, from, bytes & 63);
            return;
        }
    #endif
        memcpy(target, source, bytes);
    }
    """
    void copy_bytes "gymcore_copy"(void* target, const void* source, size_t size) noexcept nogil


cdef enum:
    MAX_CACHED_SIZES = 4   # a program steps subsets of a few different sizes


cdef class ArrayRing:
    cdef tuple shape
    cdef int rank, typenum
    cdef cnp.ndarray shape_array   # intp, what `sizes` points to
    cdef cnp.npy_intp* sizes
    cdef object dtype
    cdef bint reuse        # always hand out the same array
    cdef list arrays
    cdef void* pointers[3]
    cdef int oldest

    cdef bint intact(self, cnp.ndarray array, int k) noexcept
    cdef object take(self, void** pointer)


cdef bint has_shape(cnp.ndarray array, tuple shape)
cdef void* array_pointer(
    object array, str name, int typenum, tuple shape, bint writable, object errors) except NULL
cdef int check_no_overlap(list named, object errors) except -1
cdef cnp.ndarray as_column(object array, int typenum, Py_ssize_t n, str name)
cdef const int64_t* lane_pointer(object lanes, str name, Py_ssize_t num_envs, object errors) except NULL


# 1 plus the number of forks that lead to this process. A thread that was using an object does not exist in the child.
cdef int fork_generation


cdef inline int mark_busy(int* busy, str use, object errors) except -1:
    """Mark an object as busy, or raise if it is. The caller must clear the mark in a `finally` block.

    The `finally` block must be compiled too and follow at once, because a signal handler may raise between two lines of
    Python.
    """
    if busy[0] == fork_generation:
        raise errors.ConcurrentUseError(f"{use} by another thread; use one at a time")
    busy[0] = fork_generation
    return 0


cdef inline bint cut_off(int* busy) noexcept:
    """Return whether a fork has cut off the call that set the busy flag; if so, clear the flag."""
    if busy[0] == 0 or busy[0] == fork_generation:
        return False
    busy[0] = 0
    return True


cdef class CurrentCaller:
    cdef unsigned long thread   # the one that is inside, or 0
    cdef int generation         # `fork_generation` when it entered


cdef inline int clear_if_full(dict by_size) except -1:
    """Clear a cache of arrays, whose keys are numbers of rows, if it is full."""
    if len(by_size) == MAX_CACHED_SIZES:
        by_size.clear()
    return 0
