# cython: preliminary_late_includes_cy28=True
"""Docking: a spacecraft on a line must stop at a station, by thrusts backwards and forwards.

State: position (m, the station is at 0), velocity (m/s). Observation: the state. Actions: 0 thrust backwards, 1 coast,
2 thrust forwards. A step costs 0.01, a thrust 0.02 more; a gentle contact is worth 1, a crash or a drift away -1.
"""
from libc.stdint cimport int64_t

from gymcore_ext.lanes.draws cimport normal
from gymcore_ext.physics.lane cimport kernel_t, make_kernel, outcome_t, rng_t, select, uniform


ctypedef struct State "docking_state":
    double position, velocity

ctypedef struct Parameters "docking_parameters":
    double mass, thrust, tau, gentle, reach

ctypedef struct ResetOptions "docking_reset_options":
    double low, high

cdef extern from *:
    """
    #define LANE_NAME docking
    #define LANE_OBSERVATION_SIZE 2
    #define LANE_DISCRETE_ACTIONS 3
    #include "gymcore/lanes.h"
    """
    kernel_t docking_kernel


cdef inline void reset "docking_reset"(
    State* s, const Parameters* p, const ResetOptions* options, rng_t* rng
) noexcept nogil:
    s.position = uniform(rng, options.low, options.high)
    s.velocity = 0.25 * normal(rng)


cdef inline void step "docking_step"(
    State* s, const Parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef double direction = select(action == 1, 0.0, select(action == 0, -1.0, 1.0))
    cdef bint arrived, gentle, lost
    # Semi-implicit Euler.
    s.velocity = s.velocity + direction * p.thrust / p.mass * p.tau
    s.position = s.position + s.velocity * p.tau
    arrived = s.position <= 0.0
    gentle = s.velocity >= -p.gentle
    lost = s.position > p.reach
    out.terminated = arrived | lost
    out.reward = (
        -0.01 - 0.02 * select(action == 1, 0.0, 1.0)
        + select(arrived, select(gentle, 1.0, -1.0), 0.0) - select(lost, 1.0, 0.0)
    )


cdef inline void observe "docking_observe"(const State* s, float* observation) noexcept nogil:
    observation[0] = <float> s.position
    observation[1] = <float> s.velocity


cdef State state
kernel = make_kernel(
    &docking_kernel, state, Parameters(500.0, 100.0, 0.5, 0.3, 20.0), ResetOptions(5.0, 10.0)
)
