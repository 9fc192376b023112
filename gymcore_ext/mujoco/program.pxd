"""Programs, which compute observations, rewards, terminations and initial states from the arrays of a simulation.

The program of a start may call MuJoCo (CALL): it returns to its caller, which makes the call and resumes it.

A program is a list of operations on vectors of float64. An operand is an offset in one of the *spaces* of a lane:
its registers, the constants of the program, its parameters, the initial state from the reset options (nan for numbers
that the program decides), the action, the observation, or an array of MuJoCo's model or data. Arrays of float32 are
only written (STORE).
`gymcore.envs.mujoco.program` compiles programs from expressions; `simulations.pyx` checks that every operand stays in
its space, so that running a program needs no checks.

Results are bit-identical to those of the same expression in NumPy: sums are computed in NumPy's order, sines,
exponentials and other functions by NumPy's loops, and results with the dtype of the action are rounded to float32 if
actions are float32. Rounding the float64 result of one operation on float32 numbers gives the float32 result.
"""
from libc.math cimport fabs, fma, isfinite, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memmove

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport rng_double, rng_t
from gymcore_ext.lanes.mt19937 cimport mt_below, mt_double, random_state_normal, random_state_t
from gymcore_ext.mujoco.spline cimport filter_grid, sample_spline


cdef extern from "numpy/random/distributions.h":
    double random_standard_normal(bitgen_t* bitgen) noexcept nogil


cdef extern from "gymcore/rng.h":
    uint32_t rng_below "gymcore_rng_below"(rng_t* rng, uint32_t choices) noexcept nogil


cdef extern from "mujoco/mujoco_calls.h":
    int contact_count "gymcore_contact_count"(const double* energy) noexcept nogil


cdef enum:
    COPY, ADD, SUBTRACT, MULTIPLY, DIVIDE, ABSOLUTE, NEGATIVE, ROOT
    SINE, COSINE, EXPONENTIAL, LOG1P, COSH, TANH, ARCSINH  # by NumPy's loops
    ARCTAN2
    POWER                  # as NumPy computes it for scalars
    SMALLER, LARGER
    SELECT                 # b where a is not 0, else c
    LESS, LESS_EQUAL, FINITE, BOTH, EITHER
    SUM, EVERY             # one result from `count` elements
    DOT, FUSED_DOT         # one sum of products in order; the second rounds each sum only, as BLAS does for matrices
    COEFFICIENTS           # of the cubic spline through a grid of `count` times `count` numbers
    SPLINE                 # `count` times `count` points of a spline with `target` times `target` coefficients
    CONTACTS               # the number of contacts; a is data.energy
    UNIFORM                # a random number a + b * u; b is the width of the range
    NORMAL
    INTEGER                # a random integer from 0 to a - 1
    STORE                  # a, rounded to float32, into an array of float32
    REPEAT_UNLESS          # count in `out`, and go back to operation `target` if a is 0
    SKIP_UNLESS            # go forward to operation `target` if a is 0
    CALL                   # return to the caller, which makes call `target` `count` times
    OPCODES

# Results of `run_program` that are not the index of an operation.
cdef enum:
    EXHAUSTED = -1         # a draw never satisfied its condition

# Spaces of operands before the arrays of the simulation.
cdef enum:
    REGISTERS, CONSTANTS, PARAMETERS, INITIAL_STATE, ACTION, OBSERVATION, FIRST_ARRAY

# Number of draws after which an unsatisfied condition is a failure.
cdef enum:
    MAX_DRAWS = 100000


ctypedef struct operand_t:
    int32_t space, offset
    int32_t stride           # distance of elements in `a`, `b` and `c`; 0 repeats one element


ctypedef packed struct operation_t:
    int32_t code, count, target
    int32_t follows_action   # round to float32 if the actions are float32
    operand_t out, a, b, c


ctypedef struct ufunc_loop_t:  # a loop of a ufunc of NumPy
    void (*run)(char** args, const Py_ssize_t* counts, const Py_ssize_t* strides, void* data) noexcept nogil
    void* data


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


cdef inline double element(int32_t code, double x, double y, double z) noexcept nogil:
    """Return one element of the result of an element-wise operation."""
    if code == COPY:
        return x
    elif code == ADD:
        return x + y
    elif code == SUBTRACT:
        return x - y
    elif code == MULTIPLY:
        return x * y
    elif code == DIVIDE:
        return x / y
    elif code == ABSOLUTE:
        return fabs(x)
    elif code == NEGATIVE:
        return -x
    elif code == ROOT:
        return sqrt(x)
    elif code == POWER:
        return pow(x, y)
    elif code == SMALLER:
        return x if x < y or x != x else y
    elif code == LARGER:
        return x if x > y or x != x else y
    elif code == SELECT:
        return y if x != 0.0 else z
    elif code == LESS:
        return x < y
    elif code == LESS_EQUAL:
        return x <= y
    elif code == FINITE:
        return isfinite(x) != 0
    elif code == BOTH:
        return x != 0.0 and y != 0.0
    else:  # EITHER
        return x != 0.0 or y != 0.0


