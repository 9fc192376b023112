"""CartPole: a pole hinged on a cart that a force of fixed size pushes left or right.

Equations: A. G. Barto, R. S. Sutton, C. W. Anderson, "Neuronlike adaptive elements that can solve difficult learning
control problems" (1983), without friction, as corrected by R. V. Florian, "Correct equations for the dynamics of the
cart-pole system" (2007), eqs. 23-24. Reference environment: CartPole-v1.
State: x (m), x_dot (m/s), theta (rad, 0 is upright), theta_dot (rad/s). Observation: the state.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport fabs
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport (
    KERNEL_CAPSULE, kernel_t, negated, outcome_t, rng_t, select, sincos_within, uniform,
)


cdef extern from *:
    """
    #define LANE_NAME cartpole
    #define LANE_STATE(F) F(x) F(x_dot) F(theta) F(theta_dot)
    #define LANE_PARAMETERS(F) \
        F(gravity, 9.8) F(masscart, 1.0) F(masspole, 0.1) F(length, 0.5) F(force_mag, 10.0) F(tau, 0.02) \
        F(semi_implicit, 0.0) \
        F(theta_threshold_radians, 0x1.acee9f37bebd5p-3) F(x_threshold, 2.4) F(sutton_barto_reward, 0.0)
    #define LANE_USUALLY(F) F(semi_implicit, 0.0) F(sutton_barto_reward, 0.0)
    #define LANE_SMALL_ANGLE theta
    #define LANE_BOUNDS(F) F(low, -0.05) F(high, 0.05)
    #define LANE_OBSERVATION_SIZE 4
    #define LANE_DISCRETE_ACTIONS 2
    #include "gymcore/lanes.h"
    """
    ctypedef struct cartpole_state:
        double x, x_dot, theta, theta_dot
    ctypedef struct cartpole_parameters:
        double gravity, masscart, masspole, length, force_mag, tau, semi_implicit
        double theta_threshold_radians, x_threshold, sutton_barto_reward
        bint small_angles
    ctypedef struct cartpole_bounds:
        double low, high
    const kernel_t cartpole_kernel


cdef inline void cartpole_reset "cartpole_reset"(
    cartpole_state* s, const cartpole_parameters* p, const cartpole_bounds* b, rng_t* rng
) noexcept nogil:
    s.x = uniform(rng, b.low, b.high)
    s.x_dot = uniform(rng, b.low, b.high)
    s.theta = uniform(rng, b.low, b.high)
    s.theta_dot = uniform(rng, b.low, b.high)


cdef inline void cartpole_step "cartpole_step"(
    cartpole_state* s, const cartpole_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
    cdef double sin_theta, cos_theta, pull, theta_acc, x_acc, x_dot, theta_dot
    cdef bint failed
    # Of the four divisions by the total mass in the paper one is left, and with shared parameters none per lane.
    cdef double per_mass = 1.0 / (p.masspole + p.masscart)
    cdef double pole_share = p.masspole * p.length * per_mass
    sincos_within(p.small_angles, s.theta, &sin_theta, &cos_theta)
    pull = negated(action, -p.force_mag * per_mass) + pole_share * (s.theta_dot * s.theta_dot) * sin_theta
    theta_acc = (p.gravity * sin_theta - cos_theta * pull) / (
        p.length * (4.0 / 3.0 - p.masspole * per_mass * (cos_theta * cos_theta))
    )
    x_acc = pull - pole_share * theta_acc * cos_theta

    # Explicit Euler moves positions by the old velocities, semi-implicit Euler by the new ones.
    x_dot = s.x_dot + p.tau * x_acc
    theta_dot = s.theta_dot + p.tau * theta_acc
    s.x = s.x + p.tau * select(p.semi_implicit != 0.0, x_dot, s.x_dot)
    s.theta = s.theta + p.tau * select(p.semi_implicit != 0.0, theta_dot, s.theta_dot)
    s.x_dot = x_dot
    s.theta_dot = theta_dot

    failed = (fabs(s.x) > p.x_threshold) | (fabs(s.theta) > p.theta_threshold_radians)
    out.terminated = failed
    # Sutton and Barto give 0 a step and -1 for a failure; otherwise every step is worth 1.
    out.reward = select(p.sutton_barto_reward == 0.0, 1.0, select(failed, -1.0, 0.0))


cdef inline void cartpole_observe "cartpole_observe"(const cartpole_state* s, float* observation) noexcept nogil:
    observation[0] = <float> s.x
    observation[1] = <float> s.x_dot
    observation[2] = <float> s.theta
    observation[3] = <float> s.theta_dot


kernel = PyCapsule_New(<void*> &cartpole_kernel, KERNEL_CAPSULE, NULL)
