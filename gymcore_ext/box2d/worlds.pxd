"""Lanes that are worlds of Box2D: declarations and helpers for the kernels of all families."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from gymcore_ext.box2d.structures cimport (
    REVOLUTE, body_t, calls_t, contact_t, edge_shape_t, fixture_def_t, joint_def_t, joint_t, polygon_shape_t, vec_t,
    world_t,
)
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.physics.lane cimport rng_t


cdef enum:
    MAX_DEFINITIONS = 19
    MAX_MOVING = 5
    MAX_JOINTS = 4

# Largest valid values of saved numbers and step counts for which no other limit exists.
cdef extern from *:
    const double MAX_NUMBER "1e15"
    const int64_t MAX_COUNT "((int64_t)1 << 52)"


cdef struct world_lane_t

# Called when a contact begins (`touches` is 1) or ends (0).
ctypedef void (*report_t)(world_lane_t* lane, const contact_t* contact, bint touches) noexcept nogil


cdef struct world_lane_t:             # it begins as a b2ContactListener does, and is the listener of its world
    void** virtual_functions
    report_t report
    world_t* world
    body_t* moving[MAX_MOVING]
    joint_t* joints[MAX_JOINTS]
    int32_t moving_count, joint_count, body_count, proxy_count
    const void* filter          # Box2D's own contact filter
    int64_t builds              # number of times that the bodies were created
    int32_t changed             # whether the lane was not stepped, or not reset, because a program changed its world
    int32_t busy                # whether Box2D is changing the world; stays set in a process that was forked meanwhile


ctypedef struct worlds_t:       # data that the lanes of a batch share
    const family_t* family
    calls_t calls
    void* listener_table[8]
    const void* definitions[MAX_DEFINITIONS]  # for bodies, fixtures, shapes and joints, in the family's order
    const void* score_images           # score_images_t of CarRacing
    bint discrete               # whether actions are discrete
    const bint* float32_actions  # of LaneOwner
    bint stays                  # whether a reset leaves the first step to the caller


ctypedef struct family_t:
    # What an environment supplies. Its lane is a struct that begins with world_lane_t and the family's episode. A saved
    # state has that episode and the world. `begin` draws the first bytes of an episode; the others are 0 at first.
    int64_t lane_bytes, episode_bytes, drawn_bytes
    int64_t world_bytes         # maximum size of a saved world
    int64_t definition_count
    # The continuous action for each discrete action, and the action of the step that begins an episode.
    const double* choices
    const double* first_action
    int64_t choice_count, action_size
    # Draw the random numbers of an episode, and empty the world.
    void (*begin)(
        const worlds_t* self, world_lane_t* lane, const double* parameters, const double* options, rng_t* rng
    ) noexcept nogil
    # Return whether arbitrary bytes are a valid episode. `was_reset` is whether the saved lane had been reset.
    bint (*is_valid)(const void* episode, bint was_reset) noexcept nogil
    # Create the bodies of an episode in an empty world.
    void (*build)(const worlds_t* self, world_lane_t* lane) noexcept nogil
    report_t report
    # Step with an action, write the reward, and return how the step ended the episode.
    int (*step)(
        const worlds_t* self, world_lane_t* lane, const double* parameters, const double* action, rng_t* rng,
        double* reward) noexcept nogil
    void (*observe)(const worlds_t* self, const world_lane_t* lane, void* observation) noexcept nogil
    void (*write_infos)(const world_lane_t* lane, void* const* infos) noexcept nogil  # for kernels with infos


ctypedef fused number_t:
    double
    float
    int64_t
    int32_t
    uint8_t


# Return whether all numbers between two addresses are from `low` to `high`, and none is nan.
cdef inline bint are_within(const void* begin, const void* end, number_t low, number_t high) noexcept nogil:
    cdef const number_t* value = <const number_t*> begin
    while value < <const number_t*> end and low <= value[0] <= high:
        value += 1
    return value == end


cdef inline void step_world(const worlds_t* self, world_lane_t* lane) noexcept nogil:
    """Step for a fiftieth of a second, with Gymnasium's iterations of the solver."""
    self.calls.step(lane.world, <float> (1.0 / 50), 180, 60)


cdef inline void empty_world(const worlds_t* self, world_lane_t* lane, double gravity) noexcept nogil:
    self.calls.destruct(lane.world)
    construct_world(self, lane, gravity)


cdef inline void construct_world(const worlds_t* self, world_lane_t* lane, double gravity) noexcept nogil:
    cdef vec_t vector
    vector.x = 0.0
    vector.y = <float> gravity
    self.calls.construct(lane.world, &vector)


# --- bodies -----------------------------------------------------------------------------------------------------------

