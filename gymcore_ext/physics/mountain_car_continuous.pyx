# cython: preliminary_late_includes_cy28=True
"""MountainCarContinuous: the mountain car with a force between -1 and 1 and a cost of that force.

Equations: A. W. Moore, "Efficient Memory-Based Learning for Robot Control" (1990). Reference environment:
MountainCarContinuous-v0, which keeps its state in float32 after the first step of an episode and computes velocities
in float32 unless the force was clipped; the rounding here follows it. All float32 sums are computed in double and
rounded once, which gives the same bits as float32 arithmetic.
State: position, velocity (per step), and whether the next step is the first one. Observation: position and velocity.
Action: force, float32 [1].
"""

from gymcore_ext.physics.lane cimport clip, cos, kernel_t, make_kernel, outcome_t, rng_t, select, uniform


ctypedef struct State "mountain_car_continuous_state":
    double position, velocity, first_step

ctypedef struct Parameters "mountain_car_continuous_parameters":
    double min_action, max_action, min_position, max_position, max_speed, goal_position, goal_velocity, power

ctypedef struct ResetOptions "mountain_car_continuous_reset_options":
    double low, high

cdef extern from *:
    """
    #define LANE_NAME mountain_car_continuous
    #define LANE_OBSERVATION_SIZE 2
    #define LANE_CONTINUOUS_ACTIONS 1
    #include "gymcore/lanes.h"
    """
    kernel_t mountain_car_continuous_kernel


cdef inline double single(double x) noexcept nogil:
    """Round x to float32."""
    return <double> (<float> x)


cdef inline void reset "mountain_car_continuous_reset"(
    State* s, const Parameters* p, const ResetOptions* options, rng_t* rng
) noexcept nogil:
    s.position = uniform(rng, options.low, options.high)
    s.velocity = 0.0
    s.first_step = 1.0


cdef inline void step "mountain_car_continuous_step"(
    State* s, const Parameters* p, const float* action, outcome_t* out
) noexcept nogil:
    cdef double applied = <double> action[0]
    cdef double force = clip(applied, p.min_action, p.max_action)
    cdef double min_position = single(p.min_position)
    cdef double angle, slope, narrow_change, wide_change, change, narrow, wide, velocity, position
    cdef bint reached
    cdef bint fresh = s.first_step != 0.0  # computed in float64

    # Both sides of every choice are computed, so that the loop over lanes has no branches.
    angle = 3.0 * s.position
    narrow = single(angle)
    slope = 0.0025 * cos(select(fresh, angle, narrow))
    narrow_change = single(single(force * single(p.power)) - single(slope))
    wide_change = force * p.power - slope
    change = select(force == applied, narrow_change, wide_change)

    narrow = single(s.velocity + single(change))
    wide = s.velocity + change
    velocity = clip(select(fresh, wide, narrow), -single(p.max_speed), single(p.max_speed))
    wide = s.position + velocity
    narrow = single(wide)
    position = clip(select(fresh, wide, narrow), min_position, single(p.max_position))
    velocity = select((position == min_position) & (velocity < 0.0), 0.0, velocity)

    reached = (position >= single(p.goal_position)) & (velocity >= single(p.goal_velocity))
    s.position = single(position)
    s.velocity = single(velocity)
    s.first_step = 0.0
    out.terminated = reached
    # The cost depends on the action before clipping.
    out.reward = select(reached, 100.0, 0.0) - applied * applied * 0.1


cdef inline void observe "mountain_car_continuous_observe"(const State* s, float* observation) noexcept nogil:
    observation[0] = <float> s.position
    observation[1] = <float> s.velocity


cdef State state
kernel = make_kernel(
    &mountain_car_continuous_kernel, state,
    Parameters(-1.0, 1.0, -1.2, 0.6, 0.07, 0.45, 0.0, 0.0015),
    ResetOptions(-0.6, -0.4),
)
