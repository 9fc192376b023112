"""Lanes that are worlds of Box2D: the functions of a lane, what is saved of it, and what Python looks at.

A world is made by the Python package, which may look at it between steps; kernels step it by Box2D's own functions.
So attributes such as `env.unwrapped.world` are the package's objects over the same C++ objects.
"""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from gymcore_ext.lanes.lane_functions cimport functions_capsule, lane_functions_t
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.physics.lane cimport rng_t

import numpy as np

from gymcore_ext.engine.lane_memory import kernel_spec

# What of Box2D is called or pointed to, in the order of `box2d_calls`, with its C++ symbols.
FUNCTIONS = {
    "construct": "_ZN7b2WorldC1ERK6b2Vec2",
    "destruct": "_ZN7b2WorldD1Ev",
    "step": "_ZN7b2World4StepEfii",
    "create_body": "_ZN7b2World10CreateBodyEPK9b2BodyDef",
    "destroy_body": "_ZN7b2World11DestroyBodyEP6b2Body",
    "create_joint": "_ZN7b2World11CreateJointEPK10b2JointDef",
    "create_fixture": "_ZN6b2Body13CreateFixtureEPK12b2FixtureDef",
    "set_motor_speed": "_ZN15b2RevoluteJoint13SetMotorSpeedEf",
    "set_motor_torque": "_ZN15b2RevoluteJoint17SetMaxMotorTorqueEf",
    "set_polygon": "_ZN14b2PolygonShape3SetEPK6b2Vec2i",
    "add_pair": "_ZN16b2ContactManager7AddPairEPvS0_",
    "allocate_node": "_ZN13b2DynamicTree12AllocateNodeEv",
    "listener_type": "_ZTI17b2ContactListener",
}


cdef int set_calls(calls_t* calls, dict functions) except -1:
    cdef Py_ssize_t k
    for k, name in enumerate(FUNCTIONS):
        (<void**> calls)[k] = <void*> <size_t> functions[name]
    return 0


# --- the functions of a lane ------------------------------------------------------------------------------------------

cdef inline char* progress_of(void* lane) noexcept nogil:
    return <char*> lane + sizeof(lane_t)


cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, int32_t float32_action, rng_t* rng,
    double* reward
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef const double* numbers = <const double*> action
    cdef int ends
    lane.changed = not is_steppable(lane)
    if lane.changed:
        return 0
    if self.discrete:  # in bounds even if another thread changes the array of actions after their check
        numbers = self.family.choices + self.family.action_size * min(
            max((<const int64_t*> action)[0], 0), self.family.choice_count - 1)
    lane.busy = 1
    ends = self.family.step(self, lane, parameters, numbers, float32_action, rng, reward)
    lane.busy = 0
    return ends


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    drop_broken(self, lane)
    lane.changed = not is_resettable(lane)
    if not lane.changed:
        lane.busy = 1
        self.family.begin(self, lane, parameters, options, rng)
        lane.busy = 0


cdef inline void drop_broken(const worlds_t* self, lane_t* lane) noexcept nogil:
    """Forget the world of a lane that a fork has copied in the middle of a step.

    What it has allocated stays allocated: nothing of it can be trusted, and objects of the package may point there.
    """
    if lane.busy:
        construct_world(&self.calls, lane.world, 0.0)


