# cython: preliminary_late_includes_cy28=True
"""Acrobot: a two-link pendulum, driven at the elbow only, must swing its tip above the bar.

Equations: R. S. Sutton, "Generalization in Reinforcement Learning: Successful Examples Using Sparse Coarse Coding"
(NIPS 1996), and R. S. Sutton and A. G. Barto, "Reinforcement Learning" (1998), section 11.3; the two differ in one term
(`nips`). Integrated by one Runge-Kutta step of fourth order. Reference environment: Acrobot-v1.
State: theta1 (rad, 0 hangs down), theta2 (rad, relative to the first link), dtheta1, dtheta2 (rad/s).
Observation: cos(theta1), sin(theta1), cos(theta2), sin(theta2), dtheta1, dtheta2. Actions: torque -1, 0, 1 (N m).
"""
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport (
    PI, TWO_PI, clip, cos, floor, kernel_t, make_kernel, outcome_t, rng_t, select, sincos, uniform,
)


ctypedef struct State "acrobot_state":
    double theta1, theta2, dtheta1, dtheta2

ctypedef struct Parameters "acrobot_parameters":
    double LINK_LENGTH_1, LINK_MASS_1, LINK_MASS_2, LINK_COM_POS_1, LINK_COM_POS_2, LINK_MOI
    double MAX_VEL_1, MAX_VEL_2, torque_low, torque_middle, torque_high, dt, nips

ctypedef struct ResetOptions "acrobot_reset_options":
    double low, high

cdef extern from *:
    """
    #define LANE_NAME acrobot
    #define LANE_OBSERVATION_SIZE 6
    #define LANE_DISCRETE_ACTIONS 3
    #include "gymcore/lanes.h"
    """
    kernel_t acrobot_kernel


cdef inline void reset "acrobot_reset"(
    State* s, const Parameters* p, const ResetOptions* options, rng_t* rng
) noexcept nogil:
    # The reference environment starts from float32 values.
    s.theta1 = <double> (<float> uniform(rng, options.low, options.high))
    s.theta2 = <double> (<float> uniform(rng, options.low, options.high))
    s.dtheta1 = <double> (<float> uniform(rng, options.low, options.high))
    s.dtheta2 = <double> (<float> uniform(rng, options.low, options.high))


cdef inline State derivative(State s, const Parameters* p, double torque) noexcept nogil:
    """Return the time derivative of the state, with the terms of the papers in their order, which decides rounding."""
    cdef double g = 9.8
    cdef double l1 = p.LINK_LENGTH_1, m1 = p.LINK_MASS_1, m2 = p.LINK_MASS_2
    cdef double lc1 = p.LINK_COM_POS_1, lc2 = p.LINK_COM_POS_2, moi = p.LINK_MOI
    cdef double sin2, cos2, d1, d2, phi1, phi2, extra
    cdef State rate
    sincos(s.theta2, &sin2, &cos2)
    d1 = m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2.0 * l1 * lc2 * cos2) + moi + moi
    d2 = m2 * (lc2 * lc2 + l1 * lc2 * cos2) + moi
    phi2 = m2 * lc2 * g * cos(s.theta1 + s.theta2 - PI / 2.0)
    phi1 = (
        -m2 * l1 * lc2 * (s.dtheta2 * s.dtheta2) * sin2
        - 2.0 * m2 * l1 * lc2 * s.dtheta2 * s.dtheta1 * sin2
        + (m1 * lc1 + m2 * l1) * g * cos(s.theta1 - PI / 2.0)
        + phi2
    )
    extra = select(p.nips != 0.0, 0.0, m2 * l1 * lc2 * (s.dtheta1 * s.dtheta1) * sin2)
    rate.theta1 = s.dtheta1
    rate.theta2 = s.dtheta2
    rate.dtheta2 = (torque + d2 / d1 * phi1 - extra - phi2) / (m2 * (lc2 * lc2) + moi - d2 * d2 / d1)
    rate.dtheta1 = -(d2 * rate.dtheta2 + phi1) / d1
    return rate


cdef inline State moved(State s, double time, State rate) noexcept nogil:
    """Return the state after some time at a constant rate of change."""
    s.theta1 = s.theta1 + time * rate.theta1
    s.theta2 = s.theta2 + time * rate.theta2
    s.dtheta1 = s.dtheta1 + time * rate.dtheta1
    s.dtheta2 = s.dtheta2 + time * rate.dtheta2
    return s


cdef inline double wrapped(double angle) noexcept nogil:
    """Move an angle by whole turns into [-pi, pi]; angles that are already there keep their bits."""
    cdef double above = -floor((PI - angle) / TWO_PI)
    cdef double below = floor((angle + PI) / TWO_PI)
    return angle - (select(above > 0.0, above, 0.0) + select(below < 0.0, below, 0.0)) * TWO_PI


cdef inline void step "acrobot_step"(State* s, const Parameters* p, int64_t action, outcome_t* out) noexcept nogil:
    cdef double torque = select(action == 0, p.torque_low, select(action == 1, p.torque_middle, p.torque_high))
    cdef double half = p.dt / 2.0, sixth = p.dt / 6.0
    cdef State k1 = derivative(s[0], p, torque)
    cdef State k2 = derivative(moved(s[0], half, k1), p, torque)
    cdef State k3 = derivative(moved(s[0], half, k2), p, torque)
    cdef State k4 = derivative(moved(s[0], p.dt, k3), p, torque)
    cdef bint above
    s.theta1 = wrapped(s.theta1 + sixth * (k1.theta1 + 2.0 * k2.theta1 + 2.0 * k3.theta1 + k4.theta1))
    s.theta2 = wrapped(s.theta2 + sixth * (k1.theta2 + 2.0 * k2.theta2 + 2.0 * k3.theta2 + k4.theta2))
    s.dtheta1 = s.dtheta1 + sixth * (k1.dtheta1 + 2.0 * k2.dtheta1 + 2.0 * k3.dtheta1 + k4.dtheta1)
    s.dtheta2 = s.dtheta2 + sixth * (k1.dtheta2 + 2.0 * k2.dtheta2 + 2.0 * k3.dtheta2 + k4.dtheta2)
    s.dtheta1 = clip(s.dtheta1, -p.MAX_VEL_1, p.MAX_VEL_1)
    s.dtheta2 = clip(s.dtheta2, -p.MAX_VEL_2, p.MAX_VEL_2)
    above = -cos(s.theta1) - cos(s.theta2 + s.theta1) > 1.0
    out.terminated = above
    out.reward = select(above, 0.0, -1.0)


cdef inline void observe "acrobot_observe"(const State* s, float* observation) noexcept nogil:
    cdef double sin1, cos1, sin2, cos2
    sincos(s.theta1, &sin1, &cos1)
    sincos(s.theta2, &sin2, &cos2)
    observation[0] = <float> cos1
    observation[1] = <float> sin1
    observation[2] = <float> cos2
    observation[3] = <float> sin2
    observation[4] = <float> s.dtheta1
    observation[5] = <float> s.dtheta2


cdef State state
kernel = make_kernel(
    &acrobot_kernel, state,
    Parameters(1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 4.0 * PI, 9.0 * PI, -1.0, 0.0, 1.0, 0.2, 0.0),
    ResetOptions(-0.1, 0.1),
)
