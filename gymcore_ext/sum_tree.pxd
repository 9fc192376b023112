"""A sum tree, from which leaves are drawn in proportion to their values.

A tree is an array of levels. The first one has the leaves, and each number of the next level is the sum of eight
numbers of the one below, which are one cache line; every level ends with zeros up to a multiple of eight. The last
level has eight numbers. A sum is always computed from all of its parts, so rounding errors do not accumulate. A batch
goes up or down one level at a time: the steps of one leaf depend on each other, those of different leaves do not.
"""
from libc.stdint cimport int64_t


cdef inline int64_t level_width(int64_t count) noexcept nogil:
    return (count + 7) & ~(<int64_t> 7)


cdef inline int64_t tree_size(int64_t leaves) noexcept nogil:
    """Return the number of elements of a tree."""
    cdef int64_t width = level_width(leaves), size = width
    while width > 8:
        width = level_width(width >> 3)
        size += width
    return size


cdef inline double sum_of(const double* parts) noexcept nogil:
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]))


cdef inline void update_sums(double* tree, int64_t leaves, int64_t* nodes, Py_ssize_t count) noexcept nogil:
    """Compute the sums above leaves whose values have changed. `nodes` has the leaves, and is overwritten."""
    cdef Py_ssize_t k, unique
    cdef int64_t node, last, width = level_width(leaves)
    while width > 8:
        unique, last = 0, -1
        for k in range(count):
            node = nodes[k] >> 3
            if node != last:  # neighbors often have the same parent
                tree[width + node] = sum_of(tree + 8 * node)
                nodes[unique] = last = node
                unique += 1
        count = unique
        tree += width
        width = level_width(width >> 3)


cdef inline void update_all_sums(double* tree, int64_t leaves) noexcept nogil:
    """Compute all sums; only those that differ are written, so that an empty tree takes no memory."""
    cdef int64_t node, width = level_width(leaves)
    cdef double total
    while width > 8:
        for node in range(level_width(width >> 3)):
            total = sum_of(tree + 8 * node) if node < width >> 3 else 0
            if tree[width + node] != total:
                tree[width + node] = total
        tree += width
        width = level_width(width >> 3)


cdef inline void find_leaves(
    const double* tree, int64_t leaves, double* targets, int64_t* nodes, Py_ssize_t count,
) noexcept nogil:
    """Write to `nodes`, for each target, the first leaf at which the sum of all leaves up to it exceeds the target.

    The targets are at least 0 and below the sum of all leaves, which is positive. They are overwritten. A leaf of value
    0 is never chosen, however sums are rounded.
    """
    cdef Py_ssize_t k, j, part, depth = 0
    cdef int64_t width = level_width(leaves)
    cdef const double* levels[24]
    cdef const double* parts
    cdef double target
    cdef double before[8]   # sums of the parts before each
    levels[0] = tree
    while width > 8:
        depth += 1
        levels[depth] = levels[depth - 1] + width
        width = level_width(width >> 3)
    for k in range(count):
        nodes[k] = 0
    for depth in range(depth, -1, -1):
        for k in range(count):
            parts = levels[depth] + 8 * nodes[k]
            before[0], part, target = 0, 0, targets[k]
            for j in range(7):
                before[j + 1] = before[j] + parts[j]
                part += target >= before[j + 1]
            while part > 0 and parts[part] == 0:   # the target is not below the rounded sum
                part -= 1
            targets[k] = target - before[part]
            nodes[k] = 8 * nodes[k] + part
