"""How this package was built, for bug reports: compiler, flags, versions and instruction sets."""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memset

from gymcore_ext.engine.kernel cimport KERNEL_CAPSULE, columns_t, flag_t, kernel_t

from gymcore_ext.engine.kernels import ISA_NAMES, choose_isa
from gymcore_ext.physics import acrobot, cartpole, mountain_car, mountain_car_continuous, pendulum


cdef extern from *:
    """
    #if defined(__clang__)
    #define GYMCORE_COMPILER "Clang " __clang_version__
    #elif defined(__GNUC__)
    #define GYMCORE_COMPILER "GCC " __VERSION__
    #elif defined(_MSC_VER)
    #define GYMCORE_COMPILER_(number) "MSVC " #number
    #define GYMCORE_COMPILER_OF(number) GYMCORE_COMPILER_(number)
    #define GYMCORE_COMPILER GYMCORE_COMPILER_OF(_MSC_VER)
    #else
    #define GYMCORE_COMPILER "unknown"
    #endif
    """
    const char* COMPILER "GYMCORE_COMPILER"
    const char* COMPILE_FLAGS "GYMCORE_COMPILE_FLAGS"
    const char* CYTHON_VERSION "GYMCORE_CYTHON_VERSION"
    const char* NUMPY_VERSION "GYMCORE_NUMPY_VERSION"
    const char* SWITCHES "GYMCORE_SWITCHES"


cdef bint is_scalar(object capsule, int isa):
    """Run a step loop to find out whether it processes one lane at a time.

    The reward of each lane overwrites the first state variable of the next lane. A scalar loop then reads that reward.
    Vector code has read the variable before, because it loads several lanes before it stores the first.
    """
    cdef const kernel_t* kernel = <const kernel_t*> PyCapsule_GetPointer(capsule, KERNEL_CAPSULE)
    cdef double[8 * 65] memory
    cdef double* state[8]
    cdef double* parameters[32]
    cdef float[512] observations
    cdef float[64] floats
    cdef int64_t[64] integers
    cdef flag_t[64] ends
    cdef columns_t columns
    cdef void* parts = &observations[0]
    cdef const void* actions = &integers[0]
    cdef int k, i
    cdef int size = kernel.parts[0].shape[0]
    if kernel.state_count > 8 or kernel.parameter_count > 32 or size > 8 or kernel.action_size > 1:
        raise ValueError(f"kernel: {kernel.name.decode()} is too large to be examined")
    memset(memory, 0, sizeof(memory))
    memset(&columns, 0, sizeof(columns))
    for k in range(kernel.state_count):
        state[k] = memory + 65 * k
    for k in range(kernel.parameter_count):
        parameters[k] = &kernel.parameter_defaults[k]
    columns.state, columns.parameters = state, parameters
    for i in range(64):
        floats[i], integers[i] = 1.0, 1
    if kernel.action_size:
        actions = &floats[0]
    kernel.step[isa].shared(&columns, actions, &parts, memory + 1, ends, 0, 64)
    # Lanes 0 and 1 began in the same state.
    return memcmp(observations, observations + size, 4 * size) != 0


def build_info():
    """Return how this package was built, in values that JSON can hold.

    Returns:
        A dict with `compiler` and its version, `flags`, `cython` and `numpy_headers` (versions it was built with),
        `debug`, `sanitized` and `coverage` (bool, the environment switches of setup.py), `isa_built` (names of the
        instruction sets the loops were compiled for), `isa` (the one in use here, see `GYMCORE_ISA`) and
        `scalar_loops` (names of the classic control environments whose steps are not vector code with it: their
        batches are several times slower).

    Raises:
        ValueError: If the environment variable GYMCORE_ISA names an instruction set that this machine does not have.

    Examples:
        >>> from gymcore_ext.build_info import build_info
        >>> info = build_info()
        >>> info["isa"] in info["isa_built"]
        True
    """
    switches = SWITCHES.decode().split()
    isa = choose_isa()
    return {
        "compiler": COMPILER.decode(),
        "flags": COMPILE_FLAGS.decode(),
        "cython": CYTHON_VERSION.decode(),
        "numpy_headers": NUMPY_VERSION.decode(),
        "debug": "DEBUG" in switches,
        "sanitized": "SANITIZE" in switches,
        "coverage": "COVERAGE" in switches,
        "isa_built": list(ISA_NAMES),
        "isa": ISA_NAMES[isa],
        "scalar_loops": [
            module.__name__.rpartition(".")[2] for module in
            (acrobot, cartpole, mountain_car, mountain_car_continuous, pendulum) if is_scalar(module.kernel, isa)
        ],
    }
