"""The random stream of a lane for NumPy's generators."""
cimport cython
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_New

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport rng_t

import numpy as np

cnp.import_array()


@cython.no_gc_clear  # what draws has a pointer to `words`
cdef class LaneStream:
    """A row of `Batch.view_random` as NumPy's C interface for bit generators.

    Attributes:
        words: the row, uint64 [5], a view.
        capsule: the interface, for `numpy.random.Generator`.
    """

    cdef readonly cnp.ndarray words
    cdef readonly object capsule
    cdef bitgen_t bitgen

    def __cinit__(self, words):
        self.words = np.asarray(words)
        if cnp.PyArray_NBYTES(self.words) != sizeof(rng_t) or not cnp.PyArray_ISCARRAY(self.words):
            raise ValueError(f"words: expected {sizeof(rng_t)} contiguous bytes of a stream, got {words!r:.80}")
        self.bitgen = bitgen_of(<rng_t*> cnp.PyArray_DATA(self.words))
        self.capsule = PyCapsule_New(&self.bitgen, "BitGenerator", NULL)
