"""Lanes that are worlds of Box2D: their kernels, their memory, what is saved of them, and what Python looks at.

A world is made by the Python package, which may look at it between steps; kernels step it by Box2D's own functions.
So attributes such as `env.unwrapped.world` are the package's objects over the same C++ objects.
"""
cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.engine.step cimport FLOAT64, KERNEL_ABI, KERNEL_CAPSULE
from gymcore_ext.lanes.struct_lanes cimport digest

import numpy as np

cnp.import_array()

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


# --- kernels ----------------------------------------------------------------------------------------------------------

cdef inline void step_lane(
    const columns_t* columns, int64_t i, const double* action, void* const* parts, double* rewards, flag_t* ends
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> columns.lanes
    rewards[i] = 0.0
    ends[i] = 0
    if columns.resetting != NULL and columns.resetting[i]:
        return
    if not is_steppable(&self.lanes[i]):
        self.lanes[i].changed = 1
    else:
        self.lanes[i].busy = 1
        ends[i] = self.family.step(self, columns, i, action, &rewards[i])
        self.lanes[i].busy = 0
        self.family.observe(self, i, <char*> parts[0] + i * self.family.observation_bytes)


cdef void step_by_numbers(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    cdef const family_t* family = (<const worlds_t*> columns.lanes).family
    cdef int64_t i
    for i in range(lo, hi):
        step_lane(columns, i, <const double*> actions + i * family.kernel.action_size, parts, rewards, ends)


cdef void step_by_choices(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    cdef const family_t* family = (<const worlds_t*> columns.lanes).family
    cdef int64_t i, choice
    for i in range(lo, hi):
        # In bounds even if another thread changes the array of actions after their check.
        choice = min(max((<const int64_t*> actions)[i], 0), family.choice_count - 1)
        step_lane(columns, i, family.choices + choice * family.kernel.action_size, parts, rewards, ends)


cdef void reset_lanes(
    const columns_t* columns, const double* options, const int64_t* lanes, int64_t count
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> columns.lanes
    cdef int64_t k
    cdef lane_t* lane
    for k in range(count):
        lane = &self.lanes[lanes[k]]
        if lane.busy:
            # A fork has copied it in the middle of a step. What it has allocated stays allocated: nothing of it can be
            # trusted, and objects of the package may point there.
            construct_world(&self.calls, lane.world, 0.0)
        if is_resettable(lane):
            lane.busy = 1
            self.family.begin(self, columns, lanes[k], options)
            lane.busy = 0
        else:
            lane.changed = 1


cdef void observe_lanes(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> columns.lanes
    cdef int64_t k, i
    for k in range(lo, hi):
        i = k if lanes == NULL else lanes[k]
        if self.lanes[i].builds:
            self.family.observe(self, i, <char*> parts[0] + i * self.family.observation_bytes)


cdef int lanes_changed(const void* lanes) noexcept nogil:
    """Whether a lane was not stepped, because a program has changed its world."""
    cdef const worlds_t* self = <const worlds_t*> lanes
    cdef int64_t i
    for i in range(self.num_lanes):
        if self.lanes[i].changed:
            return 1
    return 0


cdef object make_kernel(family_t* family, bint discrete):
    """Complete a family's kernel, for discrete actions or for numbers; return the capsule that a batch takes."""
    cdef kernel_t* kernel = &family.kernels[discrete]
    kernel[0] = family.kernel
    kernel.size = sizeof(kernel_t)
    kernel.abi = KERNEL_ABI
    kernel.isa_count = 1
    kernel.state_names = ""
    kernel.reset = reset_lanes
    kernel.observe = observe_lanes
    kernel.faulted = lanes_changed
    if discrete:
        kernel.action_size = 0
        kernel.discrete_actions = family.choice_count
        kernel.step[0].shared = kernel.step[0].varied = step_by_choices
    else:
        kernel.action_type = FLOAT64
        kernel.step[0].shared = kernel.step[0].varied = step_by_numbers
    return PyCapsule_New(kernel, KERNEL_CAPSULE, NULL)


# --- memory -----------------------------------------------------------------------------------------------------------

@cython.no_gc_clear  # the worlds must be there when this object goes
cdef class Worlds:
    """Worlds of a batch; families derive from it.

    Args:
        functions: addresses of FUNCTIONS by name.
        worlds: a `Box2D.b2World` for each lane, of which nobody else may be in the middle of a step.
        definitions: of bodies, fixtures and joints, objects of the package, in the family's order.
        error: the class of exceptions for worlds that programs have changed.

    Attributes:
        progress: a structured array with what the family counts of each lane: a view, to read and to write.
    """

    def __cinit__(self, *, dict functions, list worlds, list definitions, object error, **family):
        cdef Py_ssize_t k
        self.worlds, self.definitions, self.error = worlds, definitions, error
        set_calls(&self.shared.calls, functions)
        self.shared.lanes = <lane_t*> PyMem_RawCalloc(max(len(worlds), 1), sizeof(lane_t))
        if self.shared.lanes == NULL:
            raise MemoryError(f"no memory for {len(worlds)} lanes")
        self.shared.num_lanes = len(worlds)
        for k, world in enumerate(worlds):
            self.shared.lanes[k].world = <world_t*> <size_t> int(world.this)
            self.shared.lanes[k].filter = self.shared.lanes[k].world.manager.filter

    cdef int set_up(self, const family_t* family, object progress_dtype) except -1:
        """Make what depends on the family: its definitions, its numbers and its saved states."""
        cdef Py_ssize_t k
        if len(self.definitions) != family.definition_count:
            raise ValueError(f"definitions: expected {family.definition_count}, got {len(self.definitions)}")
        if progress_dtype.itemsize != family.progress_bytes:
            raise ValueError(f"progress: expected {family.progress_bytes} bytes, got {progress_dtype}")
        self.shared.family = family
        for k, definition in enumerate(self.definitions):
            self.shared.definitions[k] = <const void*> <size_t> int(definition.this)
        self.progress = np.zeros(len(self.worlds), progress_dtype)
        self.shared.progress = <char*> cnp.PyArray_DATA(<cnp.ndarray> self.progress)
        self.extra = np.zeros((len(self.worlds), family.extra_bytes), np.uint8)
        self.shared.extra = <char*> cnp.PyArray_DATA(self.extra)
        self.saved_dtype = np.dtype([
            ("digest", np.uint64), ("progress", progress_dtype), ("world", np.uint8, (family.world_bytes,))])
        self.saved_bytes = self.saved_dtype.itemsize
        if self.saved_bytes % 8:
            raise ValueError(f"saved lanes: expected whole words, got {self.saved_bytes} bytes")
        return 0

    @property
    def capsule(self):
        """The lanes, for a batch of the family's kernel; it keeps them alive."""
        return owned_capsule(&self.shared, self.shared.family.kernel.lanes_name, self)

    def __dealloc__(self):
        cdef int64_t i
        if self.shared.lanes != NULL:
            for i in range(self.shared.num_lanes):  # the worlds may live longer
                if self.shared.lanes[i].builds:
                    self.shared.lanes[i].world.manager.listener = NULL
        PyMem_RawFree(self.shared.lanes)

    def __len__(self):
        return self.shared.num_lanes

    cdef lane_t* _lane(self, Py_ssize_t lane) except NULL:
        if not 0 <= lane < self.shared.num_lanes:
            raise IndexError(f"lane {lane} is not in [0, {self.shared.num_lanes})")
        return &self.shared.lanes[lane]

    def builds(self, Py_ssize_t lane):
        """How often the bodies of a lane were made: they are new when it has grown."""
        return self._lane(lane).builds

    def raise_faults(self):
        """Raise for the lanes that were not stepped, or not reset, since the last call."""
        lanes = [i for i in range(self.shared.num_lanes) if self.shared.lanes[i].changed]
        for i in lanes:
            self.shared.lanes[i].changed = 0
        if lanes:
            raise self.error(
                f"lanes {lanes}: compiled environments step worlds as they are built: world.contactListener was "
                "replaced, or bodies or joints were destroyed, after which reset() builds the world anew; or a "
                "contactFilter or destructionListener was set, or the world is locked by a listener that raised, after "
                "which the environment must be made anew")

    # --- states -------------------------------------------------------------------------------------------------------

    def save(self, indices, cnp.ndarray saved not None):
        """Write lanes into an array of `saved_dtype`.

        Raises:
            error: a world has bodies, joints or fixtures that it was not made with, or too many contacts.
        """
        cdef Py_ssize_t row, lane
        cdef uint64_t check
        cdef char* data
        saved[...] = np.zeros((), self.saved_dtype)
        for row, lane in enumerate(indices.tolist()):
            data = self._row(saved, row)
            memcpy(data + 8, self._progress(lane), self.shared.family.progress_bytes)
            if self._lane(lane).builds and not self._copy_world(&self.shared, lane, data, False):
                raise self.error(
                    f"lane {lane}: the world has other bodies, joints or fixtures than it was made with, more contacts "
                    "than fit into a state, or numbers that are not finite")
            check = digest(data + 8, self.saved_bytes - 8)
            memcpy(data, &check, 8)

    def load(self, indices, cnp.ndarray saved not None):
        """Restore lanes from valid elements; worlds are built anew."""
        cdef Py_ssize_t row, lane
        cdef char* data
        for row, lane in enumerate(indices.tolist()):
            data = self._row(saved, row)
            self._lane(lane)
            if not self._restore(&self.shared, lane, data):
                raise self.error(f"state: lane {lane} cannot have it, or was forked in the middle of a step")

    def valid(self, cnp.ndarray saved not None):
        """Which elements of an array of `saved_dtype` a lane can go on from: bool [len(saved)]."""
        cdef worlds_t trial = self.shared
        cdef lane_t lane
        cdef Py_ssize_t row
        cdef uint64_t check
        cdef char* data
        cdef bytearray world = bytearray(sizeof(world_t))
        cdef bytearray progress = bytearray(self.shared.family.progress_bytes)
        cdef bytearray extra = bytearray(max(self.shared.family.extra_bytes, 1))
        memset(&lane, 0, sizeof(lane))
        lane.world = <world_t*> <char*> world
        trial.lanes, trial.progress, trial.extra, trial.num_lanes = &lane, progress, extra, 1
        valid = np.zeros(len(saved), np.bool_)
        construct_world(&self.shared.calls, lane.world, 0.0)
        try:
            for row in range(len(saved)):
                data = self._row(saved, row)
                memcpy(&check, data, 8)
                valid[row] = check == digest(data + 8, self.saved_bytes - 8) and self._restore(&trial, 0, data)
        finally:
            self.shared.calls.destruct(lane.world)
        return valid

    cdef bint _restore(self, const worlds_t* worlds, int64_t i, char* data) except -1:
        """Build a lane's world anew as it was saved; false if no lane can have that state."""
        cdef const family_t* family = worlds.family
        cdef char* progress = worlds.progress + i * family.progress_bytes
        cdef int32_t nodes
        memcpy(&nodes, data + 8 + family.progress_bytes, sizeof(nodes))
        if worlds.lanes[i].busy or not family.is_possible(data + 8, nodes != 0):
            return False
        memcpy(progress, data + 8, family.progress_bytes)
        if nodes == 0:
            return True  # it was never reset: the tree of a world that was built has room for some
        empty_world(&worlds.calls, worlds.lanes[i].world, 0.0)
        family.build(worlds, i)
        memcpy(progress, data + 8, family.progress_bytes)  # building has begun to count
        return self._copy_world(worlds, i, data, True)

    cdef bint _copy_world(self, const worlds_t* worlds, int64_t i, char* data, bint reading) except -1:
        """Write a world to a saved lane, or read it into a lane that was just built; false if it cannot be."""
        cdef archive_t archive
        if worlds.lanes[i].busy:
            return False
        archive.at = data + 8 + worlds.family.progress_bytes
        archive.end = data + self.saved_bytes
        archive.reading = reading
        return copy_world(&worlds.calls, &archive, &worlds.lanes[i])

    cdef char* _progress(self, Py_ssize_t lane) except NULL:
        self._lane(lane)
        return self.shared.progress + lane * self.shared.family.progress_bytes

    cdef char* _row(self, cnp.ndarray saved, Py_ssize_t row) except NULL:
        if (saved.dtype != self.saved_dtype or saved.ndim != 1 or not 0 <= row < len(saved)
                or not cnp.PyArray_ISWRITEABLE(saved)):
            raise ValueError(f"saved: expected an array of {self.saved_dtype}, got {saved.dtype} {np.shape(saved)}")
        return <char*> cnp.PyArray_DATA(saved) + row * cnp.PyArray_STRIDE(saved, 0)


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
