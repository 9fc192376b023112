"""Addresses of MuJoCo's functions; stepping a single simulation of the caller."""

# The functions that every MuJoCo has, and those of which it has one kind (mujoco_calls.h).
FUNCTIONS = ("mj_step", "mj_forward", "mj_resetData", "mj_rnePostConstraint")
HANDLERS = (
    ("_mjPRIVATE_setTlsLogHandler",),
    ("_mjPRIVATE__get_tls_error_fn", "_mjPRIVATE__get_tls_warning_fn",
     "_mjPRIVATE__set_tls_error_fn", "_mjPRIVATE__set_tls_warning_fn"),
)


cdef int set_functions(mujoco_t* calls, dict functions) except -1:
    """Take addresses of MuJoCo's functions: FUNCTIONS, and a row of HANDLERS."""
    cdef size_t address
    cdef list found = []
    for name in FUNCTIONS + HANDLERS[0] + HANDLERS[1]:
        address = functions.get(name, 0)
        found.append(address)
    if not all(found[:4]) or not (found[4] or all(found[5:])):
        raise ValueError(f"functions: expected {FUNCTIONS} and a row of {HANDLERS}, got {sorted(functions)}")
    calls.step, calls.forward, calls.reset_data, calls.rne_post_constraint = (
        <void*> <size_t> found[0], <void*> <size_t> found[1], <void*> <size_t> found[2], <void*> <size_t> found[3])
    calls.set_log_handler = <void*> <size_t> found[4]
    calls.get_error_fn, calls.get_warning_fn, calls.set_error_fn, calls.set_warning_fn = (
        <void*> <size_t> found[5], <void*> <size_t> found[6], <void*> <size_t> found[7], <void*> <size_t> found[8])
    return 0


cdef class Stepper:
    """Steps single simulations, with MuJoCo's messages returned instead of printed and written to a file.

    Args:
        functions: addresses of MuJoCo's functions, see `Simulations`.
    """

    cdef mujoco_t calls

    def __cinit__(self, dict functions):
        set_functions(&self.calls, functions)

    def step(self, model, data, int count):
        """`mj_step` as often as that, and `mj_rnePostConstraint`; the GIL is free meanwhile.

        Returns:
            None, or a message and whether it is that of a failure, after which the data must be reset.
        """
        cdef const void* its_model = <const void*> <size_t> model._address
        cdef void* its_data = <void*> <size_t> data._address
        cdef trap_t trap
        cdef int outcome
        with nogil:
            trap_open(&trap, &self.calls)
            outcome = mujoco_step(&self.calls, &trap, its_model, its_data, count)
            trap_close(&trap, &self.calls)
        if outcome == 0:
            return None
        return (<bytes> trap.text).decode(errors="replace"), outcome == FAILED
