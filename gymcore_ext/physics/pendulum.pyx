# cython: preliminary_late_includes_cy28=True
"""Pendulum: swing a rod up and hold it there, with a torque too small to lift it at once.

Equations: a uniform rod of mass m and length l turning about its end (moment of inertia m l^2 / 3), semi-implicit
Euler. Reference environment: Pendulum-v1, which keeps the torque and its cost in float32.
State: theta (rad, 0 is upright, not wrapped), theta_dot (rad/s). Observation: cos(theta), sin(theta), theta_dot.
Action: torque (N m), float32 [1].
"""

from gymcore_ext.physics.lane cimport (
    PI, clip, kernel_t, make_kernel, mod_two_pi, outcome_t, rng_t, sin, sincos, uniform,
)


ctypedef struct State "pendulum_state":
    double theta, theta_dot

ctypedef struct Parameters "pendulum_parameters":
    double max_speed, max_torque, dt, g, m, l

ctypedef struct ResetOptions "pendulum_reset_options":
    double x_init, y_init

cdef extern from *:
    """
    #define LANE_NAME pendulum
    #define LANE_OBSERVATION_SIZE 3
    #define LANE_CONTINUOUS_ACTIONS 1
    #include "gymcore/lanes.h"
    """
    kernel_t pendulum_kernel


cdef inline void reset "pendulum_reset"(
    State* s, const Parameters* p, const ResetOptions* options, rng_t* rng
) noexcept nogil:
    s.theta = uniform(rng, -options.x_init, options.x_init)
    s.theta_dot = uniform(rng, -options.y_init, options.y_init)


cdef inline void step "pendulum_step"(
    State* s, const Parameters* p, const float* action, outcome_t* out
) noexcept nogil:
    cdef float torque = <float> clip(<double> action[0], p.max_torque * -1.0, p.max_torque)
    cdef float torque_cost = <float> 0.001 * (torque * torque)
    cdef float push = <float> (3.0 / (p.m * (p.l * p.l))) * torque
    cdef double angle = mod_two_pi(s.theta + PI) - PI
    cdef double theta_dot

    out.reward = -(angle * angle + 0.1 * (s.theta_dot * s.theta_dot) + torque_cost)
    out.terminated = 0
    theta_dot = s.theta_dot + (3.0 * p.g / (2.0 * p.l) * sin(s.theta) + push) * p.dt
    theta_dot = clip(theta_dot, -p.max_speed, p.max_speed)
    s.theta = s.theta + theta_dot * p.dt
    s.theta_dot = theta_dot


cdef inline void observe "pendulum_observe"(const State* s, float* observation) noexcept nogil:
    cdef double sine, cosine
    sincos(s.theta, &sine, &cosine)
    observation[0] = <float> cosine
    observation[1] = <float> sine
    observation[2] = <float> s.theta_dot


cdef State state
kernel = make_kernel(
    &pendulum_kernel, state,
    Parameters(8.0, 2.0, 0.05, 10.0, 1.0, 1.0),
    ResetOptions(PI, 1.0),
)