cdef void observe(
    const void* memory, const void* shared, const double* parameters, void* const* parts
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    if lane.builds and not lane.changed:  # its bodies are there
        self.family.observe(self, lane, parts[0])


cdef int has_changed(const void* lane) noexcept nogil:
    """Whether a lane was not stepped, or not reset, because a program has changed its world."""
    return (<const lane_t*> lane).changed


cdef void release(void* memory, const void* shared) noexcept nogil:
    """Leave a world that may live longer without its listener."""
    cdef lane_t* lane = <lane_t*> memory
    if lane.builds:
        lane.world.manager.listener = NULL


cdef bint copy_lane(const worlds_t* self, lane_t* lane, char* saved, bint reading) noexcept nogil:
    """Write a world to a saved lane, or read it into a lane that was just built; false if it cannot be."""
    cdef archive_t archive
    archive.at = saved + self.family.progress_bytes
    archive.end = archive.at + self.family.world_bytes
    archive.reading = reading
    return copy_world(&self.calls, &archive, lane)


cdef bint restore(const worlds_t* self, lane_t* lane, char* saved) noexcept nogil:
    """Build a lane's world anew as it was saved; false if no lane can have that state."""
    cdef int64_t size = self.family.progress_bytes
    cdef int32_t nodes
    memcpy(&nodes, saved + size, sizeof(nodes))
    if not self.family.is_possible(saved, nodes != 0):
        return False
    memcpy(progress_of(lane), saved, size)
    if nodes == 0:
        return True  # it was never reset: the tree of a world that was built has room for some
    empty_world(&self.calls, lane.world, 0.0)
    self.family.build(self, lane)
    memcpy(progress_of(lane), saved, size)  # building has begun to count
    return copy_lane(self, lane, saved, True)


cdef int save(void* memory, const void* shared, void* saved) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    memcpy(saved, progress_of(lane), self.family.progress_bytes)
    return not lane.builds or (not lane.busy and copy_lane(self, lane, <char*> saved, False))


cdef void load(void* memory, const void* shared, const void* saved) noexcept nogil:
    cdef lane_t* lane = <lane_t*> memory
    drop_broken(<const worlds_t*> shared, lane)
    lane.busy = lane.changed = 0
    restore(<const worlds_t*> shared, lane, <char*> saved)


cdef int check(const void* saved, const void* shared) noexcept nogil:
    """Whether a lane goes on from this: another one tries."""
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef lane_t* lane = <lane_t*> PyMem_RawCalloc(1, self.family.lane_bytes + sizeof(world_t))
    cdef bint possible
    if lane == NULL:
        return False
    lane.world = <world_t*> (<char*> lane + self.family.lane_bytes)
    construct_world(&self.calls, lane.world, 0.0)
    possible = restore(self, lane, <char*> saved)
    self.calls.destruct(lane.world)
    PyMem_RawFree(lane)
    return possible


cdef int set_functions(lane_functions_t* functions) except -1:
    """Set what is the same for all families."""
    functions.reset, functions.step, functions.observe, functions.faulted = reset, step, observe, has_changed
    functions.save, functions.load, functions.check, functions.free = save, load, check, release
    return 0


cdef lane_functions_t functions_of_lane
set_functions(&functions_of_lane)
FUNCTIONS_OF_LANE = functions_capsule(&functions_of_lane)


cdef class Worlds(LaneStore):
    """Worlds of a batch; families derive from it.

    Args:
        kernel: capsule of one of the family's kernels.
        functions: addresses of FUNCTIONS by name.
        worlds: a `Box2D.b2World` for each lane, of which nobody else may be in the middle of a step.
        definitions: of bodies, fixtures and joints, objects of the package, in the family's order.
        error: the class of exceptions for worlds that programs have changed.
    """

    def __cinit__(
        self, *, object kernel, dict functions, list worlds, list definitions, object error, **family,
    ):
        self.kernel, self.worlds, self.definitions, self.error = kernel, worlds, definitions, error
        self.shared.discrete = kernel_spec(kernel)["discrete_actions"] > 0
        set_calls(&self.shared.calls, functions)

    cdef int set_up_worlds(self, const family_t* family, object progress_dtype, object functions_of_lane) except -1:
        """Make the lanes of a family."""
        cdef Py_ssize_t k
        cdef lane_t* lane
        if len(self.definitions) != family.definition_count:
            raise ValueError(f"definitions: expected {family.definition_count}, got {len(self.definitions)}")
        if progress_dtype.itemsize != family.progress_bytes:
            raise ValueError(f"progress: expected {family.progress_bytes} bytes, got {progress_dtype}")
        self.progress_dtype = progress_dtype
        self.shared.family = family
        for k, definition in enumerate(self.definitions):
            self.shared.definitions[k] = <const void*> <size_t> int(definition.this)
        self.set_up(
            self.kernel, functions_of_lane, len(self.worlds), family.lane_bytes, &self.shared,
            (self.worlds, self.definitions),
            [("progress", progress_dtype), ("world", np.uint8, (family.world_bytes,))])
        for k, world in enumerate(self.worlds):
            lane = self._world_lane(k)
            lane.world = <world_t*> <size_t> int(world.this)
            lane.filter = lane.world.manager.filter
        return 0

    cdef lane_t* _world_lane(self, Py_ssize_t lane) except NULL:
        return <lane_t*> self._lane(lane)

    def _columns(self, size_t offset, dtype):
        """A member of the struct of all lanes: a view."""
        return self.view()[:, offset:offset + dtype.itemsize].view(dtype.base).reshape(-1, *dtype.shape)

    @property
    def progress(self):
        """A structured array with what the family counts of each lane: a view, to read and to write."""
        return self._columns(sizeof(lane_t), self.progress_dtype)

    def builds(self, Py_ssize_t lane):
        """How often the bodies of a lane were made: they are new when it has grown."""
        return self._world_lane(lane).builds

    def raise_faults(self):
        """Raise for the lanes that were not stepped, or not reset."""
        lanes = [lane for lane, _ in self.take_faults()]
        raise self.error(
            f"lanes {lanes}: compiled environments step worlds as they are built: world.contactListener was "
            "replaced, or bodies or joints were destroyed, after which reset() builds the world anew; or a "
            "contactFilter or destructionListener was set, or the world is locked by a listener that raised, after "
            "which the environment must be made anew")

    def refuse_to_save(self, lane):
        """Raise for a lane that cannot be saved."""
        raise self.error(
            f"lane {lane}: the world has other bodies, joints or fixtures than it was made with, more contacts "
            "than fit into a state, or numbers that are not finite")


# --- trying it out ----------------------------------------------------------------------------------------------------

cdef tuple pair(vec_t vector):
    return vector.x, vector.y


cdef tuple manifold_shape(contact_t* contact):
    """What the points of a manifold are about; None without points, where it is undefined."""
    if contact.point_count == 0:
        return None
    return pair(contact.local_normal), pair(contact.local_point), contact.type


cdef list corners_of(fixture_t* fixture):
    """The corners of a polygon, None for another shape."""
    cdef const polygon_shape_t* shape = <const polygon_shape_t*> fixture.shape
    cdef Py_ssize_t k
    return [pair(shape.vertices[k]) for k in range(shape.count)] if shape.type == POLYGON else None


def read_body_definition(size_t address):
    """What the definition of a body is according to the layout of world.h."""
    cdef const body_def_t* body = <const body_def_t*> address
    return {
        "type": body.type, "position": pair(body.position), "angle": body.angle, "linearVelocity": pair(body.velocity),
        "angularVelocity": body.angular_velocity, "linearDamping": body.linear_damping,
        "angularDamping": body.angular_damping, "gravityScale": body.gravity_scale,
        "allowSleep": body.allow_sleep != 0, "awake": body.awake != 0, "fixedRotation": body.fixed_rotation != 0,
        "bullet": body.bullet != 0, "active": body.active != 0}


def read_world(size_t address):
    """What a world is according to the layouts of world.h: nested dicts and lists, with addresses as ints."""
    cdef world_t* world = <world_t*> address
    cdef body_t* body = world.bodies
    cdef joint_t* joint = world.joints
    cdef contact_t* contact = world.manager.contacts
    cdef fixture_t* fixture
    cdef Py_ssize_t k
    bodies, joints, contacts = [], [], []
    while body != NULL:
        fixtures, fixture = [], body.fixtures
        while fixture != NULL:
            fixtures.append({
                "address": <size_t> fixture, "body": <size_t> fixture.body, "density": fixture.density,
                "friction": fixture.friction, "restitution": fixture.restitution, "sensor": fixture.is_sensor != 0,
                "corners": corners_of(fixture)})
            fixture = fixture.next
        bodies.append({
            "address": <size_t> body, "world": <size_t> body.world, "type": body.type, "awake": body.flags & AWAKE != 0,
            "position": pair(body.position), "angle": body.angle, "localCenter": pair(body.local_center),
            "worldCenter": pair(body.center), "linearVelocity": pair(body.velocity),
            "angularVelocity": body.angular_velocity, "mass": body.mass, "linearDamping": body.linear_damping,
            "angularDamping": body.angular_damping, "gravityScale": body.gravity_scale, "fixtures": fixtures})
        body = body.next
    while joint != NULL:
        joints.append({
            "address": <size_t> joint, "bodyA": <size_t> joint.body_a, "bodyB": <size_t> joint.body_b,
            "angle": joint_angle(joint), "speed": joint_speed(joint), "motorSpeed": joint.motor_speed,
            "motorEnabled": joint.enable_motor != 0, "limitEnabled": joint.enable_limit != 0,
            "lowerLimit": joint.lower_angle, "upperLimit": joint.upper_angle,
            "maxMotorTorque": joint.max_motor_torque, "motorTorque": joint.motor_impulse})
        joint = joint.next
    while contact != NULL:
        contacts.append({
            "address": <size_t> contact, "fixtureA": <size_t> contact.fixture_a, "fixtureB": <size_t> contact.fixture_b,
            "childIndexA": contact.child_a, "childIndexB": contact.child_b,
            "touching": contact.flags & TOUCHING != 0, "friction": contact.friction,
            "restitution": contact.restitution, "tangentSpeed": contact.tangent_speed,
            "shape": manifold_shape(contact),
            "points": [{"localPoint": pair(contact.points[k].local_point),
                        "normalImpulse": contact.points[k].normal_impulse,
                        "tangentImpulse": contact.points[k].tangent_impulse, "key": contact.points[k].id}
                       for k in range(min(contact.point_count, 2))]})
        contact = contact.next
    return {
        "contactManager": <size_t> &world.manager, "broadPhase": <size_t> &world.manager.broad_phase,
        "allocator": <size_t> world.manager.allocator, "contactCount": world.manager.contact_count,
        "proxyCount": world.manager.broad_phase.proxy_count, "bodyCount": world.body_count,
        "jointCount": world.joint_count, "gravity": pair(world.gravity),
        "bodies": bodies, "joints": joints, "contacts": contacts}


def step_and_restore(dict functions, size_t first, size_t second, int steps):
    """Push the newest body of one world and step it; then let another one go on from its state, and push and step that.

    Both were made in the same way, and not stepped yet. Half of the steps are the first one's.

    Returns:
        How many times the newest body began to touch or ceased to touch something.
    """
    cdef calls_t calls
    cdef lane_t lanes[2]
    cdef archive_t archive
    cdef int32_t touches[3]
    cdef int k
    cdef body_t* body
    cdef joint_t* joint
    cdef bytearray room = bytearray(1 << 16)
    set_calls(&calls, functions)
    memset(lanes, 0, sizeof(lanes))
    changes = 0
    for k, address in enumerate((first, second)):
        lanes[k].world = <world_t*> <size_t> address
        body, joint = lanes[k].world.bodies, lanes[k].world.joints
        while body != NULL and lanes[k].moving_count < 2:  # they come before the ground
            lanes[k].moving[lanes[k].moving_count] = body
            lanes[k].moving_count += 1
            body = body.next
        while joint != NULL and lanes[k].joint_count < 1:
            lanes[k].joints[0] = joint
            lanes[k].joint_count += 1
            joint = joint.next
        listen_to_feet(&calls, &lanes[k], lanes[k].moving[0], NULL, touches)
        if k:
            archive.at, archive.end, archive.reading = <char*> room, <char*> room + len(room), True
            copy_world(&calls, &archive, &lanes[1])
        for _ in range(steps // 2):
            before = touches[1]
            apply_impulse(lanes[k].moving[0], 0.01, 0.3, 5.0, 2.0)
            step_world(&calls, &lanes[k])
            changes += touches[1] != before
        archive.at, archive.end, archive.reading = <char*> room, <char*> room + len(room), False
        copy_world(&calls, &archive, &lanes[k])
        lanes[k].world.manager.listener = NULL
    return changes
