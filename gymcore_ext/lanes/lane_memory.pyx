"""Memory for the arrays of compiled functions: a block for each thread, which each lane uses again."""
from libc.stdint cimport uint64_t


cdef extern from *:
    """
    #include "gymcore/platform.h"
    #include <stdint.h>
    #include <string.h>

    #define GYMCORE_LANE_MEMORY 16384
    #define GYMCORE_LARGEST 2048
    #define GYMCORE_HEADER 48 /* size of NRT_MemInfo in Numba */

    static GYMCORE_THREAD union { char bytes[GYMCORE_LANE_MEMORY]; uint64_t aligned; } gymcore_block;
    static GYMCORE_THREAD uint64_t gymcore_used;
    static void* (*gymcore_other)(size_t);

    static void gymcore_use_other(size_t address) { gymcore_other = (void* (*)(size_t)) address; }

    static void gymcore_start_lane(void) { gymcore_used = 0; }

    /* Return the header of an array and the array. In the block, the count of references is so large
       that it never becomes 0. */
    static void* gymcore_allocate(uint64_t bytes) {
        char* header = gymcore_block.bytes + gymcore_used;
        uint64_t count = (uint64_t) 1 << 62;
        if (bytes > GYMCORE_LARGEST || bytes > GYMCORE_LANE_MEMORY - gymcore_used)
            return gymcore_other((size_t) bytes - GYMCORE_HEADER);
        gymcore_used += bytes;
        memset(header, 0, GYMCORE_HEADER);
        memcpy(header, &count, sizeof count);
        return header;
    }
    """
    void gymcore_use_other(size_t address)
    void gymcore_start_lane()
    void* gymcore_allocate(uint64_t bytes)


# The addresses of the functions that code calls for a new lane and for an array.
START_LANE, ALLOCATE = <size_t> &gymcore_start_lane, <size_t> &gymcore_allocate


def use_other(size_t address):
    """Set the function that allocates other arrays; its argument is their size without the header."""
    gymcore_use_other(address)
