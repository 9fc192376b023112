"""Episodes of lanes: their beginning, their return and length, and their reports.

The compiled physics (step.pxd) and the environments written in Python (env_loop.pyx) count with the same code. The mode
decides when lanes are reset, in the same way for both:

    NEXT_STEP   a lane whose `ended` is set begins a new one instead of being stepped: reward 0, no flags, not counted
    SAME_STEP   a lane that has ended is reported, and begins a new one within the step: its `ended` is never seen set
    DISABLED    a lane whose `ended` is set must not be stepped
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset


cdef extern from "gymcore/math.h":
    double round_half_even "gymcore_round"(double x) noexcept nogil


# Autoreset modes. SINGLE leaves everything to the caller: the batch of one behind `make`.
cdef enum:
    NEXT_STEP = 0
    SAME_STEP = 1
    DISABLED = 2
    SINGLE = 3


ctypedef struct episodes_t:
    uint8_t* ended           # the lane's last step ended its episode
    int32_t* elapsed         # steps of the episode
    double* returns          # sum of the episode's rewards
    double* started          # clock at the episode's start, or NULL
    double clock             # seconds; what `started` is measured against
    int32_t limit            # steps of an episode; the largest number is none
    int mode


# Where episodes that ended are reported: a row each, or NULL for no reports.
ctypedef struct reports_t:
    double* returns
    int64_t* lengths
    double* times            # seconds, to the microsecond


cdef inline void clear_reports(const reports_t* out, int64_t lo, int64_t hi) noexcept nogil:
    """Zero rows [lo, hi), if there are any: only episodes that end are reported."""
    if out.returns != NULL:
        memset(out.returns + lo, 0, (hi - lo) * sizeof(double))
        memset(out.lengths + lo, 0, (hi - lo) * sizeof(int64_t))
        memset(out.times + lo, 0, (hi - lo) * sizeof(double))


cdef inline void begin_episode(const episodes_t* self, int64_t lane) noexcept nogil:
    self.ended[lane] = 0
    self.elapsed[lane] = 0
    self.returns[lane] = 0.0
    if self.started != NULL:
        self.started[lane] = self.clock


cdef inline bint count_step(const episodes_t* self, int64_t lane, double reward, bint ends) noexcept nogil:
    """Count a step that was taken; lifecycle.h does this for many lanes at once."""
    self.elapsed[lane] += 1
    self.returns[lane] += reward
    self.ended[lane] = ends
    return ends


cdef inline void report_episode(const episodes_t* self, const reports_t* out, int64_t lane, int64_t row) noexcept nogil:
    out.returns[row] = self.returns[lane]
    out.lengths[row] = self.elapsed[lane]
    out.times[row] = round_half_even((self.clock - self.started[lane]) * 1e6) / 1e6
