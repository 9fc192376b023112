"""A NumPy bit generator over the random stream of one lane: its draws move the lane's own stream."""
from cpython.pycapsule cimport PyCapsule_New
from gymcore_ext.engine.bitgen cimport bind_bitgen, bitgen_t
from gymcore_ext.engine.step cimport rng_t

import copy
import threading

import numpy as np


def detached_pcg64(dict state, object seed_seq=None):
    """A numpy.random.PCG64 of its own in the given state: what a copied or unpickled lane stream becomes."""
    generator = np.random.PCG64(seed_seq)
    generator.state = state
    return generator


cdef class LanePCG64:
    """Bit generator of one lane, for `numpy.random.Generator`. A view: it keeps the lane's memory alive.

    `state` reads and writes what numpy.random.PCG64.state does. Copies and pickles are numpy.random.PCG64 objects.
    `seed_seq` is the numpy.random.SeedSequence from which the stream was seeded, None where nobody has said.
    """

    cdef object owner
    cdef rng_t* rng
    cdef bitgen_t bitgen
    cdef readonly object capsule
    cdef readonly object lock
    cdef public object seed_seq

    @staticmethod
    cdef LanePCG64 view(object owner, rng_t* rng):
        cdef LanePCG64 self = LanePCG64.__new__(LanePCG64)
        self.owner = owner
        self.rng = rng
        bind_bitgen(&self.bitgen, rng)
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
        try:
            numbers = [int(value["state"][name]) for name in ("state", "inc")]
            halves = [int(value[name]) for name in ("has_uint32", "uinteger")]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"state: expected the state of a PCG64 bit generator, got {value!r} ({error!r})") from None
        if min(*numbers, *halves) < 0 or max(numbers) >> 128 or max(halves) >> 32:
            raise ValueError(f"state: expected 128-bit numbers and a 32-bit half draw, got {value!r}")
        cdef object mask = (1 << 64) - 1
        self.rng.state_high = numbers[0] >> 64
        self.rng.state_low = numbers[0] & mask
        self.rng.increment_high = numbers[1] >> 64
        self.rng.increment_low = numbers[1] & mask
        self.rng.has_uint32 = 1 if halves[0] else 0
        self.rng.uinteger = halves[1]

    def random_raw(self, size=None, output=True):
        """Raw 64-bit draws, as numpy.random.BitGenerator.random_raw gives them."""
        drawn = np.random.Generator(self).integers(0, 2**64, size=size, dtype=np.uint64)
        if not output:
            return None
        return int(drawn) if size is None else drawn

    def spawn(self, int n_children):
        """Independent bit generators, as numpy.random.PCG64.spawn gives them: further calls give others.

        Raises:
            TypeError: it is not known from which seed the stream came.
        """
        if self.seed_seq is None:
            raise TypeError("spawn: the seed of this random stream is not known; seed it by reset(seed=...)")
        return [np.random.PCG64(seed) for seed in self.seed_seq.spawn(n_children)]

    def __reduce__(self):
        return detached_pcg64, (self.state, self.seed_seq)

    def __deepcopy__(self, memo):
        return detached_pcg64(self.state, copy.deepcopy(self.seed_seq, memo))


def lane_generator(object owner, size_t address):
    """numpy.random.Generator over the gymcore_rng at `address`, which lives as long as `owner`."""
    return np.random.Generator(LanePCG64.view(owner, <rng_t*> address))
