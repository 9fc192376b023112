# cython: preliminary_late_includes_cy28=True
"""CartPole: a pole hinged on a cart that a force of fixed size pushes left or right.

Equations: A. G. Barto, R. S. Sutton, C. W. Anderson, "Neuronlike adaptive elements that can solve difficult learning
control problems" (1983), without friction, as corrected by R. V. Florian, "Correct equations for the dynamics of the
cart-pole system" (2007), eqs. 23-24. Reference environment: CartPole-v1.
State: x (m), x_dot (m/s), theta (rad, 0 is upright), theta_dot (rad/s). Observation: the state.
"""
from libc.math cimport fabs
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport PI, kernel_t, make_kernel, negated, outcome_t, rng_t, select, sincos, uniform


ctypedef struct State "cartpole_state":
    double x, x_dot, theta, theta_dot

ctypedef struct Parameters "cartpole_parameters":
    double gravity, masscart, masspole, length, force_mag, tau, semi_implicit
    double theta_threshold_radians, x_threshold, sutton_barto_reward

ctypedef struct ResetOptions "cartpole_reset_options":
    double low, high

cdef extern from *:
    """
    #define LANE_NAME cartpole
    #define LANE_OBSERVATION_SIZE 4
    #define LANE_DISCRETE_ACTIONS 2
    #include "gymcore/lanes.h"
    """
    kernel_t cartpole_kernel


cdef inline void reset "cartpole_reset"(
    State* s, const Parameters* p, const ResetOptions* options, rng_t* rng
) noexcept nogil:
    s.x = uniform(rng, options.low, options.high)
    s.x_dot = uniform(rng, options.low, options.high)
    s.theta = uniform(rng, options.low, options.high)
    s.theta_dot = uniform(rng, options.low, options.high)


cdef inline void step "cartpole_step"(State* s, const Parameters* p, int64_t action, outcome_t* out) noexcept nogil:
    cdef double sin_theta, cos_theta, pull, theta_acc, x_acc, x_dot, theta_dot
    cdef bint failed
    # The paper divides by the total mass four times. This divides once, outside of the loop if parameters are shared.
    cdef double per_mass = 1.0 / (p.masspole + p.masscart)
    cdef double pole_share = p.masspole * p.length * per_mass
    sincos(s.theta, &sin_theta, &cos_theta)
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
    # Sutton and Barto's reward is 0 per step and -1 for a failure; otherwise the reward of every step is 1.
    out.reward = select(p.sutton_barto_reward == 0.0, 1.0, select(failed, -1.0, 0.0))


cdef inline void observe "cartpole_observe"(const State* s, float* observation) noexcept nogil:
    observation[0] = <float> s.x
    observation[1] = <float> s.x_dot
    observation[2] = <float> s.theta
    observation[3] = <float> s.theta_dot


cdef State state
kernel = make_kernel(
    &cartpole_kernel, state,
    Parameters(9.8, 1.0, 0.1, 0.5, 10.0, 0.02, 0.0, 12 * PI / 180, 2.4, 0.0),
    ResetOptions(-0.05, 0.05),
)
