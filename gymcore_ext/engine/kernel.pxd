"""Declarations of kernel.h and rng.h."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "gymcore/kernel.h":
    const char* KERNEL_CAPSULE "GYMCORE_KERNEL_CAPSULE"
    const char* FUNCTIONS_CAPSULE "GYMCORE_FUNCTIONS_CAPSULE"
    int KERNEL_ABI "GYMCORE_KERNEL_ABI"
    int ISA_COUNT "GYMCORE_ISA_COUNT"
    int64_t OLDEST_KERNEL "GYMCORE_OLDEST_KERNEL"
    int64_t OLDEST_FUNCTIONS "GYMCORE_OLDEST_FUNCTIONS"
    enum:
        MAX_PARTS "GYMCORE_MAX_PARTS"
        MAX_INFOS "GYMCORE_MAX_INFOS"
        MAX_AXES "GYMCORE_MAX_AXES"
        MAX_AGENTS "GYMCORE_MAX_AGENTS"
        BLOCK "GYMCORE_BLOCK"
        INT64 "GYMCORE_INT64"
        TERMINATED "GYMCORE_TERMINATED"
        TRUNCATED "GYMCORE_TRUNCATED"
        TERMINATIONS "GYMCORE_TERMINATIONS"

    ctypedef struct rng_t "gymcore_rng":
        uint64_t state_high, state_low, increment_high, increment_low
        uint32_t has_uint32, uinteger

    ctypedef struct columns_t "gymcore_columns":
        double** state
        double** parameters
        int64_t parameter_stride
        rng_t* rngs
        const void* shared
        void* lanes
        const uint8_t* resetting
        const uint8_t* active

    ctypedef struct part_t "gymcore_part":
        int32_t type
        int32_t* shape
        int32_t first_agent

    ctypedef struct info_field_t "gymcore_info_field":
        const char* name
        int32_t type, size, when
        int32_t* shape

    ctypedef struct outcome_t "gymcore_outcome":
        double reward
        int terminated

    # Parameters or reset options of a kernel without any.
    ctypedef struct none_t "gymcore_none":
        pass

    ctypedef int16_t flag_t "gymcore_flag"


ctypedef void (*step_loop_t)(
    const columns_t*, const void*, void* const*, double*, flag_t*, int64_t, int64_t) noexcept nogil
ctypedef void (*write_loop_t)(const columns_t*, void* const*, const int64_t*, int64_t, int64_t) noexcept nogil
ctypedef void (*reset_loop_t)(const columns_t*, const double*, const int64_t*, int64_t) noexcept nogil
ctypedef void (*report_loop_t)(const columns_t*, double*, uint8_t*, int64_t, int64_t) noexcept nogil
ctypedef int (*faulted_t)(const void*) noexcept nogil

cdef extern from "gymcore/kernel.h":
    ctypedef struct step_loops_t "gymcore_step_loops":
        step_loop_t shared, varied

    ctypedef struct kernel_t "gymcore_kernel":
        int64_t size
        int32_t abi, isa_count
        const char* name
        const char* state_names
        const char* parameter_names
        const char* reset_option_names
        int32_t state_count, parameter_count, reset_option_count
        int32_t part_count
        const part_t* parts
        int32_t action_type, action_size
        int32_t* action_shape
        const int64_t* action_ranges
        int32_t info_count
        const info_field_t* infos
        double* parameter_defaults
        double* reset_option_defaults
        reset_loop_t reset
        write_loop_t observe, write_infos
        report_loop_t report
        const char* shared_name
        int32_t has_lanes
        const void* functions
        faulted_t faulted
        int32_t agents
        const int32_t* agent_actions
        part_t central
        write_loop_t central_state
        step_loops_t* step

    void rng_seed_range "gymcore_rng_seed_range"(
        rng_t* rngs, int64_t lanes, uint32_t* words, int count) noexcept nogil
    uint64_t rng_next64 "gymcore_rng_next64"(rng_t* rng) noexcept nogil
    uint32_t rng_next32 "gymcore_rng_next32"(rng_t* rng) noexcept nogil
    double rng_double "gymcore_rng_double"(rng_t* rng) noexcept nogil