cdef inline int64_t run_program(
    const operation_t* program, int64_t first, int64_t length, double* const* bases, const ufunc_loop_t* loops,
    rng_t* rng, random_state_t* random_state, bint float32_actions
) noexcept nogil:
    """Run the operations from `first` on; return the index after a CALL, or `length` at the end, or EXHAUSTED.

    Draws are those of `random_state`, unless it is NULL.
    """
    cdef const operation_t* op
    cdef const ufunc_loop_t* loop
    cdef double* out
    cdef const double* a
    cdef const double* b
    cdef const double* c
    cdef int64_t next_op = first, i, n
    cdef double result
    cdef bint float32
    cdef bitgen_t bitgen
    while next_op < length:
        op = program + next_op
        next_op += 1
        n = op.count
        float32 = op.follows_action and float32_actions
        out = bases[op.out.space] + op.out.offset
        a = bases[op.a.space] + op.a.offset
        b = bases[op.b.space] + op.b.offset
        c = bases[op.c.space] + op.c.offset
        if op.code < SINE or ARCTAN2 < op.code < SUM:  # element by element, as most operations
            if n == 1:
                out[0] = rounded(element(op.code, a[0], b[0], c[0]), float32)
                continue
            if op.code == COPY and op.a.stride == 1 and not float32:
                memmove(out, a, n * sizeof(double))
                continue
            for i in range(n):
                out[i] = rounded(
                    element(op.code, a[i * op.a.stride], b[i * op.b.stride], c[i * op.c.stride]), float32)
        elif op.code < ARCTAN2:
            loop = loops + (op.code - SINE)
            loop.run([<char*> a, <char*> out], [n], [8 * <Py_ssize_t> op.a.stride, 8], loop.data)
        elif op.code == ARCTAN2:
            loop = loops + (ARCTAN2 - SINE)
            loop.run(
                [<char*> a, <char*> b, <char*> out], [n],
                [8 * <Py_ssize_t> op.a.stride, 8 * <Py_ssize_t> op.b.stride, 8], loop.data)
        elif op.code == SUM:
            out[0] = pairwise_sum(a, n, op.a.stride, float32)
        elif op.code == EVERY:
            result = 1.0
            for i in range(n):
                if a[i * op.a.stride] == 0.0:
                    result = 0.0
            out[0] = result
        elif op.code == DOT:
            result = 0.0
            for i in range(n):
                result += a[i * op.a.stride] * b[i * op.b.stride]
            out[0] = result
        elif op.code == FUSED_DOT:
            result = 0.0
            for i in range(n):
                result = fma(a[i * op.a.stride], b[i * op.b.stride], result)
            out[0] = result
        elif op.code == COEFFICIENTS:
            for i in range(n * n):
                out[i] = a[i * op.a.stride]
            filter_grid(out, n)
        elif op.code == SPLINE:
            sample_spline(out, n, a, op.target)
        elif op.code == CONTACTS:
            out[0] = contact_count(a)
        elif op.code == UNIFORM:
            for i in range(n):
                result = rng_double(rng) if random_state == NULL else mt_double(&random_state.mt)
                out[i] = a[i * op.a.stride] + b[i * op.b.stride] * result
        elif op.code == NORMAL:
            if random_state != NULL:
                for i in range(n):
                    out[i] = random_state_normal(random_state)
                continue
            bitgen = bitgen_of(rng)
            for i in range(n):
                out[i] = random_standard_normal(&bitgen)
        elif op.code == INTEGER:
            for i in range(n):
                result = a[i * op.a.stride]
                if not 0.0 <= result <= 4294967295.0:
                    result = 0.0
                if random_state == NULL:
                    out[i] = rng_below(rng, <uint32_t> result)
                else:
                    out[i] = mt_below(&random_state.mt, <uint32_t> result)
        elif op.code == STORE:
            for i in range(n):
                (<float*> bases[op.out.space])[op.out.offset + i] = <float> a[i * op.a.stride]
        elif op.code == REPEAT_UNLESS:
            if a[0] == 0.0:
                out[0] += 1.0
                if out[0] >= MAX_DRAWS:
                    return EXHAUSTED
                next_op = op.target
        elif op.code == SKIP_UNLESS:
            if a[0] == 0.0:
                next_op = op.target
        else:  # CALL
            return next_op
    return length
