"""Sums in the order in which NumPy adds up: the same bits as `numpy.mean` and `numpy.var` of a column."""

ctypedef fused real:
    float
    double


cdef inline real pairwise_sum(real* x, Py_ssize_t n) noexcept nogil:
    """The sum of n numbers in the order in which NumPy adds them up."""
    cdef Py_ssize_t i, k
    cdef real r[8]
    cdef real total
    if n < 8:
        total = 0
        for i in range(n):
            total += x[i]
        return total
    if n <= 128:
        for k in range(8):
            r[k] = x[k]
        i = 8
        while i < n - n % 8:
            for k in range(8):
                r[k] += x[i + k]
            i += 8
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
        while i < n:
            total += x[i]
            i += 1
        return total
    k = n // 2
    k -= k % 8
    return pairwise_sum(x, k) + pairwise_sum(x + k, n - k)


cdef inline void moments(real* x, Py_ssize_t n, real* mean, real* var) noexcept nogil:
    """Mean and variance of n > 0 numbers, which are overwritten."""
    cdef Py_ssize_t i
    mean[0] = pairwise_sum(x, n) / <real> n
    for i in range(n):
        x[i] = x[i] - mean[0]
        x[i] = x[i] * x[i]
    var[0] = pairwise_sum(x, n) / <real> n
