"""A world of particles: its description, its state, one step of its physics, and parts of observations.

Agents and landmarks are circles. An agent pushes itself with a force, and circles that touch push each other apart with
a force that grows with a smooth version of their overlap:

    overlap = log(1 + exp((touching - distance) / MARGIN)) * MARGIN

Sums and products are computed in the order of mpe2, and functions of NumPy by NumPy's own loops, because results have
to equal those of mpe2 to the bit. NumPy's functions, and so these results, may differ in the last bit between
processors.
"""
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t

from gymcore_ext.engine.kernel cimport rng_t


cdef enum:
    MAX_AGENTS = 64
    MAX_LANDMARKS = 64

cdef extern from *:
    const double SECONDS "0.1"              # of a step
    const double DAMPING "0.25"
    const double CONTACT_FORCE "100.0"
    const double MARGIN "0.001"
    const double MIN_EXPONENT "-746.0"      # exp(x) is 0 for smaller x
    const double RADIUS "0.5"               # of a formation
    const double LENGTH "1.25"              # of a line


# A loop of a ufunc with its `data`, and NumPy's product of two vectors of float64.
ctypedef void (*loop_t)(char** arguments, const int64_t* count, const int64_t* strides, void* data) noexcept nogil
ctypedef void (*product_t)(void* a, int64_t a_stride, void* b, int64_t b_stride, void* result, int64_t count,
                           void* unused) noexcept nogil

ctypedef struct ufunc_t:
    loop_t loop
    void* data
    int inputs

ctypedef struct numpy_t:
    ufunc_t logaddexp, exp, sin, cos, arctan2
    product_t dot


ctypedef struct entity_t:     # `World` describes the fields
    double size, mass, acceleration, max_speed
    double color[4]
    int32_t moves, collides, speaks, adversary


# Parameters, which may differ from world to world. `stage` is that of a curriculum.
ctypedef struct parameters_t:
    double max_cycles, local_ratio, curriculum_stage


ctypedef struct lane_t:       # the state of a world
    rng_t treasures           # the stream from which treasures are drawn in steps
    double prey_speed         # factor of the speed of agents that are not adversaries
    double extent             # the greatest coordinate after the reset, for frames
    double direction[2]       # of a line
    int32_t steps
    int32_t goals[2]          # landmarks
    int32_t unused
    double numbers[1]         # positions of entities; velocities, messages and numbers of agents


ctypedef struct world_t:
    void (*place)(const world_t*, lane_t*, const parameters_t*, rng_t*) noexcept nogil
    bint (*reward)(const world_t*, lane_t*, const parameters_t*, double*) noexcept nogil
    float* (*observe)(const world_t*, const lane_t*, int, float*) noexcept nogil
    numpy_t numpy
    entity_t entities[MAX_AGENTS + MAX_LANDMARKS]
    int agents, landmarks, adversaries, food, forests, words, goals, kinds
    int agent_neighbors, landmark_neighbors     # 0 for all
    bint continuous, ends_on_success
    int action_places[MAX_AGENTS]               # index of the first number of an agent's action
    int parts[MAX_AGENTS]                       # array of an agent's observation
    int part_places[MAX_AGENTS]                 # index of its first number there
    double reach                                # landmarks begin in [-reach, reach]


# --- state ------------------------------------------------------------------------------------------------------------

cdef inline int entity_count(const world_t* world) noexcept nogil:
    return world.agents + world.landmarks

cdef inline double* position(const lane_t* lane, int entity) noexcept nogil:
    return <double*> lane.numbers + 2 * entity

cdef inline double* velocity(const world_t* world, const lane_t* lane, int agent) noexcept nogil:
    return <double*> lane.numbers + 2 * (entity_count(world) + agent)

cdef inline double* message(const world_t* world, const lane_t* lane, int agent) noexcept nogil:
    return velocity(world, lane, world.agents) + world.words * agent

# Type of a treasure, or of what a collector holds; -1 for none.
cdef inline double* kind(const world_t* world, const lane_t* lane, int entity) noexcept nogil:
    return message(world, lane, world.agents) + entity

cdef inline int64_t bytes_of_lane(const world_t* world) noexcept nogil:
    cdef int numbers = 2 * (entity_count(world) + world.agents) + world.words * world.agents
    return sizeof(lane_t) + (numbers + (entity_count(world) if world.kinds else 0) - 1) * sizeof(double)


# --- NumPy ------------------------------------------------------------------------------------------------------------

# Return a function of NumPy at `x`, or at `x` and `y`.
cdef inline double call(const ufunc_t* ufunc, double x, double y=0.0) noexcept nogil:
    cdef double result
    cdef char* arguments[3]
    cdef int64_t[3] strides = [8, 8, 8]
    cdef int64_t count = 1
    arguments[0], arguments[1], arguments[2] = <char*> &x, <char*> &y, <char*> &result
    arguments[ufunc.inputs] = <char*> &result
    ufunc.loop(arguments, &count, strides, ufunc.data)
    return result

# Return np.linalg.norm([x, y]).
cdef inline double norm(const world_t* world, double x, double y) noexcept nogil:
    cdef double result
    cdef double[2] vector = [x, y]
    world.numpy.dot(vector, 8, vector, 8, &result, 2, NULL)
    return sqrt(result)


# --- geometry ---------------------------------------------------------------------------------------------------------

cdef inline double square_distance(const lane_t* lane, int a, int b) noexcept nogil:
    cdef double x = position(lane, a)[0] - position(lane, b)[0]
    cdef double y = position(lane, a)[1] - position(lane, b)[1]
    return x * x + y * y

