"""Calls into MuJoCo's library, and what becomes of its messages."""


cdef extern from "mujoco_calls.h":
    enum:
        FAULT_TEXT "GYMCORE_FAULT_TEXT"
        WARNED "GYMCORE_WARNED"
        DIVERGED "GYMCORE_DIVERGED"
        FAILED "GYMCORE_FAILED"

    ctypedef struct mujoco_t "gymcore_mujoco":
        void* step
        void* forward
        void* reset_data
        void* rne_post_constraint
        void* set_log_handler
        void* get_error_fn
        void* get_warning_fn
        void* set_error_fn
        void* set_warning_fn

    ctypedef struct trap_t "gymcore_trap":
        int outcome
        char* text

    void trap_open "gymcore_trap_open"(trap_t* trap, const mujoco_t* calls) noexcept nogil
    void trap_close "gymcore_trap_close"(trap_t* trap, const mujoco_t* calls) noexcept nogil
    int mujoco_step "gymcore_mujoco_step"(
        const mujoco_t* calls, trap_t* trap, const void* model, void* data, int count) noexcept nogil
    int mujoco_reset "gymcore_mujoco_reset"(
        const mujoco_t* calls, trap_t* trap, const void* model, void* data) noexcept nogil
    int mujoco_forward "gymcore_mujoco_forward"(
        const mujoco_t* calls, trap_t* trap, const void* model, void* data) noexcept nogil


cdef int set_functions(mujoco_t* calls, dict functions) except -1
