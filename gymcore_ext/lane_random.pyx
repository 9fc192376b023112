"""A NumPy bit generator over the random stream of one lane: its draws move the lane's own stream."""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint32_t, uint64_t

from gymcore_ext.engine cimport rng_double, rng_next32, rng_next64, rng_t

import threading

import numpy as np


cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void* state
        uint64_t (*next_uint64)(void* state) noexcept nogil
        uint32_t (*next_uint32)(void* state) noexcept nogil
        double (*next_double)(void* state) noexcept nogil
        uint64_t (*next_raw)(void* state) noexcept nogil


cdef uint64_t next_uint64(void* state) noexcept nogil:
    return rng_next64(<rng_t*> state)


cdef uint32_t next_uint32(void* state) noexcept nogil:
    return rng_next32(<rng_t*> state)


cdef double next_double(void* state) noexcept nogil:
    return rng_double(<rng_t*> state)


def detached_pcg64(dict state):
    """A numpy.random.PCG64 of its own in the given state: what a copied or unpickled lane stream becomes."""
    generator = np.random.PCG64()
    generator.state = state
    return generator


cdef class LanePCG64:
    """Bit generator of one lane, for `numpy.random.Generator`. A view: it keeps the lane's memory alive.

    `state` reads and writes what numpy.random.PCG64.state does. Copies and pickles are numpy.random.PCG64 objects.
    """

    cdef object owner
    cdef rng_t* rng
    cdef bitgen_t bitgen
    cdef readonly object capsule
    cdef readonly object lock

    @staticmethod
    cdef LanePCG64 view(object owner, rng_t* rng):
        cdef LanePCG64 self = LanePCG64.__new__(LanePCG64)
        self.owner = owner
        self.rng = rng
        self.bitgen.state = rng
        self.bitgen.next_uint64 = next_uint64
        self.bitgen.next_raw = next_uint64
        self.bitgen.next_uint32 = next_uint32
        self.bitgen.next_double = next_double
        self.capsule = PyCapsule_New(&self.bitgen, "BitGenerator", NULL)
        self.lock = threading.Lock()
        return self

    @property
    def state(self):
        return {
            "bit_generator": "PCG64",
            "state": {
                "state": (int(self.rng.state_high) << 64) | int(self.rng.state_low),
                "inc": (int(self.rng.increment_high) << 64) | int(self.rng.increment_low),
            },
            "has_uint32": int(self.rng.has_uint32),
            "uinteger": int(self.rng.uinteger),
        }

    @state.setter
    def state(self, value):
        if not isinstance(value, dict) or value.get("bit_generator") != "PCG64":
            raise ValueError(f"state: expected the state of a PCG64 bit generator, got {value!r}")
        cdef object mask = (1 << 64) - 1
        cdef object state = int(value["state"]["state"]), increment = int(value["state"]["inc"])
        cdef uint32_t has_uint32 = 1 if value["has_uint32"] else 0, uinteger = int(value["uinteger"])
        cdef uint64_t state_high = state >> 64, state_low = state & mask
        cdef uint64_t increment_high = increment >> 64, increment_low = increment & mask
        self.rng.state_high = state_high
        self.rng.state_low = state_low
        self.rng.increment_high = increment_high
        self.rng.increment_low = increment_low
        self.rng.has_uint32 = has_uint32
        self.rng.uinteger = uinteger

    def random_raw(self, size=None, output=True):
        """Raw 64-bit draws, as numpy.random.BitGenerator.random_raw gives them."""
        return np.random.Generator(self).integers(0, 2**64, size=size, dtype=np.uint64) if output else None

    def __reduce__(self):
        return detached_pcg64, (self.state,)

    def __deepcopy__(self, memo):
        return detached_pcg64(self.state)


def lane_generator(object owner, size_t address):
    """numpy.random.Generator over the gymcore_rng at `address`, which lives as long as `owner`."""
    return np.random.Generator(LanePCG64.view(owner, <rng_t*> address))
