"""Means and variances that batches are added to, and arrays divided by them.

The results are those of NumPy's `mean(axis=0)` and `var(axis=0)` and of the same arithmetic on whole arrays, bit for
bit, in one pass over a block of columns: rows are added in order, and single columns in NumPy's pairwise order.
"""
cimport numpy as cnp
from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.wrappers.sums cimport moments, real
from libc.math cimport sqrt
from libc.stdint cimport int64_t, int32_t, uint8_t
from libc.stdlib cimport free, malloc

import numpy as np

cnp.import_array()

ctypedef fused element:
    float
    double
    uint8_t
    int32_t
    int64_t

cdef enum:
    BLOCK = 512            # columns at a time: what is read again is still in the cache
    GROUP = 8              # columns whose sums are in registers
    NARROW = 128           # shorter rows are scaled several at a time


# --- columns ----------------------------------------------------------------------------------------------------------


cdef bint column_moments(const element* x, Py_ssize_t n, real* mean, real* var) noexcept nogil:
    """Mean and variance of one column; False if there is no memory."""
    cdef Py_ssize_t i
    cdef real* copy = <real*> malloc(n * sizeof(real))
    if copy == NULL:
        return False
    for i in range(n):
        copy[i] = <real> x[i]
    moments(copy, n, mean, var)
    free(copy)
    return True


cdef inline void group_moments(
    const element* x, Py_ssize_t n, Py_ssize_t size, const int width, real* mean, real* var
) noexcept nogil:
    """Means and variances of a few columns of rows that are `size` apart; the sums stay in registers."""
    cdef Py_ssize_t i
    cdef int j
    cdef real sums[GROUP]
    cdef real means[GROUP]
    cdef real apart
    for j in range(width):
        sums[j] = 0
    for i in range(n):
        for j in range(width):
            sums[j] += <real> x[i * size + j]
    for j in range(width):
        means[j] = sums[j] / <real> n
        sums[j] = 0
    for i in range(n):
        for j in range(width):
            apart = <real> x[i * size + j] - means[j]
            sums[j] += apart * apart
    for j in range(width):
        mean[j] = means[j]
        var[j] = sums[j] / <real> n


cdef void block_moments(
    const element* x, Py_ssize_t n, Py_ssize_t size, Py_ssize_t width, real* mean, real* var
) noexcept nogil:
    """Means and variances of `width` columns of rows that are `size` apart."""
    cdef Py_ssize_t j = 0
    while j + GROUP <= width:
        group_moments(x + j, n, size, GROUP, mean + j, var + j)
        j += GROUP
    if j + 4 <= width:
        group_moments(x + j, n, size, 4, mean + j, var + j)
        j += 4
    if j + 2 <= width:
        group_moments(x + j, n, size, 2, mean + j, var + j)
        j += 2
    if j < width:
        group_moments(x + j, n, size, 1, mean + j, var + j)


cdef void join(
    const real* mean, const real* var, double count, double batch_count, Py_ssize_t width,
    real* batch_mean, real* batch_var
) noexcept nogil:
    """Chan's formula, in the order of `update_mean_var_count_from_moments`; in place of the batch's moments."""
    cdef Py_ssize_t j
    cdef real total = <real> (count + batch_count), old = <real> count, new = <real> batch_count
    cdef real delta, squares
    for j in range(width):
        delta = batch_mean[j] - mean[j]
        squares = var[j] * old + batch_var[j] * new
        squares = squares + delta * delta * old * new / total
        batch_mean[j] = mean[j] + delta * new / total
        batch_var[j] = squares / total


