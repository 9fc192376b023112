"""Programs, which compute observations, rewards, terminations and initial states from the arrays of a simulation.

A program is a list of operations on vectors of float64. An operand is a place in one of the *spaces* of a lane:
its registers, the constants of the program, the action, the observation, or an array of MuJoCo's model or data.
`gymcore.envs.mujoco.program` compiles programs from expressions; `simulations.pyx` checks that every operand stays in
its space, so that running a program needs no checks.

Results are bit-identical to the same expression in NumPy: sums are in NumPy's order, sines and cosines are NumPy's
loops, and results with the dtype of the action are rounded to float32 if actions are float32. Rounding the float64
result of one operation on float32 numbers gives the float32 result.
"""
from libc.math cimport fabs, isfinite, pow, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

from gymcore_ext.engine.step cimport rng_double, rng_t


cdef enum:
    COPY, ADD, SUBTRACT, MULTIPLY, DIVIDE, ABSOLUTE, NEGATIVE, ROOT, SINE, COSINE
    POWER                  # as for NumPy's scalars
    SMALLER, LARGER
    SELECT                 # b where a is not 0, else c
    LESS, LESS_EQUAL, FINITE, BOTH, EITHER, NEGATE_TRUTH
    SUM, EVERY             # one result of `count` elements
    WEIGHTED_ROWS          # the sum of the rows of b, each `width` long, times the elements of a
    UNIFORM                # a random a + b * u, where b is the width of the range
    NORMAL
    REPEAT_UNLESS          # go back to operation `width` if a is 0
    OPCODES

# Spaces of operands before the arrays of the simulation.
cdef enum:
    REGISTERS, CONSTANTS, ACTION, OBSERVATION, FIRST_ARRAY

# The number of draws after which an unsatisfied condition is a failure.
cdef enum:
    MAX_DRAWS = 100000


ctypedef struct operand_t:
    int32_t space, offset
    int32_t stride           # 0: one element for all


ctypedef packed struct operation_t:
    int32_t code, count, width
    int32_t follows_action   # round to float32 if the actions are float32
    operand_t out, a, b, c


ctypedef void (*ufunc_loop_t)(
    char** args, const Py_ssize_t* counts, const Py_ssize_t* strides, void* data) noexcept nogil

ctypedef double (*normal_t)(void* bitgen) noexcept nogil


ctypedef struct functions_t:
    ufunc_loop_t sine, cosine
    void* sine_data
    void* cosine_data


cdef inline double rounded(double x, bint float32) noexcept nogil:
    return <double> <float> x if float32 else x


cdef inline double pairwise_sum(const double* x, int64_t count, int64_t stride, bint float32) noexcept nogil:
    """Return the sum in NumPy's order: eight partial sums for up to 128 elements, then the rest."""
    cdef double partial[8]
    cdef double total
    cdef int64_t i, k
    if count > 128:
        k = count // 2
        k -= k % 8
        return rounded(
            pairwise_sum(x, k, stride, float32) + pairwise_sum(x + k * stride, count - k, stride, float32), float32)
    if count < 8:
        i = 1
        total = x[0] if count else 0.0
    else:
        for k in range(8):
            partial[k] = x[k * stride]
        i = 8
        while i + 8 <= count:
            for k in range(8):
                partial[k] = rounded(partial[k] + x[(i + k) * stride], float32)
            i += 8
        for k in range(0, 8, 2):
            partial[k] = rounded(partial[k] + partial[k + 1], float32)
        total = rounded(
            rounded(partial[0] + partial[2], float32) + rounded(partial[4] + partial[6], float32), float32)
    while i < count:
        total = rounded(total + x[i * stride], float32)
        i += 1
    return total


cdef inline void call_loop(
    ufunc_loop_t loop, void* data, double* out, const double* x, int64_t count, int64_t stride
) noexcept nogil:
    cdef char* args[2]
    cdef Py_ssize_t counts[1]
    cdef Py_ssize_t strides[2]
    args[0] = <char*> x
    args[1] = <char*> out
    counts[0] = count
    strides[0] = 8 * stride
    strides[1] = 8
    loop(args, counts, strides, data)


