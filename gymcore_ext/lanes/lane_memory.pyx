"""Memory for the arrays of compiled functions: a block for each thread, which each lane uses again."""


cdef extern from *:
    """
    #include "gymcore/platform.h"
    #include <stdint.h>

    #define GYMCORE_BLOCK_SIZE 16384

    /* The first number is that of the bytes in use after byte 16. */
    static GYMCORE_THREAD uint64_t gymcore_block[GYMCORE_BLOCK_SIZE / 8];

    static void* gymcore_block_of_thread(void) { return gymcore_block; }
    """
    const size_t GYMCORE_BLOCK_SIZE
    void* gymcore_block_of_thread()


# The address of the function that returns the block of the thread, and the size of it in bytes.
BLOCK, BLOCK_SIZE = <size_t> &gymcore_block_of_thread, GYMCORE_BLOCK_SIZE
