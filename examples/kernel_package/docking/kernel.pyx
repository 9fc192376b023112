"""Docking: a spacecraft on a line must stop at a station, by thrusts backwards and forwards.

State: position (m, the station is at 0), velocity (m/s). Observation: the state. Actions: 0 thrust backwards, 1 coast,
2 thrust forwards. A step costs 0.01, a thrust 0.02 more; a gentle contact is worth 1, a crash or a drift away -1.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, kernel_t, outcome_t, rng_t, select, uniform


cdef extern from *:
    """
    #define LANE_NAME docking
    #define LANE_STATE(F) F(position) F(velocity)
    #define LANE_PARAMETERS(F) F(mass, 500.0) F(thrust, 100.0) F(tau, 0.5) F(gentle, 0.3) F(reach, 20.0)
    #define LANE_BOUNDS(F) F(low, 5.0) F(high, 10.0)
    #define LANE_OBSERVATION_SIZE 2
    #define LANE_DISCRETE_ACTIONS 3
    #include "gymcore/lanes.h"
    """
    ctypedef struct docking_state:
        double position, velocity
    ctypedef struct docking_parameters:
        double mass, thrust, tau, gentle, reach
    ctypedef struct docking_bounds:
        double low, high
    const kernel_t docking_kernel


cdef inline void docking_reset "docking_reset"(
    docking_state* s, const docking_parameters* p, const docking_bounds* b, rng_t* rng
) noexcept nogil:
    s.position = uniform(rng, b.low, b.high)
    s.velocity = uniform(rng, -0.5, 0.5)


cdef inline void docking_step "docking_step"(
    docking_state* s, const docking_parameters* p, int64_t action, outcome_t* out
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


cdef inline void docking_observe "docking_observe"(const docking_state* s, float* observation) noexcept nogil:
    observation[0] = <float> s.position
    observation[1] = <float> s.velocity


kernel = PyCapsule_New(<void*> &docking_kernel, KERNEL_CAPSULE, NULL)
