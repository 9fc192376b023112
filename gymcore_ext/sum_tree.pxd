"""A sum tree, from which leaves are drawn in proportion to their values.

A tree of `leaves` values, a power of two, is an array of `2 * leaves` numbers: leaf k is number `leaves + k`, and
number k < `leaves` is the sum of numbers 2k and 2k + 1. A sum is always computed from both parts, so rounding errors do
not accumulate. A batch goes up or down one level at a time: the steps of one leaf depend on each other, those of
different leaves do not.
"""
from libc.stdint cimport int64_t


cdef inline void update_sums(double* tree, Py_ssize_t leaves, int64_t* nodes, Py_ssize_t count) noexcept nogil:
    """Compute the sums above leaves whose values have changed. `nodes` has the leaves, and is overwritten."""
    cdef Py_ssize_t k, unique
    cdef int64_t node, last
    for k in range(count):
        nodes[k] += leaves
    while leaves > 1:
        leaves >>= 1
        unique, last = 0, 0
        for k in range(count):
            node = nodes[k] >> 1
            if node != last:  # neighbors often have the same parent
                tree[node] = tree[2 * node] + tree[2 * node + 1]
                nodes[unique] = last = node
                unique += 1
        count = unique


cdef inline void find_leaves(
    const double* tree, Py_ssize_t leaves, double* targets, int64_t* nodes, Py_ssize_t count,
) noexcept nogil:
    """Write to `nodes`, for each target, the first leaf at which the sum of all leaves up to it exceeds the target.

    The targets are at least 0 and below the sum of all leaves, which is positive. They are overwritten. A leaf of value
    0 is never chosen, however sums are rounded.
    """
    cdef Py_ssize_t k, level = leaves
    cdef double left
    cdef int64_t node, right
    for k in range(count):
        nodes[k] = 1
    while level > 1:
        level >>= 1
        for k in range(count):
            node = 2 * nodes[k]
            left = tree[node]
            right = (targets[k] >= left) & (tree[node + 1] > 0)
            targets[k] -= left * right
            nodes[k] = node + right
    for k in range(count):
        nodes[k] -= leaves
