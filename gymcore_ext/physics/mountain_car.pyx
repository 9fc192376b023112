# cython: preliminary_late_includes_cy28=True
"""MountainCar: an underpowered car must swing in a valley to reach the hill on the right.

Equations: A. W. Moore, "Efficient Memory-Based Learning for Robot Control" (1990), with the constants of R. S. Sutton
and A. G. Barto, "Reinforcement Learning" (example 10.1). Reference environment: MountainCar-v0.
State: position, velocity (per step). Observation: the state. Actions: 0 push left, 1 coast, 2 push right.
"""
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport clip, cos, kernel_t, make_kernel, outcome_t, rng_t, select, uniform


ctypedef struct State "mountain_car_state":
    double position, velocity

ctypedef struct Parameters "mountain_car_parameters":
    double min_position, max_position, max_speed, goal_position, goal_velocity, force, gravity

ctypedef struct ResetOptions "mountain_car_reset_options":
    double low, high

cdef extern from *:
    """
    #define LANE_NAME mountain_car
    #define LANE_OBSERVATION_SIZE 2
    #define LANE_DISCRETE_ACTIONS 3
    #include "gymcore/lanes.h"
    """
    kernel_t mountain_car_kernel


cdef inline void reset "mountain_car_reset"(
    State* s, const Parameters* p, const ResetOptions* options, rng_t* rng
) noexcept nogil:
    s.position = uniform(rng, options.low, options.high)
    s.velocity = 0.0


cdef inline void step "mountain_car_step"(State* s, const Parameters* p, int64_t action, outcome_t* out) noexcept nogil:
    cdef double push, velocity, position
    push = select(action == 1, 0.0, select(action == 0, -p.force, p.force))
    velocity = s.velocity + (push - cos(3.0 * s.position) * p.gravity)
    velocity = clip(velocity, -p.max_speed, p.max_speed)
    position = clip(s.position + velocity, p.min_position, p.max_position)
    # The wall on the left stops the car.
    velocity = select((position == p.min_position) & (velocity < 0.0), 0.0, velocity)
    s.position = position
    s.velocity = velocity
    out.terminated = (position >= p.goal_position) & (velocity >= p.goal_velocity)
    out.reward = -1.0


cdef inline void observe "mountain_car_observe"(const State* s, float* observation) noexcept nogil:
    observation[0] = <float> s.position
    observation[1] = <float> s.velocity


cdef State state
kernel = make_kernel(
    &mountain_car_kernel, state,
    Parameters(-1.2, 0.6, 0.07, 0.5, 0.0, 0.001, 0.0025),
    ResetOptions(-0.6, -0.4),
)