cdef void scale(
    const element* x, Py_ssize_t n, Py_ssize_t size, Py_ssize_t width, const real* mean, const real* var,
    double epsilon, float* out
) noexcept nogil:
    """(x - mean) / sqrt(var + epsilon), rounded to float32."""
    cdef Py_ssize_t i = 0, j, rows = 1
    cdef real means[BLOCK]
    cdef real deviations[BLOCK]
    cdef const element* row
    cdef float* target
    for j in range(width):
        means[j] = mean[j]
        deviations[j] = <real> sqrt(var[j] + <real> epsilon)
    if size < NARROW:
        # Several rows at a time, that the inner loop is long.
        rows = max(<Py_ssize_t> 1, min(n, NARROW // size))
        for j in range(width, width * rows):
            means[j] = means[j - width]
            deviations[j] = deviations[j - width]
    while i < n:
        rows = min(rows, n - i)
        row = x + i * size
        target = out + i * size
        for j in range(width * rows):
            target[j] = <float> ((<real> row[j] - means[j]) / deviations[j])
        i += rows


cdef int run(
    const element* x, Py_ssize_t n, Py_ssize_t size, const real* mean, const real* var, double count,
    double epsilon, real* new_mean, real* new_var, float* out
) except -1 nogil:
    """Update (unless `new_mean` is NULL) and normalise (unless `out` is NULL), block by block."""
    cdef Py_ssize_t j = 0, width
    while j < size:
        width = min(<Py_ssize_t> BLOCK, size - j)
        if new_mean != NULL:
            if size == 1:
                if not column_moments(x, n, new_mean, new_var):
                    with gil:
                        raise MemoryError(f"no memory for {n} numbers")
            else:
                block_moments(x + j, n, size, width, new_mean + j, new_var + j)
            join(mean + j, var + j, count, <double> n, width, new_mean + j, new_var + j)
            if out != NULL:
                scale(x + j, n, size, width, new_mean + j, new_var + j, epsilon, out + j)
        else:
            scale(x + j, n, size, width, mean + j, var + j, epsilon, out + j)
        j += width
    return 0


# --- arrays -----------------------------------------------------------------------------------------------------------


cdef int statistics_type(int typenum) noexcept:
    """The type of the statistics of elements of a type; -1 if NumPy has to do it."""
    if typenum == cnp.NPY_FLOAT:
        return cnp.NPY_FLOAT
    if typenum in (cnp.NPY_DOUBLE, cnp.NPY_UINT8, cnp.NPY_INT32, cnp.NPY_INT64):
        return cnp.NPY_DOUBLE
    return -1


cdef bint fits(object array, int typenum, int rank, const cnp.npy_intp* sizes) noexcept:
    """Whether an object is a C-contiguous array of this type and shape."""
    cdef cnp.ndarray checked
    cdef int axis
    if not isinstance(array, cnp.ndarray):
        return False
    checked = array
    if (cnp.PyArray_TYPE(checked) != typenum or not cnp.PyArray_ISCARRAY_RO(checked)
            or cnp.PyArray_NDIM(checked) != rank):
        return False
    for axis in range(rank):
        if cnp.PyArray_DIM(checked, axis) != sizes[axis]:
            return False
    return True


cdef int run_typed(
    int typenum, const void* x, Py_ssize_t n, Py_ssize_t size, const void* mean, const void* var, double count,
    double epsilon, void* new_mean, void* new_var, float* out
) except -1 nogil:
    """`run` for a type that has statistics."""
    cdef const double* old_mean = <const double*> mean
    cdef const double* old_var = <const double*> var
    cdef double* to_mean = <double*> new_mean
    cdef double* to_var = <double*> new_var
    if typenum == cnp.NPY_FLOAT:
        return run(<const float*> x, n, size, <const float*> mean, <const float*> var, count, epsilon,
                   <float*> new_mean, <float*> new_var, out)
    if typenum == cnp.NPY_DOUBLE:
        return run(<const double*> x, n, size, old_mean, old_var, count, epsilon, to_mean, to_var, out)
    if typenum == cnp.NPY_UINT8:
        return run(<const uint8_t*> x, n, size, old_mean, old_var, count, epsilon, to_mean, to_var, out)
    if typenum == cnp.NPY_INT32:
        return run(<const int32_t*> x, n, size, old_mean, old_var, count, epsilon, to_mean, to_var, out)
    return run(<const int64_t*> x, n, size, old_mean, old_var, count, epsilon, to_mean, to_var, out)


cdef object update_double(cnp.ndarray batch, cnp.ndarray mean, cnp.ndarray var, double count):
    """A float32 batch added to float64 statistics: its moments are float32, as NumPy's are."""
    cdef Py_ssize_t j, n = cnp.PyArray_DIM(batch, 0), size = cnp.PyArray_SIZE(mean)
    cdef const float* x = <const float*> cnp.PyArray_DATA(batch)
    cdef const double* old_mean = <const double*> cnp.PyArray_DATA(mean)
    cdef const double* old_var = <const double*> cnp.PyArray_DATA(var)
    cdef cnp.ndarray new_mean = np.empty_like(mean), new_var = np.empty_like(var)
    cdef double* to_mean = <double*> cnp.PyArray_DATA(new_mean)
    cdef double* to_var = <double*> cnp.PyArray_DATA(new_var)
    cdef double total = count + <double> n, delta, squares
    cdef bint done = True
    cdef float* moments_of = <float*> malloc((2 * size + 1) * sizeof(float))
    if moments_of == NULL:
        raise MemoryError(f"no memory for {2 * size} numbers")
    with nogil:
        if size == 1:
            done = column_moments(x, n, moments_of, moments_of + 1)
        else:
            block_moments(x, n, size, size, moments_of, moments_of + size)
        for j in range(size):
            delta = <double> moments_of[j] - old_mean[j]
            squares = old_var[j] * count + <double> (moments_of[size + j] * <float> n)
            squares = squares + delta * delta * count * <double> n / total
            to_mean[j] = old_mean[j] + delta * <double> n / total
            to_var[j] = squares / total
        free(moments_of)
    if not done:
        raise MemoryError(f"no memory for {n} numbers")
    return new_mean, new_var


cdef class ColumnStats:
    """Adds batches to statistics and normalises them, in one call.

    It holds no statistics, only the arrays that it hands out in turn (see `gymcore_ext.arrays.ArrayRing`).

    Args:
        rows: number of rows of the batches it is mostly called with; 0 for elements without the axis of a batch.
        shape: shape of one row.

    Example:
        >>> import numpy as np
        >>> stats = ColumnStats(2, (1,))
        >>> x = np.float32([[1], [3]])
        >>> out, mean, var = stats.normalize(x, np.float32([0]), np.float32([1]), 0.0, 1e-8, True)
        >>> out.tolist(), mean, var
        ([[-1.0], [1.0]], array([2.], dtype=float32), array([1.], dtype=float32))
    """
    cdef int rank
    cdef Py_ssize_t rows, size
    cdef cnp.npy_intp sizes[64]
    cdef tuple shape
    cdef ArrayRing outputs
    cdef ArrayRing float_means, float_vars, double_means, double_vars

    def __cinit__(self, Py_ssize_t rows, tuple shape):
        cdef int axis
        self.rows = rows
        self.shape = shape
        self.rank = len(shape)
        self.size = 1
        for axis in range(self.rank):
            self.sizes[axis] = shape[axis]
            self.size *= self.sizes[axis]
        self.outputs = ArrayRing((rows, *shape) if rows else shape, np.float32)
        self.float_means, self.float_vars = ArrayRing(shape, np.float32), ArrayRing(shape, np.float32)
        self.double_means, self.double_vars = ArrayRing(shape, np.float64), ArrayRing(shape, np.float64)

    def normalize(self, object x, object mean, object var, double count, double epsilon, bint update):
        """`(x - mean) / sqrt(var + epsilon)`, with x added to the statistics before.

        Args:
            x: `[n, *shape]`, or `shape` if this was made with 0 rows.
            mean: `shape`, float32 if x is that, else float64; not changed.
            var: likewise.
            count: what they count for.
            epsilon: added to the variance.
            update: whether x is added.

        Returns:
            The result, a float32 array of the shape of x that the caller may keep, and mean and var with x in them: new
            arrays, or those that were given. None if types or layouts are such that NumPy has to do it.
        """
        cdef cnp.ndarray batch, old_mean, old_var, out, new_mean, new_var
        cdef int typenum, kind, axis
        cdef Py_ssize_t n = 1
        cdef void* outputs
        cdef void* means = NULL
        cdef void* variances = NULL
        if not isinstance(x, cnp.ndarray):
            return None
        batch = x
        typenum = cnp.PyArray_TYPE(batch)
        kind = statistics_type(typenum)
        if kind < 0 or not cnp.PyArray_ISCARRAY_RO(batch) or not cnp.PyArray_NDIM(batch) == self.rank + (self.rows > 0):
            return None
        for axis in range(self.rank):
            if cnp.PyArray_DIM(batch, axis + (self.rows > 0)) != self.sizes[axis]:
                return None
        if self.rank == 0:
            mean, var = np.asarray(mean), np.asarray(var)
        if not fits(mean, kind, self.rank, self.sizes) or not fits(var, kind, self.rank, self.sizes):
            return None
        old_mean, old_var = mean, var
        if self.rows:
            n = cnp.PyArray_DIM(batch, 0)
        if n == self.rows or self.rows == 0:
            out = self.outputs.take(&outputs)
        else:
            out = np.empty((n, *self.shape), np.float32)
            outputs = cnp.PyArray_DATA(out)
        if update and n:
            if kind == cnp.NPY_FLOAT:
                new_mean, new_var = self.float_means.take(&means), self.float_vars.take(&variances)
            else:
                new_mean, new_var = self.double_means.take(&means), self.double_vars.take(&variances)
        else:
            new_mean, new_var = old_mean, old_var
        with nogil:
            run_typed(
                typenum, cnp.PyArray_DATA(batch), n, self.size, cnp.PyArray_DATA(old_mean), cnp.PyArray_DATA(old_var),
                count, epsilon, means, variances, <float*> outputs)
        if self.rank == 0:
            return out[()], new_mean[()], new_var[()]
        return out, new_mean, new_var

    def __reduce__(self):
        return ColumnStats, (self.rows, self.shape)

    @staticmethod
    def update(object x, object mean, object var, double count):
        """Mean and variance with a batch in them: new arrays.

        Args:
            x: `[n, *shape]`, n > 0.
            mean: as for `normalize`; also float64 if x is float32.
            var: likewise.
            count: what they count for.

        Returns:
            mean and var; None if NumPy has to do it.

        Example:
            >>> import numpy as np
            >>> ColumnStats.update(np.array([[1.0], [3.0]]), np.zeros(1), np.ones(1), 0.0)
            (array([2.]), array([1.]))
        """
        cdef cnp.ndarray batch, old_mean, old_var, new_mean, new_var
        cdef int typenum, kind, rank
        cdef Py_ssize_t n, size
        if not isinstance(x, cnp.ndarray):
            return None
        batch = x
        typenum = cnp.PyArray_TYPE(batch)
        kind = statistics_type(typenum)
        rank = cnp.PyArray_NDIM(batch) - 1
        if kind < 0 or rank < 0 or not cnp.PyArray_ISCARRAY_RO(batch) or not cnp.PyArray_DIM(batch, 0):
            return None
        if rank == 0:
            mean, var = np.asarray(mean), np.asarray(var)
        if kind == cnp.NPY_FLOAT and fits(mean, cnp.NPY_DOUBLE, rank, cnp.PyArray_DIMS(batch) + 1) and fits(
                var, cnp.NPY_DOUBLE, rank, cnp.PyArray_DIMS(batch) + 1):
            new_mean, new_var = update_double(batch, mean, var, count)
            return (new_mean, new_var) if rank else (new_mean[()], new_var[()])
        if (not fits(mean, kind, rank, cnp.PyArray_DIMS(batch) + 1)
                or not fits(var, kind, rank, cnp.PyArray_DIMS(batch) + 1)):
            return None
        old_mean, old_var = mean, var
        new_mean, new_var = np.empty_like(old_mean), np.empty_like(old_var)
        n = cnp.PyArray_DIM(batch, 0)
        size = cnp.PyArray_SIZE(old_mean)
        with nogil:
            run_typed(
                typenum, cnp.PyArray_DATA(batch), n, size, cnp.PyArray_DATA(old_mean), cnp.PyArray_DATA(old_var),
                count, 0.0, cnp.PyArray_DATA(new_mean), cnp.PyArray_DATA(new_var), NULL)
        return (new_mean, new_var) if rank else (new_mean[()], new_var[()])
