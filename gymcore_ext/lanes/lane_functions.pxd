"""Declarations for environments whose lanes are structs, here and in other packages.

Such an environment supplies functions that take the struct of a lane, its parameters and its random stream. Draws and
mathematics for them are in gymcore_ext/physics/lane.pxd.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint8_t

from gymcore_ext.engine.kernel cimport FUNCTIONS_CAPSULE, KERNEL_ABI, TERMINATED, TRUNCATED, flag_t, rng_t


cdef extern from "gymcore/kernel.h":
    # kernel.h describes each function. Pointers after `observe` may be NULL.
    ctypedef struct lane_functions_t "gymcore_lane_functions":
        int64_t size
        int32_t abi
        void (*reset)(void*, const void*, const double*, const double*, rng_t*) noexcept nogil
        int (*step)(void*, const void*, const double*, const void*, rng_t*, double*) noexcept nogil
        void (*observe)(const void*, const void*, const double*, void* const*) noexcept nogil
        void (*write_infos)(const void*, const void*, void* const*) noexcept nogil
        void (*report)(const void*, const void*, double*, uint8_t*) noexcept nogil
        int (*check)(const void*, const void*) noexcept nogil
        int (*faulted)(const void*) noexcept nogil
        int (*make)(void*, const void*) noexcept nogil
        void (*free)(void*, const void*) noexcept nogil
        int (*save)(void*, const void*, void*) noexcept nogil
        void (*load)(void*, const void*, const void*) noexcept nogil
        const char* shared_name
        int (*step_agents)(
            void*, const void*, const double*, const void*, rng_t*, const uint8_t*, double*, flag_t*) noexcept nogil
        void (*central_state)(const void*, const void*, const double*, void*) noexcept nogil


cdef inline object functions_capsule(lane_functions_t* functions):
    """Return a capsule of functions that live as long as the process, for `gymcore.native.struct_env.StructEnv.of`."""
    functions.size = sizeof(lane_functions_t)
    functions.abi = KERNEL_ABI
    return PyCapsule_New(functions, FUNCTIONS_CAPSULE, NULL)
