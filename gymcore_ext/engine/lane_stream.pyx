"""The random stream of a lane for NumPy's generators."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport rng_t

import numpy as np

cnp.import_array()


def bind_bit_generator(bit_generator, words):
    """Make a bit generator of NumPy draw from a row of `Batch.view_random`, uint64 [5].

    The bit generator must keep a reference to `words`.
    """
    cdef cnp.ndarray row = np.asarray(words)
    if cnp.PyArray_NBYTES(row) != sizeof(rng_t) or not cnp.PyArray_ISCARRAY(row):
        raise ValueError(f"words: expected {sizeof(rng_t)} contiguous bytes of a stream, got {words!r:.80}")
    (<bitgen_t*> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator"))[0] = bitgen_of(
        <rng_t*> cnp.PyArray_DATA(row))