cdef inline bint run_program(
    const operation_t* program, int64_t length, double* const* bases, const functions_t* functions, rng_t* rng,
    normal_t normal, void* bitgen, bint float32_actions
) noexcept nogil:
    """Run the operations in order; return False if a draw never satisfied its condition."""
    cdef const operation_t* op
    cdef double* out
    cdef const double* a
    cdef const double* b
    cdef const double* c
    cdef int64_t at = 0, i, k, n, sa, sb, sc, tries = 0
    cdef double total
    while at < length:
        op = program + at
        at += 1
        n = op.count
        out = bases[op.out.space] + op.out.offset
        a = bases[op.a.space] + op.a.offset
        b = bases[op.b.space] + op.b.offset
        c = bases[op.c.space] + op.c.offset
        sa = op.a.stride
        sb = op.b.stride
        sc = op.c.stride
        if op.code == COPY:
            if sa == 1:
                memmove(out, a, n * sizeof(double))
            else:
                for i in range(n):
                    out[i] = a[i * sa]
        elif op.code == ADD:
            for i in range(n):
                out[i] = a[i * sa] + b[i * sb]
        elif op.code == SUBTRACT:
            for i in range(n):
                out[i] = a[i * sa] - b[i * sb]
        elif op.code == MULTIPLY:
            for i in range(n):
                out[i] = a[i * sa] * b[i * sb]
        elif op.code == DIVIDE:
            for i in range(n):
                out[i] = a[i * sa] / b[i * sb]
        elif op.code == ABSOLUTE:
            for i in range(n):
                out[i] = fabs(a[i * sa])
        elif op.code == ROOT:
            for i in range(n):
                out[i] = sqrt(a[i * sa])
        elif op.code == SINE:
            call_loop(functions.sine, functions.sine_data, out, a, n, sa)
        elif op.code == COSINE:
            call_loop(functions.cosine, functions.cosine_data, out, a, n, sa)
        elif op.code == SMALLER:
            for i in range(n):
                out[i] = a[i * sa] if a[i * sa] < b[i * sb] or a[i * sa] != a[i * sa] else b[i * sb]
        elif op.code == LARGER:
            for i in range(n):
                out[i] = a[i * sa] if a[i * sa] > b[i * sb] or a[i * sa] != a[i * sa] else b[i * sb]
        elif op.code == SELECT:
            for i in range(n):
                out[i] = b[i * sb] if a[i * sa] != 0.0 else c[i * sc]
        elif op.code == LESS:
            for i in range(n):
                out[i] = a[i * sa] < b[i * sb]
        elif op.code == LESS_EQUAL:
            for i in range(n):
                out[i] = a[i * sa] <= b[i * sb]
        elif op.code == FINITE:
            for i in range(n):
                out[i] = isfinite(a[i * sa]) != 0
        elif op.code == BOTH:
            for i in range(n):
                out[i] = a[i * sa] != 0.0 and b[i * sb] != 0.0
        elif op.code == EITHER:
            for i in range(n):
                out[i] = a[i * sa] != 0.0 or b[i * sb] != 0.0
        elif op.code == NEGATE_TRUTH:
            for i in range(n):
                out[i] = a[i * sa] == 0.0
        elif op.code == NEGATIVE:
            for i in range(n):
                out[i] = -a[i * sa]
        elif op.code == POWER:
            for i in range(n):
                out[i] = pow(a[i * sa], b[i * sb])
        elif op.code == SUM:
            out[0] = pairwise_sum(a, n, sa, op.follows_action and float32_actions)
        elif op.code == EVERY:
            total = 1.0
            for i in range(n):
                if a[i * sa] == 0.0:
                    total = 0.0
            out[0] = total
        elif op.code == WEIGHTED_ROWS:
            for k in range(op.width):
                total = a[0] * b[k]
                for i in range(1, n):
                    total += a[i * sa] * b[i * op.width + k]
                out[k] = total
        elif op.code == UNIFORM:
            for i in range(n):
                out[i] = a[i * sa] + b[i * sb] * rng_double(rng)
        elif op.code == NORMAL:
            for i in range(n):
                out[i] = normal(bitgen)
        elif op.code == REPEAT_UNLESS:
            if a[0] == 0.0:
                tries += 1
                if tries == MAX_DRAWS:
                    return False
                at = op.width
        if op.follows_action and float32_actions and op.code != SUM:
            for i in range(n):
                out[i] = <double> <float> out[i]
    return True
