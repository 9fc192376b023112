"""Episodes of lanes: how they begin, how steps are counted, and how ended episodes are reported.

Compiled environments (step.pxd) and environments written in Python (env_loop.pyx) share this code. The mode decides
when a lane is reset, in the same way for both:

    NEXT_STEP   a lane whose `ended` is set is reset instead of stepped: reward 0, no flags, the step is not counted
    SAME_STEP   a lane whose episode ends is reported and reset in the same step, so callers never observe `ended` set
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
    uint8_t* ended           # whether the lane's last step ended its episode
    int32_t* elapsed         # steps of the episode
    double* returns          # sum of the episode's rewards
    double* started          # `clock` at the episode's start, or NULL
    double clock             # the current time in seconds
    int32_t limit            # maximum number of steps of an episode; INT32_MAX for none
    int mode


# Arrays for the reports of ended episodes, a row for each lane; NULL for no reports.
ctypedef struct reports_t:
    double* returns
    int64_t* lengths
    double* times            # seconds, to the microsecond


cdef inline void clear_reports(const reports_t* out, int64_t lo, int64_t hi) noexcept nogil:
    """Zero rows [lo, hi), if there are reports: lanes whose episodes do not end have zeros."""
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
    """Count a step of a lane; lifecycle.h does this for many lanes at once."""
    self.elapsed[lane] += 1
    self.returns[lane] += reward
    self.ended[lane] = ends
    return ends


cdef inline void report_episode(const episodes_t* self, const reports_t* out, int64_t lane, int64_t row) noexcept nogil:
    out.returns[row] = self.returns[lane]
    out.lengths[row] = self.elapsed[lane]
    out.times[row] = round_half_even((self.clock - self.started[lane]) * 1e6) / 1e6
