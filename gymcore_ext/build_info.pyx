"""What this build of the package is: compiler, flags, versions and instruction sets, for bug reports."""
from gymcore_ext.engine.lane_memory import ISA_NAMES, choose_isa


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


def build_info():
    """Facts of the build, ready for JSON.

    Returns:
        A dict with `compiler` and its version, `flags` (of the modules that step lanes; the others have -O2 or -O1
        where these have -O3), `cython` and `numpy_headers` (versions it was built with), `debug`, `sanitized` and
        `coverage` (bool, the environment switches of setup.py), `isa_built` (names of the instruction sets the loops
        were compiled for) and `isa` (the one in use here, see `GYMCORE_ISA`).

    Raises:
        ValueError: the environment variable GYMCORE_ISA names an instruction set that this machine does not have.

    Example:
        >>> from gymcore_ext.build_info import build_info
        >>> info = build_info()
        >>> info["isa"] in info["isa_built"]
        True
    """
    switches = SWITCHES.decode().split()
    return {
        "compiler": COMPILER.decode(),
        "flags": COMPILE_FLAGS.decode(),
        "cython": CYTHON_VERSION.decode(),
        "numpy_headers": NUMPY_VERSION.decode(),
        "debug": "DEBUG" in switches,
        "sanitized": "SANITIZE" in switches,
        "coverage": "COVERAGE" in switches,
        "isa_built": list(ISA_NAMES),
        "isa": ISA_NAMES[choose_isa()],
    }