cdef inline double distance(const lane_t* lane, int a, int b) noexcept nogil:
    return sqrt(square_distance(lane, a, b))

# Return the distance of an entity to the nearest of the entities [lo, hi); infinity for an empty range.
cdef inline double nearest(const lane_t* lane, int entity, int lo, int hi) noexcept nogil:
    cdef double square, smallest = INFINITY
    cdef int k
    for k in range(lo, hi):
        square = square_distance(lane, k, entity)
        smallest = square if square < smallest else smallest
    return sqrt(smallest)

cdef inline bint touch(const world_t* world, const lane_t* lane, int a, int b) noexcept nogil:
    return distance(lane, a, b) < world.entities[a].size + world.entities[b].size

# Return how many pairs of the entities [lo, hi) and [other_lo, other_hi) touch.
cdef inline int count_touching(
    const world_t* world, const lane_t* lane, int lo, int hi, int other_lo, int other_hi
) noexcept nogil:
    cdef int a, b, touching = 0
    for a in range(lo, hi):
        for b in range(other_lo, other_hi):
            touching += touch(world, lane, a, b)
    return touching


# --- one step ---------------------------------------------------------------------------------------------------------

cdef inline float clipped(float x) noexcept nogil:
    return 0.0 if x < 0.0 else 1.0 if x > 1.0 else x

# Set the forces of agents and their messages from the actions.
cdef inline void act(const world_t* world, lane_t* lane, const void* actions, double* forces) noexcept nogil:
    cdef const entity_t* entity
    cdef const float* values
    cdef int64_t number
    cdef double gain
    cdef int a, k
    for a in range(world.agents):
        entity = &world.entities[a]
        gain = entity.acceleration if entity.adversary else entity.acceleration * lane.prey_speed
        forces[2 * a] = forces[2 * a + 1] = 0.0
        if world.continuous:
            values = <const float*> actions + world.action_places[a]
            if entity.moves:
                forces[2 * a] += <float> (clipped(values[2]) - clipped(values[1]))
                forces[2 * a + 1] += <float> (clipped(values[4]) - clipped(values[3]))
                values += 5
            if entity.speaks:
                for k in range(world.words):
                    message(world, lane, a)[k] = clipped(values[k])
        else:
            number = (<const int64_t*> actions)[world.action_places[a]]
            if entity.moves:  # 0 nothing, 1 left, 2 right, 3 down, 4 up
                k = <int> (number % 5)
                number //= 5
                if k:
                    forces[2 * a + (k - 1) // 2] = 1.0 if k % 2 == 0 else -1.0
            if entity.speaks:
                for k in range(world.words):
                    message(world, lane, a)[k] = k == number
        forces[2 * a] *= gain
        forces[2 * a + 1] *= gain


# Add the forces between circles that touch. They are 0 for a pair far apart.
cdef inline void push_apart(const world_t* world, const lane_t* lane, double* forces) noexcept nogil:
    cdef int a, b, k
    cdef double gap, overlap, distance_, force
    for a in range(world.agents):
        if not world.entities[a].collides:
            continue
        for b in range(a + 1, entity_count(world)):
            if not world.entities[b].collides:
                continue
            distance_ = distance(lane, a, b)
            gap = -(distance_ - (world.entities[a].size + world.entities[b].size)) / MARGIN
            if gap < MIN_EXPONENT:
                continue
            overlap = call(&world.numpy.logaddexp, 0.0, gap) * MARGIN
            for k in range(2):
                force = CONTACT_FORCE * (position(lane, a)[k] - position(lane, b)[k]) / distance_ * overlap
                if world.entities[a].moves:
                    forces[2 * a + k] += force
                if world.entities[b].moves:
                    forces[2 * b + k] -= force


cdef inline void move(const world_t* world, lane_t* lane, const double* forces) noexcept nogil:
    cdef const entity_t* entity
    cdef double *place
    cdef double *speed
    cdef double total, max_speed
    cdef int a, k
    for a in range(world.agents):
        entity = &world.entities[a]
        if not entity.moves:
            continue
        place, speed = position(lane, a), velocity(world, lane, a)
        for k in range(2):
            place[k] += speed[k] * SECONDS
            speed[k] = speed[k] * (1.0 - DAMPING)
            speed[k] += (forces[2 * a + k] / entity.mass) * SECONDS
        max_speed = entity.max_speed if entity.adversary else entity.max_speed * lane.prey_speed
        total = sqrt(speed[0] * speed[0] + speed[1] * speed[1])
        if total > max_speed:
            speed[0], speed[1] = speed[0] / total * max_speed, speed[1] / total * max_speed


# --- parts of observations: each function returns where the next part begins ------------------------------------------

cdef inline float* put(float* out, const double* numbers, int count) noexcept nogil:
    cdef int k
    for k in range(count):
        out[k] = <float> numbers[k]
    return out + count

cdef inline float* put_relative(float* out, const lane_t* lane, int agent, int entity) noexcept nogil:
    out[0] = <float> (position(lane, entity)[0] - position(lane, agent)[0])
    out[1] = <float> (position(lane, entity)[1] - position(lane, agent)[1])
    return out + 2

cdef inline float* put_zeros(float* out, int count) noexcept nogil:
    cdef int k
    for k in range(count):
        out[k] = 0.0
    return out + count

cdef inline float* put_one_hot(float* out, double index, int count) noexcept nogil:
    cdef int k
    for k in range(count):
        out[k] = k == index
    return out + count
