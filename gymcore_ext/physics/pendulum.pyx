"""Pendulum: swing a rod up and hold it there, with a torque too small to lift it at once.

Equations: a uniform rod of mass m and length l turning about its end (moment of inertia m l^2 / 3), semi-implicit
Euler. Reference environment: Pendulum-v1, which keeps the torque and its cost in float32.
State: theta (rad, 0 is upright, not wrapped), theta_dot (rad/s). Observation: cos(theta), sin(theta), theta_dot.
Action: torque (N m), float32 [1].
"""
from cpython.pycapsule cimport PyCapsule_New

from gymcore_ext.physics.lane cimport (
    KERNEL_CAPSULE, PI, clip, kernel_t, mod_two_pi, outcome_t, rng_t, sin, sincos, uniform,
)


cdef extern from *:
    """
    #define LANE_NAME pendulum
    #define LANE_STATE(F) F(theta) F(theta_dot)
    #define LANE_PARAMETERS(F) F(max_speed, 8.0) F(max_torque, 2.0) F(dt, 0.05) F(g, 10.0) F(m, 1.0) F(l, 1.0)
    #define LANE_BOUNDS(F) F(x_init, GYMCORE_PI) F(y_init, 1.0)
    #define LANE_OBSERVATION_SIZE 3
    #define LANE_CONTINUOUS_ACTIONS 1
    #define LANE_NANOSECONDS 8
    #include "gymcore/lanes.h"
    """
    ctypedef struct pendulum_state:
        double theta, theta_dot
    ctypedef struct pendulum_parameters:
        double max_speed, max_torque, dt, g, m, l
    ctypedef struct pendulum_bounds:
        double x_init, y_init
    const kernel_t pendulum_kernel


cdef inline void pendulum_reset "pendulum_reset"(
    pendulum_state* s, const pendulum_parameters* p, const pendulum_bounds* b, rng_t* rng
) noexcept nogil:
    s.theta = uniform(rng, -b.x_init, b.x_init)
    s.theta_dot = uniform(rng, -b.y_init, b.y_init)


cdef inline void pendulum_step "pendulum_step"(
    pendulum_state* s, const pendulum_parameters* p, const float* action, outcome_t* out
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


cdef inline void pendulum_observe "pendulum_observe"(const pendulum_state* s, float* observation) noexcept nogil:
    cdef double sine, cosine
    sincos(s.theta, &sine, &cosine)
    observation[0] = <float> cosine
    observation[1] = <float> sine
    observation[2] = <float> s.theta_dot


kernel = PyCapsule_New(<void*> &pendulum_kernel, KERNEL_CAPSULE, NULL)
