"""Bounds of the spaces of batches: one row repeated, rows stacked, limits checked, many compared with one; and seeds.

Arrays of bounds are all that is known here. What a Box is, and what happens to bounds that do not fit, is Python's
business: functions that cannot tell (float16, long double, a foreign byte order, subclasses of arrays) say so, and
the caller goes the general way.
"""
cimport numpy as cnp
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from gymcore_ext.copying cimport copy_bytes

import numpy as np

cnp.import_array()

cdef extern from "gymcore/rng.h":
    ctypedef struct rng_t "gymcore_rng":
        pass
    void rng_seed "gymcore_rng_seed"(rng_t* rng, const uint32_t* words, int count) noexcept nogil
    uint32_t rng_next32 "gymcore_rng_next32"(rng_t* rng) noexcept nogil

ctypedef fused number_t:
    float
    double
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t

# Rows are copied in blocks of about this many bytes, which stay in the first cache while they are read again.
cdef enum:
    BLOCK = 16384


def repeat(row, Py_ssize_t n):
    """`n` copies of an array along a new first axis.

    Args:
        row: Array of numbers, any shape and strides.
        n: How many; 0 is allowed.

    Returns:
        A new C-contiguous, writable array [n, *row.shape] of the dtype of `row`.

    Raises:
        ValueError: `n` is negative.
        TypeError: `row` is not an array, or one of Python objects.
    """
    cdef cnp.ndarray source = plain(row, "row"), result
    cdef const char* first = <const char*> cnp.PyArray_DATA(source)
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(source)
    cdef bint uniform
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    shape = (n, *(<object> row).shape)
    uniform = size > 0 and (size == 1 or memcmp(first, first + 1, size - 1) == 0)
    if uniform and first[0] == 0:
        return np.zeros(shape, source.dtype)  # pages that nobody reads are never touched
    result = np.empty(shape, source.dtype)
    fill(<char*> cnp.PyArray_DATA(result), cnp.PyArray_NBYTES(result), first, size, uniform)
    return result


cdef void fill(char* to, Py_ssize_t total, const char* row, Py_ssize_t size, bint uniform):
    """Write copies of a row of `size` bytes up to `total`, a multiple of it."""
    cdef Py_ssize_t done = size, block
    if total == 0:
        return
    with nogil:
        if uniform:
            memset(to, row[0], total)
        else:
            copy_bytes(to, row, size)
            while done < total and done < BLOCK:
                block = min(done, total - done)
                copy_bytes(to + done, to, block)
                done += block
            block = done
            while done < total:
                copy_bytes(to + done, to, min(block, total - done))
                done += block


def stack(arrays):
    """Arrays of one shape and dtype as the rows of a new one.

    Args:
        arrays: A non-empty sequence of arrays of numbers.

    Returns:
        A new C-contiguous, writable array [len(arrays), *shape].

    Raises:
        ValueError: No arrays, or shapes or dtypes that differ; the message names the first one that does.
        TypeError: An element is not an array, or one of Python objects.
    """
    cdef list rows = list(arrays)
    cdef Py_ssize_t i, size, n = len(rows)
    cdef cnp.ndarray first, source, result
    cdef char* to
    if n == 0:
        raise ValueError("arrays: expected at least one array, got none")
    first = plain(rows[0], "arrays", 0)
    result = np.empty((n, *(<object> rows[0]).shape), first.dtype)
    to = <char*> cnp.PyArray_DATA(result)
    size = cnp.PyArray_NBYTES(first)
    for i in range(n):
        source = plain(rows[i], "arrays", i)
        if not alike(first, source):
            raise ValueError(
                f"arrays[{i}]: expected {first.dtype} array of shape {rows[0].shape}, "
                f"got {source.dtype} {rows[i].shape}"
            )
        copy_bytes(to + i * size, cnp.PyArray_DATA(source), size)
    return result


def limits(low, high):
    """Check bounds of one shape and dtype, and tell which are bounds at all.

    Args:
        low: Lower bounds, array of numbers.
        high: Upper bounds, array of the same shape and dtype.

    Returns:
        None if this cannot be told here, or something is wrong: other types of arrays, shapes or dtypes that differ,
        a NaN, or a lower bound above its upper bound. Else two new bool arrays of the shape, as `Box.bounded_below`
        and `Box.bounded_above`: False where `low` is -inf, and where `high` is inf.
    """
    cdef cnp.ndarray lower, upper
    if not (cnp.PyArray_CheckExact(low) and cnp.PyArray_CheckExact(high)) or not alike(low, high):
        return None
    if not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray> low):
        return None
    lower = cnp.PyArray_FROM_OF(low, cnp.NPY_ARRAY_CARRAY_RO)
    upper = cnp.PyArray_FROM_OF(high, cnp.NPY_ARRAY_CARRAY_RO)
    cdef bytes kind = (<str> lower.dtype.kind).encode()
    cdef int size = cnp.PyArray_ITEMSIZE(lower)
    if kind == b"f":
        if size == 4:
            return bounded[float](lower, upper, True)
        if size == 8:
            return bounded[double](lower, upper, True)
    elif kind == b"i":
        if size == 1:
            return bounded[int8_t](lower, upper, False)
        if size == 2:
            return bounded[int16_t](lower, upper, False)
        if size == 4:
            return bounded[int32_t](lower, upper, False)
        if size == 8:
            return bounded[int64_t](lower, upper, False)
    elif kind == b"u" or kind == b"b":
        if size == 1:
            return bounded[uint8_t](lower, upper, False)
        if size == 2:
            return bounded[uint16_t](lower, upper, False)
        if size == 4:
            return bounded[uint32_t](lower, upper, False)
        if size == 8:
            return bounded[uint64_t](lower, upper, False)
    return None