cdef inline bint has_all_bodies(const world_lane_t* lane) noexcept nogil:
    """Return whether the bodies and joints that a lane points to still exist.

    A new joint may have the address of one that a program has destroyed, so its type is compared too. Box2D's lists
    begin with the newest object, so the lane's moving bodies come before the ground.
    """
    cdef const body_t* body = lane.world.bodies
    cdef const joint_t* joint = lane.world.joints
    cdef int k, existing = 0
    while body != NULL and existing < lane.moving_count:
        for k in range(lane.moving_count):
            existing += body == lane.moving[k]
        body = body.next
    while joint != NULL:
        for k in range(lane.joint_count):
            existing += joint == lane.joints[k] and joint.type == REVOLUTE
        joint = joint.next
    return existing == lane.moving_count + lane.joint_count and lane.world.body_count >= lane.body_count


cdef inline void remove_bodies(
    const worlds_t* self, world_lane_t* lane, double gravity, bint oldest_first
) noexcept nogil:
    """Remove the bodies of the last episode, the ground first; or empty the world if a program has changed its bodies.

    The order decides the numbers of later bodies in the broad phase, and so the order of contacts.
    """
    cdef body_t* body
    cdef body_t* following
    cdef int k
    if (lane.builds == 0 or lane.world.body_count != lane.body_count or not has_all_bodies(lane)
            or lane.world.bodies != lane.moving[lane.moving_count - 1]):
        empty_world(self, lane, gravity)
        return
    lane.world.manager.listener = NULL
    body = lane.moving[0].next  # the ground, the newest first
    while oldest_first and body.next != NULL:
        body = body.next
    while body != NULL and body != lane.moving[0]:
        following = body.previous if oldest_first else body.next
        self.calls.destroy_body(lane.world, body)
        body = following
    for k in range(lane.moving_count):
        self.calls.destroy_body(lane.world, lane.moving[k])


cdef inline body_t* add_body(
    const worlds_t* self, world_lane_t* lane, const void* body, const void* fixture
) noexcept nogil:
    """Create a body and its fixture from their definitions."""
    cdef body_t* created = self.calls.create_body(lane.world, body)
    self.calls.create_fixture(created, fixture)
    return created


cdef inline body_t* add_moving_body(
    const worlds_t* self, world_lane_t* lane, const void* body, const void* fixture, int parent, const void* joint
) noexcept nogil:
    """Create the next moving body of a lane, with a joint to the moving body `parent` unless `joint` is NULL."""
    cdef joint_def_t definition
    cdef body_t* created = add_body(self, lane, body, fixture)
    lane.moving[lane.moving_count] = created
    lane.moving_count += 1
    if joint != NULL:
        definition = (<const joint_def_t*> joint)[0]
        definition.body_a = lane.moving[parent]
        definition.body_b = created
        lane.joints[lane.joint_count] = self.calls.create_joint(lane.world, &definition)
        lane.joint_count += 1
    return created


cdef inline void add_edge(
    const worlds_t* self, body_t* body, int definition, double x1, double y1, double x2, double y2
) noexcept nogil:
    """Add an edge to a body. `definition` is the index of its fixture's definition; that of its shape follows."""
    cdef fixture_def_t fixture = (<const fixture_def_t*> self.definitions[definition])[0]
    cdef edge_shape_t shape = (<const edge_shape_t*> self.definitions[definition + 1])[0]
    fixture.shape = &shape
    shape.vertex1.x, shape.vertex1.y = <float> x1, <float> y1
    shape.vertex2.x, shape.vertex2.y = <float> x2, <float> y2
    self.calls.create_fixture(body, &fixture)


cdef inline body_t* add_quad(
    const worlds_t* self, world_lane_t* lane, int definition, const double* corners
) noexcept nogil:
    """Create a body with four corners [4, 2]. `definition` is the index of its definition; those of its fixture and its
    shape follow."""
    cdef fixture_def_t fixture = (<const fixture_def_t*> self.definitions[definition + 1])[0]
    cdef polygon_shape_t shape = (<const polygon_shape_t*> self.definitions[definition + 2])[0]
    cdef vec_t points[4]
    cdef int k
    for k in range(4):
        points[k].x, points[k].y = <float> corners[2 * k], <float> corners[2 * k + 1]
    self.calls.set_polygon(&shape, points, 4)
    fixture.shape = &shape
    return add_body(self, lane, self.definitions[definition], &fixture)


cdef inline void report_feet(
    const world_lane_t* lane, const contact_t* contact, bint touches, int first_foot, int stride, int32_t* hull_touched,
    int32_t* feet
) noexcept nogil:
    """Record which of two feet touch the ground, and whether the hull has touched it.

    The feet are the moving bodies `first_foot` and `first_foot + stride`. As in Gymnasium, the last event of a foot
    decides, even if the foot still touches another piece of ground.
    """
    cdef const body_t* a = contact.fixture_a.body
    cdef const body_t* b = contact.fixture_b.body
    cdef int k
    if touches and lane.moving[0] in (a, b):
        hull_touched[0] = True
    for k in range(2):
        if lane.moving[first_foot + k * stride] in (a, b):
            feet[k] = touches


cdef class Worlds(LaneStore):
    cdef worlds_t shared
    cdef readonly list worlds
    cdef list definitions
    cdef object error, episode_dtype
    cdef int set_up_worlds(self, const family_t* family, object episode_dtype) except -1
