"""Lanes that are worlds of Box2D: what the kernels of all families share."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from gymcore_ext.lanes.lane_functions cimport lane_functions_t
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.physics.lane cimport rng_t


cdef extern from "box2d/world.h":
    ctypedef struct vec_t "box2d_vec":
        float x, y

    ctypedef struct fixture_t "box2d_fixture":
        float density, friction, restitution
        int32_t proxy_count
        uint8_t is_sensor
        body_t* body
        void* shape
        fixture_t* next

    ctypedef struct body_t "box2d_body":
        int32_t type
        uint16_t flags
        vec_t position, local_center, center, velocity, force
        float sine, cosine, angle, angular_velocity, torque
        float mass, inverse_mass, inertia, inverse_inertia, linear_damping, angular_damping, gravity_scale, sleep_time
        int32_t fixture_count
        fixture_t* fixtures
        world_t* world
        body_t* next

    ctypedef struct joint_t "box2d_joint":
        body_t* body_a
        body_t* body_b
        vec_t anchor_a, anchor_b
        float motor_impulse, max_motor_torque, motor_speed, reference_angle, lower_angle, upper_angle
        uint8_t enable_motor, enable_limit
        joint_t* next

    ctypedef struct manifold_point_t "box2d_manifold_point":
        vec_t local_point
        float normal_impulse, tangent_impulse
        uint32_t id

    ctypedef struct contact_t "box2d_contact":
        uint32_t flags
        fixture_t* fixture_a
        fixture_t* fixture_b
        int32_t child_a, child_b
        manifold_point_t* points
        vec_t local_normal, local_point
        int32_t type, point_count
        float friction, restitution, tangent_speed
        contact_t* next

    ctypedef void report_t "box2d_report"(void* subject, const contact_t* contact, int32_t touches) noexcept nogil

    ctypedef struct tree_t "box2d_tree":
        pass

    ctypedef struct broad_phase_t "box2d_broad_phase":
        tree_t tree
        int32_t proxy_count, move_count

    ctypedef struct contact_manager_t "box2d_contact_manager":
        broad_phase_t broad_phase
        contact_t* contacts
        int32_t contact_count
        void* filter
        void* listener
        void* allocator

    ctypedef struct world_t "box2d_world":
        int32_t flags
        contact_manager_t manager
        body_t* bodies
        joint_t* joints
        int32_t body_count, joint_count
        vec_t gravity

    ctypedef struct fixture_def_t "box2d_fixture_def":
        const void* shape

    ctypedef struct body_def_t "box2d_body_def":
        int32_t type
        vec_t position, velocity
        float angle, angular_velocity, linear_damping, angular_damping, gravity_scale
        uint8_t allow_sleep, awake, fixed_rotation, bullet, active

    ctypedef struct joint_def_t "box2d_joint_def":
        body_t* body_a
        body_t* body_b

    ctypedef struct edge_shape_t "box2d_edge_shape":
        vec_t vertex1, vertex2

    ctypedef struct polygon_shape_t "box2d_polygon_shape":
        int32_t type
        vec_t* vertices
        int32_t count

    ctypedef struct calls_t "box2d_calls":
        void (*construct)(world_t* world, const vec_t* gravity) noexcept nogil
        void (*destruct)(world_t* world) noexcept nogil
        void (*step)(world_t* world, float seconds, int32_t velocities, int32_t positions) noexcept nogil
        body_t* (*create_body)(world_t* world, const void* definition) noexcept nogil
        void (*destroy_body)(world_t* world, body_t* body) noexcept nogil
        joint_t* (*create_joint)(world_t* world, const void* definition) noexcept nogil
        fixture_t* (*create_fixture)(body_t* body, const void* definition) noexcept nogil
        void (*set_motor_speed)(joint_t* joint, float speed) noexcept nogil
        void (*set_motor_torque)(joint_t* joint, float torque) noexcept nogil
        void (*set_polygon)(polygon_shape_t* shape, const vec_t* corners, int32_t count) noexcept nogil

    ctypedef struct lane_t "box2d_lane":
        world_t* world
        body_t** moving
        joint_t** joints
        int32_t moving_count, joint_count, body_count, changed
        const void* filter
        int64_t builds
        int32_t busy

    ctypedef struct archive_t "box2d_archive":
        char* at
        char* end
        int reading

    int AWAKE "BOX2D_AWAKE"
    int TOUCHING "BOX2D_TOUCHING"
    int POLYGON "BOX2D_POLYGON"
    void apply_force "box2d_apply_force"(body_t* body, float x, float y) noexcept nogil
    void apply_torque "box2d_apply_torque"(body_t* body, float torque) noexcept nogil
    void apply_impulse "box2d_apply_impulse"(body_t* body, float x, float y, float at_x, float at_y) noexcept nogil
    vec_t world_point "box2d_world_point"(const body_t* body, float x, float y) noexcept nogil
    float joint_angle "box2d_joint_angle"(const joint_t* joint) noexcept nogil
    float joint_speed "box2d_joint_speed"(const joint_t* joint) noexcept nogil
    bint is_steppable "box2d_is_steppable"(const lane_t* lane) noexcept nogil
    bint is_resettable "box2d_is_resettable"(lane_t* lane) noexcept nogil
    void step_world "box2d_step"(const calls_t* calls, lane_t* lane) noexcept nogil
    void listen "box2d_listen"(const calls_t* calls, lane_t* lane, report_t* report, void* subject) noexcept nogil
    void listen_to_feet "box2d_listen_to_feet"(
        const calls_t* calls, lane_t* lane, body_t* foot1, body_t* foot2, int32_t* touches) noexcept nogil
    void construct_world "box2d_construct"(const calls_t* calls, world_t* world, float gravity) noexcept nogil
    void empty_world "box2d_empty"(const calls_t* calls, world_t* world, float gravity) noexcept nogil
    int copy_world "box2d_copy_world"(const calls_t* calls, archive_t* archive, lane_t* lane) noexcept nogil


cdef enum:
    MAX_DEFINITIONS = 19

cdef extern from *:
    """
    /* Bounds of numbers that have no other ones, and of counts of steps. */
    #define BOX2D_LARGE 1e15
    #define BOX2D_MANY ((int64_t)1 << 52)
    """
    const double LARGE "BOX2D_LARGE"
    const int64_t MANY "BOX2D_MANY"


ctypedef struct worlds_t:                     # what the lanes of a batch have in common
    const family_t* family
    calls_t calls
    const void* definitions[MAX_DEFINITIONS]  # of bodies, fixtures and joints, in the order that the family says
    bint discrete                             # whether actions are choices


ctypedef struct family_t:
    # What is the environment's own. A lane is a struct that begins with lane_t and the family's progress: what is saved
    # besides the world.
    # Numbers for each discrete action.
    const double* choices
    int64_t choice_count, action_size
    int64_t definition_count
    # Bytes of a lane, of its progress, and of what is saved of its world, at most.
    int64_t lane_bytes, progress_bytes, world_bytes
    # Draw what is random about an episode, and begin it.
    void (*begin)(
        const worlds_t* self, void* lane, const double* parameters, const double* options, rng_t* rng) noexcept nogil
    # Whether a lane that has been reset, or one that has not, can have this progress. Its bytes are anybody's.
    bint (*is_possible)(const void* progress, bint was_reset) noexcept nogil
    # Build the bodies of an episode, which the progress describes, in an empty world.
    void (*build)(const worlds_t* self, void* lane) noexcept nogil
    # Step by an action, write its reward and return how the episode ended.
    int (*step)(
        const worlds_t* self, void* lane, const double* parameters, const double* action, bint float32_action,
        rng_t* rng, double* reward) noexcept nogil
    void (*observe)(const worlds_t* self, const void* lane, void* observation) noexcept nogil


cdef inline bint is_within(double value, double low, double high) noexcept nogil:
    """False for nan."""
    return low <= value and value <= high


cdef inline bint are_within(const double* values, int count, double low, double high) noexcept nogil:
    cdef int k
    for k in range(count):
        if not is_within(values[k], low, high):
            return False
    return True


cdef inline bint are_flags(const int32_t* values, int count) noexcept nogil:
    cdef int k
    for k in range(count):
        if not 0 <= values[k] <= 1:
            return False
    return True


cdef int set_functions(lane_functions_t* functions) except -1


cdef class Worlds(LaneStore):
    cdef worlds_t shared
    cdef readonly list worlds
    cdef list definitions
    cdef object error, progress_dtype
    cdef int set_up_worlds(self, const family_t* family, object progress_dtype, object functions_of_lane) except -1
    cdef lane_t* _world_lane(self, Py_ssize_t lane) except NULL
