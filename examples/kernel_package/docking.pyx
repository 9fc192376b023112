"""Docking: a spacecraft on a line must stop at a station, using thrusts backwards and forwards.

Observation: position (m, station at 0) and velocity (m/s). Actions: 0 thrust backwards, 1 coast, 2 thrust forwards.
Info: speed (m/s). A step costs 0.01, a thrust another 0.02; a gentle contact is worth 1, a crash or drifting away -1.
"""
from libc.stdint cimport int64_t

from gymcore_ext.lanes.lane_functions cimport TERMINATED, functions_capsule, lane_functions_t
from gymcore_ext.lanes.draws cimport normal
from gymcore_ext.physics.lane cimport rng_t, uniform

import gymcore as gym
from gymcore.native.struct_env import StructEnv


cdef struct Ship:                  # the state of one lane
    double position, velocity

cdef struct Parameters:
    double mass, thrust, tau, gentle, reach

cdef struct Options:               # reset options
    double low, high


cdef void reset(void* lane, const void* shared, const double* numbers, const double* bounds, rng_t* rng) noexcept nogil:
    cdef Ship* ship = <Ship*> lane
    ship.position = uniform(rng, (<const Options*> bounds).low, (<const Options*> bounds).high)
    ship.velocity = 0.25 * normal(rng)


cdef int step(
    void* lane, const void* shared, const double* numbers, const void* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef Ship* ship = <Ship*> lane
    cdef const Parameters* p = <const Parameters*> numbers
    cdef int64_t direction = (<const int64_t*> action)[0] - 1
    # Semi-implicit Euler.
    ship.velocity += direction * p.thrust / p.mass * p.tau
    ship.position += ship.velocity * p.tau
    reward[0] = -0.01 - 0.02 * (direction != 0)
    if 0.0 < ship.position <= p.reach:
        return 0
    reward[0] += 1.0 if ship.position <= 0.0 and ship.velocity >= -p.gentle else -1.0
    return TERMINATED


cdef void observe(const void* lane, const void* shared, const double* numbers, void* const* parts) noexcept nogil:
    cdef const Ship* ship = <const Ship*> lane
    (<float*> parts[0])[0], (<float*> parts[0])[1] = <float> ship.position, <float> ship.velocity


cdef void write_infos(const void* lane, const void* shared, void* const* infos) noexcept nogil:
    (<double*> infos[0])[0] = abs((<const Ship*> lane).velocity)


cdef lane_functions_t functions
functions.reset, functions.step, functions.observe, functions.write_infos = reset, step, observe, write_infos

DockingEnv = StructEnv.of(
    "DockingEnv", functions=functions_capsule(&functions), lane_bytes=sizeof(Ship),
    observation_space=gym.spaces.Box(-float("inf"), float("inf"), (2,)), action_space=gym.spaces.Discrete(3),
    infos={"speed": "float64"}, parameters=Parameters(500.0, 100.0, 0.5, 0.3, 20.0), reset_options=Options(5.0, 10.0))
gym.register(
    "docking/Docking-v0", entry_point=DockingEnv, vector_entry_point=DockingEnv.vector_class, max_episode_steps=200)
