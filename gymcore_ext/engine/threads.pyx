"""Threads that share the chunks of a batch with the one that asks; they do not live through a fork."""
from gymcore_ext.engine.step cimport pool_free, pool_new

import os

# Raised in the child of a fork, where the threads of every pool are gone.
cdef int fork_generation = 0


def _count_fork():
    global fork_generation
    fork_generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


cdef class Threads:
    """As many threads as `count`, the asking one among them.

    They share every job; or with `helpers` only what is faster shared, and so many of them are woken for it.
    """

    def __cinit__(self, int count, int helpers):
        self.count = count
        self.chooses = helpers >= 0
        self.helpers = helpers if self.chooses else count - 1

    def __dealloc__(self):
        self.stop()

    cdef int start(self) except -1:
        """Have a pool of this process, if there is more than one thread."""
        if self.count == 1 or (self.pool != NULL and self.generation == fork_generation):
            return 0
        self.pool = pool_new(self.count, self.chooses)
        self.generation = fork_generation
        if self.pool == NULL:
            raise RuntimeError(f"num_threads: the system gave no {self.count} threads")
        return 0

    cdef void stop(self) noexcept:
        """End the threads. In the child of a fork they do not exist: their memory is left alone."""
        if self.pool != NULL and self.generation == fork_generation:
            pool_free(self.pool)
        self.pool = NULL
