"""Box2D 2.3 as the package `box2d` ships it: its structures, its functions, and the inline functions of its headers.

The functions are C++ members of the package's extension module. They are called by address, with `this` as the first
argument, as the C++ ABI of Linux and macOS passes it. Layouts are those of Box2D's public headers, with polygons of up
to 16 corners as in pybox2d. gymcore/envs/box2d/library.py compares them with the package before any world is stepped.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t


cdef enum:
    AWAKE = 2, ACTIVE = 32, BODY_FLAGS = 127        # flags of bodies, and all of them
    TOUCHING = 2, HAS_TOI = 32, CONTACT_FLAGS = 63  # flags of contacts
    LOCKED = 2, WORLD_FLAGS = 7                     # flags of worlds
    REVOLUTE = 1, POLYGON = 2                       # types of joints and of shapes


# --- structures -------------------------------------------------------------------------------------------------------

cdef struct fixture_t

ctypedef struct vec_t:
    float x, y

ctypedef struct box_t:
    vec_t lower, upper

cdef struct body_t:
    int32_t type
    uint16_t flags
    int32_t island_index
    vec_t position
    float sine, cosine
    vec_t local_center, center0, center
    float angle0, angle, alpha0
    vec_t velocity
    float angular_velocity
    vec_t force
    float torque
    void* world
    body_t* previous
    body_t* next
    fixture_t* fixtures
    int32_t fixture_count
    void* joints
    void* contacts
    float mass, inverse_mass, inertia, inverse_inertia
    float linear_damping, angular_damping, gravity_scale
    float sleep_time

ctypedef struct proxy_t:        # a fixture in the broad phase
    box_t box
    fixture_t* fixture
    int32_t child, id

cdef struct fixture_t:
    float density
    fixture_t* next
    body_t* body
    void* shape
    float friction, restitution
    proxy_t* proxies
    int32_t proxy_count
    uint16_t filter[3]
    uint8_t is_sensor

ctypedef struct manifold_point_t:
    vec_t local_point
    float normal_impulse, tangent_impulse
    uint32_t id

cdef struct contact_t:
    void** vtable
    uint32_t flags
    contact_t* previous
    contact_t* next
    void* edges[8]              # edges of the graph of bodies
    fixture_t* fixture_a
    fixture_t* fixture_b
    int32_t child_a, child_b
    manifold_point_t points[2]
    vec_t local_normal, local_point
    int32_t type, point_count
    int32_t toi_count
    float toi, friction, restitution, tangent_speed

cdef struct joint_t:            # a revolute joint, up to the last member that is used
    void** vtable
    int32_t type
    joint_t* previous
    joint_t* next
    void* edges[8]
    body_t* body_a
    body_t* body_b
    int32_t index
    uint8_t island_flag, collide_connected
    void* user_data
    vec_t anchor_a, anchor_b
    float impulse[3]
    float motor_impulse
    uint8_t enable_motor
    float max_motor_torque, motor_speed
    uint8_t enable_limit
    float reference_angle, lower_angle, upper_angle
    int32_t index_a, index_b
    float solver[22]            # recomputed in each step
    int32_t limit_state

ctypedef struct node_t:
    box_t box
    proxy_t* proxy              # only in leaves
    int32_t parent              # or the next free node
    int32_t child1, child2, height

ctypedef struct tree_t:
    int32_t root
    node_t* nodes
    int32_t node_count, node_capacity, free_list
    uint32_t path
    int32_t insertion_count

ctypedef struct broad_phase_t:
    tree_t tree
    int32_t proxy_count
    int32_t* move_buffer
    int32_t move_capacity, move_count
    void* pair_buffer
    int32_t pair_capacity, pair_count, query_proxy

ctypedef struct contact_manager_t:
    broad_phase_t broad_phase
    contact_t* contacts
    int32_t contact_count
    void* filter
    void* listener
    void* allocator

ctypedef struct world_t:
    void* allocators[12883]     # allocators of blocks, and a stack
    int32_t flags
    contact_manager_t manager
    body_t* bodies
    joint_t* joints
    int32_t body_count, joint_count
    vec_t gravity
    uint8_t allow_sleep
    void* destruction_listener
    void* debug_draw
    float inverse_dt0
    uint8_t settings[4]
    float profile[8]

# Definitions, which are copied before they are changed.
ctypedef struct fixture_def_t:
    const void* shape
    void* rest[4]

ctypedef struct body_def_t:
    int32_t type
    vec_t position
    float angle
    void* rest[5]
    float gravity_scale

ctypedef struct joint_def_t:
    int32_t type
    void* user_data
    body_t* body_a
    body_t* body_b
    uint8_t collide_connected
    float rest[11]

ctypedef struct edge_shape_t:
    void** vtable
    int32_t type
    float radius
    vec_t vertex1, vertex2, vertex0, vertex3
    uint8_t has_vertex0, has_vertex3

ctypedef struct polygon_shape_t:
    void** vtable
    int32_t type
    float radius
    vec_t centroid
    vec_t vertices[16]
    vec_t normals[16]
    int32_t count

ctypedef struct calls_t:        # in the order of SYMBOLS in worlds.pyx
    void (*construct)(world_t* world, const vec_t* gravity) noexcept nogil
    void (*destruct)(world_t* world) noexcept nogil
    void (*step)(world_t* world, float seconds, int32_t velocity_iterations, int32_t position_iterations) noexcept nogil
    body_t* (*create_body)(world_t* world, const void* definition) noexcept nogil
    void (*destroy_body)(world_t* world, body_t* body) noexcept nogil
    joint_t* (*create_joint)(world_t* world, const void* definition) noexcept nogil
    fixture_t* (*create_fixture)(body_t* body, const void* definition) noexcept nogil
    void (*set_motor_speed)(joint_t* joint, float speed) noexcept nogil
    void (*set_motor_torque)(joint_t* joint, float torque) noexcept nogil
    void (*set_polygon)(polygon_shape_t* shape, const vec_t* corners, int32_t count) noexcept nogil
    void (*add_pair)(contact_manager_t* manager, proxy_t* a, proxy_t* b) noexcept nogil
    int32_t (*allocate_node)(tree_t* tree) noexcept nogil
    void* listener_type         # C++'s description of b2ContactListener


# --- inline functions of Box2D's headers ------------------------------------------------------------------------------

cdef inline void wake(body_t* body) noexcept nogil:
    if not body.flags & AWAKE:
        body.flags |= AWAKE
        body.sleep_time = 0.0


cdef inline void apply_force(body_t* body, float x, float y) noexcept nogil:
    wake(body)
    body.force.x += x
    body.force.y += y


cdef inline void apply_torque(body_t* body, float torque) noexcept nogil:
    wake(body)
    body.torque += torque


cdef inline void apply_impulse(body_t* body, float x, float y, float at_x, float at_y) noexcept nogil:
    wake(body)
    body.velocity.x += body.inverse_mass * x
    body.velocity.y += body.inverse_mass * y
    body.angular_velocity += body.inverse_inertia * ((at_x - body.center.x) * y - (at_y - body.center.y) * x)


cdef inline vec_t world_point(const body_t* body, float x, float y) noexcept nogil:
    cdef vec_t point
    point.x = (body.cosine * x - body.sine * y) + body.position.x
    point.y = (body.sine * x + body.cosine * y) + body.position.y
    return point


cdef inline float joint_angle(const joint_t* joint) noexcept nogil:
    return joint.body_b.angle - joint.body_a.angle - joint.reference_angle


cdef inline float joint_speed(const joint_t* joint) noexcept nogil:
    return joint.body_b.angular_velocity - joint.body_a.angular_velocity
