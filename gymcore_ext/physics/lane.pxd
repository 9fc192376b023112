"""Random draws, deterministic mathematics and `make_kernel`, for modules that define the physics of one lane."""
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t

from gymcore_ext.engine.kernel cimport KERNEL_CAPSULE, kernel_t, none_t, outcome_t, rng_t


cdef extern from "gymcore/rng.h":
    # Draw uniformly from [low, high), as numpy.random.Generator.uniform does.
    double uniform "gymcore_rng_uniform"(rng_t* rng, double low, double high) noexcept nogil
    # Draw uniformly from [0, 1), as Generator.random() does.
    double random "gymcore_rng_double"(rng_t* rng) noexcept nogil
    # Draw 53 bits from each of `count` streams; `random` is these bits times 2^-53.
    void random_bits "gymcore_rng_bits"(rng_t* rngs, int64_t* bits, int64_t count) noexcept nogil
    # Draw uniformly from 0 to choices - 1, as Generator.integers(choices) does.
    uint32_t below "gymcore_rng_below"(rng_t* rng, uint32_t choices) noexcept nogil


cdef extern from "gymcore/math.h":
    const double PI "GYMCORE_PI"
    const double TWO_PI "GYMCORE_TWO_PI"
    void sincos "gymcore_sincos"(double x, double* sine, double* cosine) noexcept nogil
    double sin "gymcore_sin"(double x) noexcept nogil
    double cos "gymcore_cos"(double x) noexcept nogil
    double floor "gymcore_floor"(double x) noexcept nogil
    uint64_t to_whole "gymcore_to_whole"(double x) noexcept nogil
    double mod_two_pi "gymcore_mod_two_pi"(double x) noexcept nogil
    double clip "gymcore_clip"(double x, double low, double high) noexcept nogil
    double negated "gymcore_negated"(int64_t condition, double x) noexcept nogil
    double select "gymcore_select"(bint condition, double yes, double no) noexcept nogil


cdef inline const char* _joined(dict fields):
    """Return the names of a struct's fields as one text, which is never freed."""
    cdef bytes text = " ".join(fields).encode()
    Py_INCREF(text)
    return PyBytes_AS_STRING(text)


cdef inline object make_kernel(kernel_t* kernel, dict state, dict parameters, dict reset_options):
    """Complete a kernel of lanes.h, and return a capsule of it for a `Batch`.

    Args:
        kernel: `<name>_kernel` of the environment.
        state: any state, which Cython converts to a dict; only the names of its fields matter.
        parameters: default values of all parameters.
        reset_options: default values of all reset options.
    """
    kernel.state_names = _joined(state)
    kernel.parameter_names = _joined(parameters)
    kernel.reset_option_names = _joined(reset_options)
    for k, value in enumerate(parameters.values()):
        kernel.parameter_defaults[k] = value
    for k, value in enumerate(reset_options.values()):
        kernel.reset_option_defaults[k] = value
    return PyCapsule_New(kernel, KERNEL_CAPSULE, NULL)