cdef object bounded(cnp.ndarray lower, cnp.ndarray upper, bint floating, number_t* _=NULL):
    """The two bool arrays of `limits`, or None; both arrays C-contiguous and of the dtype `number_t`."""
    cdef const number_t* low = <const number_t*> cnp.PyArray_DATA(lower)
    cdef const number_t* high = <const number_t*> cnp.PyArray_DATA(upper)
    cdef Py_ssize_t i, count = cnp.PyArray_SIZE(lower)
    cdef bint ordered = True
    cdef cnp.ndarray below, above
    cdef uint8_t* is_below
    cdef uint8_t* is_above
    for i in range(count):
        ordered &= low[i] <= high[i]  # never true of a NaN
    if not ordered:
        return None
    shape = (<object> lower).shape
    below, above = np.empty(shape, bool), np.empty(shape, bool)
    is_below, is_above = <uint8_t*> cnp.PyArray_DATA(below), <uint8_t*> cnp.PyArray_DATA(above)
    if not floating:
        memset(is_below, 1, count)
        memset(is_above, 1, count)
    else:
        for i in range(count):
            is_below[i] = <double> low[i] != -INFINITY
            is_above[i] = <double> high[i] != INFINITY
    return below, above


def differing(reference, arrays):
    """Where a list of arrays has others than `reference`.

    Args:
        reference: An array of numbers.
        arrays: A list of arrays.

    Returns:
        The indices, in order, of the arrays that have not the very type, dtype, shape and bytes of `reference`. Arrays
        with equal numbers may be among them (0.0 and -0.0): compare these again.
    """
    cdef cnp.ndarray wanted, other
    cdef Py_ssize_t i, size
    cdef const void* data
    cdef list found = []
    cdef bint comparable = cnp.PyArray_CheckExact(reference)
    wanted = plain(reference, "reference")
    size = cnp.PyArray_NBYTES(wanted)
    data = cnp.PyArray_DATA(wanted)
    for i, array in enumerate(arrays):
        if array is reference:
            continue
        if comparable and cnp.PyArray_CheckExact(array) and alike(wanted, array):
            other = plain(array, "arrays")
            if memcmp(data, cnp.PyArray_DATA(other), size) == 0:
                continue
        found.append(i)
    return found


cdef cnp.ndarray plain(object array, str name, Py_ssize_t place=-1):
    """The array itself if it is C-contiguous, else a copy that is; its bytes are all there is to it."""
    if not cnp.PyArray_Check(array) or not is_numeric(array):
        if place >= 0:
            name = f"{name}[{place}]"
        what = array.dtype if cnp.PyArray_Check(array) else type(array).__name__
        raise TypeError(f"{name}: expected an array of numbers, got {what}")
    if cnp.PyArray_CheckExact(array) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray> array):
        return array
    return np.array(array, order="C")


cdef bint is_numeric(cnp.ndarray array):
    """Whether the elements are numbers or bools, which NumPy's list of types begins with."""
    cdef int typenum = cnp.PyArray_TYPE(array)
    return typenum <= cnp.NPY_CLONGDOUBLE or typenum == cnp.NPY_FLOAT16


cdef bint alike(cnp.ndarray one, cnp.ndarray other):
    """Whether two arrays have equal dtypes and shapes."""
    cdef int axis, rank = cnp.PyArray_NDIM(one)
    if cnp.PyArray_NDIM(other) != rank:
        return False
    for axis in range(rank):
        if cnp.PyArray_DIM(one, axis) != cnp.PyArray_DIM(other, axis):
            return False
    return cnp.PyArray_EquivArrTypes(one, other)


def subseeds(seed, Py_ssize_t count):
    """The seeds that a space seeded with `seed` draws for the spaces it is made of.

    Args:
        seed: A non-negative int of any size.
        count: How many.

    Returns:
        `numpy.random.Generator(numpy.random.PCG64(seed)).integers(2**31 - 1, size=count).tolist()`, at a twentieth
        of the time.
    """
    cdef bytes words = seed.to_bytes(4 * max(1, (seed.bit_length() + 31) // 32), "little")
    cdef uint32_t[64] entropy
    cdef Py_ssize_t i, size = len(words) // 4
    cdef rng_t rng
    if size > 64:
        return np.random.Generator(np.random.PCG64(seed)).integers(2**31 - 1, size=count).tolist()
    for i in range(size):
        entropy[i] = (
            <uint8_t> words[4 * i] | <uint32_t> <uint8_t> words[4 * i + 1] << 8
            | <uint32_t> <uint8_t> words[4 * i + 2] << 16 | <uint32_t> <uint8_t> words[4 * i + 3] << 24
        )
    rng_seed(&rng, entropy, <int> size)
    return [below_2_31_minus_1(&rng) for _ in range(count)]


cdef uint32_t below_2_31_minus_1(rng_t* rng) noexcept:
    """A number in [0, 2**31 - 1), by Lemire's multiplication and rejection (2019) as NumPy has it."""
    cdef uint32_t bound = 0x7fffffff, threshold = 2  # 2**32 mod bound
    cdef uint64_t product = <uint64_t> rng_next32(rng) * bound
    while <uint32_t> product < threshold:
        product = <uint64_t> rng_next32(rng) * bound
    return product >> 32
