"""MountainCar: an underpowered car must swing in a valley to reach the hill on the right.

Equations: A. W. Moore, "Efficient Memory-Based Learning for Robot Control" (1990), in the constants of R. S. Sutton's
and A. G. Barto's "Reinforcement Learning" (example 10.1). Reference environment: MountainCar-v0.
State: position, velocity (per step). Observation: the state. Actions: 0 push left, 1 coast, 2 push right.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, clip, cos, kernel_t, outcome_t, rng_t, select, uniform


cdef extern from *:
    """
    #define LANE_NAME mountain_car
    #define LANE_STATE(F) F(position) F(velocity)
    #define LANE_PARAMETERS(F) \
        F(min_position, -1.2) F(max_position, 0.6) F(max_speed, 0.07) F(goal_position, 0.5) \
        F(goal_velocity, 0.0) F(force, 0.001) F(gravity, 0.0025)
    #define LANE_BOUNDS(F) F(low, -0.6) F(high, -0.4)
    #define LANE_OBSERVATION_SIZE 2
    #define LANE_DISCRETE_ACTIONS 3
    #include "gymcore/lanes.h"
    """
    ctypedef struct mountain_car_state:
        double position, velocity
    ctypedef struct mountain_car_parameters:
        double min_position, max_position, max_speed, goal_position, goal_velocity, force, gravity
    ctypedef struct mountain_car_bounds:
        double low, high
    const kernel_t mountain_car_kernel


cdef inline void mountain_car_reset "mountain_car_reset"(
    mountain_car_state* s, const mountain_car_parameters* p, const mountain_car_bounds* b, rng_t* rng
) noexcept nogil:
    s.position = uniform(rng, b.low, b.high)
    s.velocity = 0.0


cdef inline void mountain_car_step "mountain_car_step"(
    mountain_car_state* s, const mountain_car_parameters* p, int64_t action, outcome_t* out
) noexcept nogil:
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


cdef inline void mountain_car_observe "mountain_car_observe"(
    const mountain_car_state* s, float* observation
) noexcept nogil:
    observation[0] = <float> s.position
    observation[1] = <float> s.velocity


kernel = PyCapsule_New(<void*> &mountain_car_kernel, KERNEL_CAPSULE, NULL)
