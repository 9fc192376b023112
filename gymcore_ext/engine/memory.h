/* Zeroed memory for lanes, on large pages where the system offers them: a step of a million lanes walks through a hundred
 * megabytes, and on 4 KiB pages a good part of its time would be address translation. */
#ifndef GYMCORE_MEMORY_H
#define GYMCORE_MEMORY_H

#include "Python.h"
#include "../include/gymcore/platform.h"
#if defined(__linux__)
#include <sys/mman.h>
#endif

static void *gymcore_zeroed(size_t size)
{
    void *memory = PyMem_RawCalloc(1, size);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t page = (size_t)1 << 21;
    if (memory && size >= 2 * page) {
        uintptr_t first = ((uintptr_t)memory + page - 1) & ~(uintptr_t)(page - 1);
        uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(page - 1);
        if (first < end)
            madvise((void *)first, end - first, MADV_HUGEPAGE); /* a wish: failure changes nothing */
    }
#endif
    return memory;
}

#endif
