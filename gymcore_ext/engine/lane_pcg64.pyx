"""The random stream of a lane as a bit generator of NumPy."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_New

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport rng_t

import copy
import threading

import numpy as np

cnp.import_array()


def detached_pcg64(dict state, object seed_seq=None):
    """Return a new numpy.random.PCG64 in the given state, for copies and pickles of a lane's stream."""
    generator = np.random.PCG64(seed_seq)
    generator.state = state
    return generator


cdef class LanePCG64:
    """Bit generator of one lane, for `numpy.random.Generator`: a view of its row of `Batch.view_random`.

    `state` reads and writes what numpy.random.PCG64.state does. Copies and pickles are numpy.random.PCG64 objects.
    `seed_seq` is the numpy.random.SeedSequence from which the stream was seeded, or None if it is unknown.
    """

    cdef object words
    cdef rng_t* rng
    cdef bitgen_t bitgen
    cdef readonly object capsule, lock
    cdef public object seed_seq

    def __cinit__(self, words):
        cdef cnp.ndarray array = np.asarray(words)
        if cnp.PyArray_NBYTES(array) != sizeof(rng_t) or not cnp.PyArray_ISCARRAY(array):
            raise ValueError(f"words: expected {sizeof(rng_t)} contiguous bytes of a stream, got {words!r:.80}")
        self.words = array
        self.rng = <rng_t*> cnp.PyArray_DATA(array)
        self.bitgen = bitgen_of(self.rng)
        self.capsule = PyCapsule_New(&self.bitgen, "BitGenerator", NULL)
        self.lock = threading.Lock()

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
        cdef object mask = (1 << 64) - 1
        try:
            name, state, increment = value["bit_generator"], int(value["state"]["state"]), int(value["state"]["inc"])
            halves = [int(value[key]) for key in ("has_uint32", "uinteger")]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"state: expected the state of a PCG64 bit generator, got {value!r} ({error!r})") from None
        # With an even increment all draws may be the same, and a draw below a number may never end.
        if (name != "PCG64" or min(state, increment, *halves) < 0 or max(state, increment) >> 128 or max(halves) >> 32
                or not increment & 1):
            raise ValueError(
                "state: expected the state of a PCG64 bit generator, with 128-bit numbers, an odd increment and a "
                f"32-bit half draw, got {value!r}")
        self.rng.state_high, self.rng.state_low = state >> 64, state & mask
        self.rng.increment_high, self.rng.increment_low = increment >> 64, increment & mask
        self.rng.has_uint32, self.rng.uinteger = 1 if halves[0] else 0, halves[1]

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
