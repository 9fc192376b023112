"""Lanes that are worlds of Box2D: the functions of a lane, its saved states, and its members for Python.

The Python package creates a world, and programs may read and change it between steps. Kernels step it with Box2D's own
functions. So attributes such as `env.unwrapped.world` are the package's objects for the same C++ objects.
"""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from gymcore_ext.box2d.structures cimport (
    ACTIVE, AWAKE, BODY_FLAGS, CONTACT_FLAGS, HAS_TOI, LOCKED, TOUCHING, WORLD_FLAGS, apply_impulse, body_def_t, body_t,
    box_t, broad_phase_t, calls_t, contact_manager_t, contact_t, fixture_t, joint_angle, joint_speed, joint_t,
    manifold_point_t, node_t, polygon_shape_t, tree_t, vec_t, world_t,
)
from gymcore_ext.lanes.lane_functions cimport functions_capsule, lane_functions_t
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.physics.lane cimport rng_t

import numpy as np

from gymcore_ext.engine.kernels import kernel_spec

# C++ symbols of the functions and objects of Box2D that are used, in the order of `calls_t`.
SYMBOLS = {
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


# --- contacts ---------------------------------------------------------------------------------------------------------

cdef void begin_contact(world_lane_t* lane, const contact_t* contact) noexcept nogil:
    lane.report(lane, contact, True)


cdef void end_contact(world_lane_t* lane, const contact_t* contact) noexcept nogil:
    lane.report(lane, contact, False)


cdef void ignore_call(world_lane_t* lane) noexcept nogil:
    """Do nothing before and after contacts are solved, or when the listener is destroyed: the lane owns its memory."""


cdef int set_calls(worlds_t* self, dict functions) except -1:
    """Set the addresses of Box2D's functions, and the table of the listener's virtual functions.

    As in C++, the offset of the object and its type precede the functions. The Python package needs the type when a
    program reads `world.contactManager`.
    """
    cdef Py_ssize_t k
    for k, name in enumerate(SYMBOLS):
        (<void**> &self.calls)[k] = <void*> <size_t> functions[name]
    self.listener_table[:] = [
        NULL, self.calls.listener_type, <void*> ignore_call, <void*> ignore_call, <void*> begin_contact,
        <void*> end_contact, <void*> ignore_call, <void*> ignore_call]
    return 0


cdef void listen(const worlds_t* self, world_lane_t* lane, report_t report) noexcept nogil:
    """Begin to report contacts, after all bodies were created."""
    lane.virtual_functions = <void**> &self.listener_table[2]
    lane.report = report
    lane.world.manager.listener = lane
    lane.body_count = lane.world.body_count
    lane.proxy_count = lane.world.manager.broad_phase.proxy_count
    lane.builds += 1


# --- saved worlds -----------------------------------------------------------------------------------------------------

cdef enum:
    LIMIT = 1000000000  # largest magnitude of a float: beyond it, squares of squares are infinite


ctypedef struct archive_t:
    # Memory to which a world is written, or from which it is read, by the same code. Values that were read are checked
    # before they are used, because they must satisfy Box2D's assertions, which need the GIL.
    char* position
    char* end
    bint reading


cdef bint copy(archive_t* archive, void* begin, const void* end) noexcept nogil:
    """Copy the bytes from `begin` to `end` to or from the archive; return false if they do not fit."""
    cdef Py_ssize_t size = <const char*> end - <const char*> begin
    if archive.end - archive.position < size:
        return False
    if archive.reading:
        memcpy(begin, archive.position, size)
    else:
        memcpy(archive.position, begin, size)
    archive.position += size
    return True


cdef bint copy_numbers(archive_t* archive, void* begin, const void* end, number_t low, number_t high) noexcept nogil:
    """Copy numbers to or from the archive; return false if one of them is not from `low` to `high`."""
    return copy(archive, begin, end) and are_within[number_t](begin, end, low, high)


cdef inline bint is_node(const tree_t* tree, int32_t index) noexcept nogil:
    return 0 <= index < tree.node_capacity


cdef inline bint is_child(const tree_t* tree, int32_t index, int32_t parent) noexcept nogil:
    return is_node(tree, index) and tree.nodes[index].parent == parent and tree.nodes[index].height >= 0


cdef bint is_tree(const tree_t* tree, int32_t leaves) noexcept nogil:
    """Return whether each node is once in the tree or in the list of free nodes, and each leaf belongs to a fixture.

    No two parents share a child, so at least `leaves` of the `2 * leaves - 1` nodes are leaves, and only `leaves` nodes
    belong to fixtures. Heights grow from child to parent, so there is no cycle.
    """
    cdef const node_t* node
    cdef int32_t i, used = 0, free_count = 0
    if (not is_node(tree, tree.root) or tree.nodes[tree.root].parent != -1 or tree.nodes[tree.root].height < 0
            or tree.node_count != 2 * leaves - 1):
        return False
    for i in range(tree.node_capacity):
        node = &tree.nodes[i]
        if node.height == -1:
            continue
        used += 1
        if node.height < 0 or not are_within[float](&node.box, &node.box + 1, -LIMIT, LIMIT):
            return False
        if node.height == 0:
            if node.child1 != -1 or node.child2 != -1 or node.proxy == NULL:
                return False
        elif (not is_child(tree, node.child1, i) or not is_child(tree, node.child2, i) or node.child1 == node.child2
                or node.height != 1 + max(tree.nodes[node.child1].height, tree.nodes[node.child2].height)):
            return False
    if used != tree.node_count:
        return False
    i = tree.free_list
    while i != -1:
        if not is_node(tree, i) or tree.nodes[i].height != -1 or free_count == tree.node_capacity - used:
            return False
        i = tree.nodes[i].parent
        free_count += 1
    return free_count == tree.node_capacity - used


cdef bint copy_tree(const calls_t* calls, archive_t* archive, world_t* world) noexcept nogil:
    """Write the tree of the broad phase to the archive, or read it from there, node by node.

    The numbers of proxies decide the order of contacts, including those of bodies that are created later.
    """
    cdef broad_phase_t* phase = &world.manager.broad_phase
    cdef tree_t* tree = &phase.tree
    cdef node_t* node
    cdef body_t* body = world.bodies
    cdef fixture_t* fixture
    cdef int32_t[4] counts = [tree.node_capacity, tree.root, tree.free_list, tree.node_count]
    cdef int32_t i
    if (not copy(archive, counts, &counts[4])
            or counts[0] > (archive.end - archive.position) // <Py_ssize_t> sizeof(box_t)):
        return False
    while tree.node_capacity < counts[0]:
        calls.allocate_node(tree)
    if tree.node_capacity != counts[0]:
        return False
    tree.root, tree.free_list, tree.node_count = counts[1], counts[2], counts[3]
    for i in range(tree.node_capacity):
        node = &tree.nodes[i]
        if node.height == -1 and not archive.reading:  # equal worlds have equal bytes
            memset(&node.box, 0, sizeof(node.box))
            node.child1 = node.child2 = 0
        if not copy(archive, &node.box, &node.box + 1) or not copy(archive, &node.parent, &node.height + 1):
            return False
        if archive.reading:
            node.proxy = NULL
    while body != NULL:
        fixture = body.fixtures
        while fixture != NULL:
            if (not copy_numbers[int32_t](archive, &fixture.proxies.id, &fixture.proxies.id + 1, 0, counts[0] - 1)
                    or (archive.reading and tree.nodes[fixture.proxies.id].proxy != NULL)):
                return False
            tree.nodes[fixture.proxies.id].proxy = fixture.proxies
            fixture = fixture.next
        body = body.next
    if archive.reading:
        phase.move_count = 0
    return is_tree(tree, phase.proxy_count)


cdef void clear_unused(contact_t* contact) noexcept nogil:
    """Set unused bytes to zero, so that equal worlds are written as equal bytes."""
    memset(&contact.points[contact.point_count], 0, sizeof(manifold_point_t) * (2 - contact.point_count))
    if contact.point_count == 0:
        memset(&contact.local_normal, 0, <char*> &contact.point_count - <char*> &contact.local_normal)
    if not contact.flags & HAS_TOI:
        contact.toi = 0.0


cdef bint copy_contact(archive_t* archive, contact_t* contact) noexcept nogil:
    """Write or read the members of a contact that the solver keeps from step to step."""
    cdef bint is_sensor = contact.fixture_a.is_sensor or contact.fixture_b.is_sensor
    cdef manifold_point_t* point = contact.points
    while point < &contact.points[2]:
        if not (copy_numbers[float](archive, &point.local_point, &point.normal_impulse, -LIMIT, LIMIT)
                and copy_numbers[float](archive, &point.normal_impulse, &point.tangent_impulse, 0, LIMIT)
                and copy_numbers[float](archive, &point.tangent_impulse, &point.id, -LIMIT, LIMIT)
                and copy(archive, &point.id, &point.id + 1)):
            return False
        point += 1
    return (
        copy(archive, &contact.flags, &contact.flags + 1) and not contact.flags & ~<uint32_t> CONTACT_FLAGS
        and copy_numbers[float](archive, &contact.local_normal, &contact.type, -LIMIT, LIMIT)
        and copy_numbers[int32_t](archive, &contact.type, &contact.toi_count, 0, 2)
        and copy_numbers[int32_t](archive, &contact.toi_count, &contact.toi_count + 1, 0, INT32_MAX)
        and copy_numbers[float](archive, &contact.toi, &contact.friction, 0, 1)
        and copy_numbers[float](archive, &contact.friction, &contact.tangent_speed + 1, -LIMIT, LIMIT)
        and (contact.point_count == 0 if is_sensor else
             (contact.flags & TOUCHING != 0) == (contact.point_count != 0)))


cdef bint copy_contacts(const calls_t* calls, archive_t* archive, contact_manager_t* manager) noexcept nogil:
    """Write or read contacts, the oldest first, because a new contact is inserted at the front of all lists."""
    cdef const tree_t* tree = &manager.broad_phase.tree
    cdef contact_t* contact = manager.contacts
    cdef int32_t i, count = manager.contact_count
    cdef int32_t[2] proxies
    if not copy(archive, &count, &count + 1):
        return False
    while not archive.reading and contact != NULL and contact.next != NULL:
        contact = contact.next
    for i in range(count):
        if not archive.reading:
            proxies[0], proxies[1] = contact.fixture_a.proxies.id, contact.fixture_b.proxies.id
            clear_unused(contact)
        if not copy_numbers[int32_t](archive, proxies, &proxies[2], 0, tree.node_capacity - 1):
            return False
        if archive.reading:
            if tree.nodes[proxies[0]].proxy == NULL or tree.nodes[proxies[1]].proxy == NULL:
                return False
            calls.add_pair(manager, tree.nodes[proxies[0]].proxy, tree.nodes[proxies[1]].proxy)
            contact = manager.contacts
            if manager.contact_count != i + 1 or contact.fixture_a.proxies.id != proxies[0]:
                return False
        if not copy_contact(archive, contact):
            return False
        contact = contact.previous
    return True


cdef bint copy_body(archive_t* archive, body_t* body) noexcept nogil:
    """Write or read the members of a body that describe its motion."""
    cdef int active = body.flags & ACTIVE
    return (
        copy(archive, &body.flags, &body.flags + 1) and not body.flags & ~BODY_FLAGS and body.flags & ACTIVE == active
        and copy_numbers[float](archive, &body.position, &body.sine, -LIMIT, LIMIT)
        and copy_numbers[float](archive, &body.sine, &body.cosine + 1, -1, 1)
        and copy_numbers[float](archive, &body.center0, &body.torque + 1, -LIMIT, LIMIT)
        and 0 <= body.alpha0 < 1
        and copy_numbers[float](archive, &body.sleep_time, &body.sleep_time + 1, 0, LIMIT))


cdef bint copy_joint(archive_t* archive, joint_t* joint) noexcept nogil:
    """Write or read the members of a joint that the solver keeps from step to step, and its motor and limits."""
    return (
        copy_numbers[float](archive, joint.impulse, &joint.motor_impulse + 1, -LIMIT, LIMIT)
        and copy(archive, &joint.enable_motor, &joint.enable_motor + 1) and joint.enable_motor <= 1
        and copy_numbers[float](archive, &joint.max_motor_torque, &joint.motor_speed, 0, LIMIT)
        and copy_numbers[float](archive, &joint.motor_speed, &joint.motor_speed + 1, -LIMIT, LIMIT)
        and copy(archive, &joint.enable_limit, &joint.enable_limit + 1) and joint.enable_limit <= 1
        and copy_numbers[float](archive, &joint.lower_angle, &joint.upper_angle + 1, -LIMIT, LIMIT)
        and joint.lower_angle <= joint.upper_angle
        and copy_numbers[int32_t](archive, &joint.limit_state, &joint.limit_state + 1, 0, 3))


cdef bint copy_world(const worlds_t* self, world_lane_t* lane, char* saved, int64_t size, bint reading) noexcept nogil:
    """Write the state of a world to memory, or read it into a world that was just built with the same bodies.

    Returns:
        Whether the state fits into the memory, the world has exactly the bodies that the lane has created, and all
        values are valid. If reading returns false, the only valid use of the world is to destruct it.
    """
    cdef world_t* world = lane.world
    cdef archive_t memory
    cdef archive_t* archive = &memory
    cdef int k
    memory.position, memory.end, memory.reading = saved, saved + size, reading
    if (world.body_count != lane.body_count or world.joint_count != lane.joint_count
            or world.manager.broad_phase.proxy_count != lane.proxy_count):
        return False
    if not (copy_tree(&self.calls, archive, world) and copy_contacts(&self.calls, archive, &world.manager)
            and copy_numbers[float](archive, &world.gravity, &world.gravity + 1, -LIMIT, LIMIT)
            and copy(archive, &world.flags, &world.flags + 1) and not world.flags & (~WORLD_FLAGS | LOCKED)
            and copy_numbers[float](archive, &world.inverse_dt0, &world.inverse_dt0 + 1, 0, LIMIT)):
        return False
    for k in range(lane.moving_count):  # after the contacts, which wake bodies
        if not copy_body(archive, lane.moving[k]):
            return False
    for k in range(lane.joint_count):
        if not copy_joint(archive, lane.joints[k]):
            return False
    return True


# --- the functions of a lane ------------------------------------------------------------------------------------------

cdef inline char* episode_of(void* lane) noexcept nogil:
    return <char*> lane + sizeof(world_lane_t)


cdef bint needs_no_python(const world_lane_t* lane) noexcept nogil:
    """Return whether Box2D would not call any Python code of the program, which could not run without the GIL.

    A locked world is in the middle of a step. It stays locked after a listener has raised an exception.
    """
    return (lane.world.manager.filter == lane.filter and lane.world.destruction_listener == NULL
            and not lane.world.flags & LOCKED)


cdef void build_world(const worlds_t* self, world_lane_t* lane) noexcept nogil:
    """Create the bodies of an episode in an empty world, and zero the rest of the episode."""
    cdef int64_t drawn = self.family.drawn_bytes
    memset(episode_of(lane) + drawn, 0, self.family.episode_bytes - drawn)
    lane.moving_count = lane.joint_count = 0
    self.family.build(self, lane)
    listen(self, lane, self.family.report)


cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef world_lane_t* lane = <world_lane_t*> memory
    cdef const double* numbers = <const double*> action
    cdef int ends
    lane.changed = (lane.builds == 0 or lane.busy or lane.world.manager.listener != lane or not needs_no_python(lane)
                    or not has_all_bodies(lane))
    if lane.changed:
        return 0
    if self.discrete:  # limited here too, because another thread may change an action after its check
        numbers = self.family.choices + self.family.action_size * min(
            max((<const int64_t*> action)[0], 0), self.family.choice_count - 1)
    lane.busy = 1
    ends = self.family.step(self, lane, parameters, numbers, rng, reward)
    lane.busy = 0
    return ends


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    """Begin an episode: draw its terrain, build its bodies and take its first step, unless the caller takes it."""
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef world_lane_t* lane = <world_lane_t*> memory
    cdef double reward
    drop_broken(self, lane)
    lane.changed = not needs_no_python(lane)
    if lane.changed:
        return
    lane.busy = 1
    self.family.begin(self, lane, parameters, options, rng)
    build_world(self, lane)
    if not self.stays:
        self.family.step(self, lane, parameters, self.family.first_action, rng, &reward)
    lane.busy = 0


cdef inline void drop_broken(const worlds_t* self, world_lane_t* lane) noexcept nogil:
    """Replace the world of a lane that a fork has copied in the middle of a step.

    Its allocations are leaked: they may be inconsistent, and objects of the package may point to them.
    """
    if lane.busy:
        construct_world(self, lane, 0.0)


cdef void observe(
    const void* memory, const void* shared, const double* parameters, void* const* parts
) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef world_lane_t* lane = <world_lane_t*> memory
    if lane.builds and not lane.changed:  # its bodies exist
        self.family.observe(self, lane, parts[0])


cdef int has_changed(const void* lane) noexcept nogil:
    """Return whether the last step or reset skipped a lane because a program had changed its world."""
    return (<const world_lane_t*> lane).changed


cdef void release(void* memory, const void* shared) noexcept nogil:
    """Remove the listener from a world, because the world may outlive the lane."""
    cdef world_lane_t* lane = <world_lane_t*> memory
    if lane.builds:
        lane.world.manager.listener = NULL


cdef bint restore(const worlds_t* self, world_lane_t* lane, char* saved) noexcept nogil:
    """Rebuild the world of a lane as it was saved; return false if the state is invalid."""
    cdef int64_t size = self.family.episode_bytes
    cdef int32_t nodes
    memcpy(&nodes, saved + size, sizeof(nodes))
    if not self.family.is_valid(saved, nodes != 0):
        return False
    memcpy(episode_of(lane), saved, size)
    if nodes == 0:
        return True  # the lane was never reset, because the tree of a world with bodies has nodes
    empty_world(self, lane, 0.0)
    build_world(self, lane)
    memcpy(episode_of(lane), saved, size)  # building has changed it
    return copy_world(self, lane, saved + size, self.family.world_bytes, True)


cdef int save(void* memory, const void* shared, void* saved) noexcept nogil:
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef world_lane_t* lane = <world_lane_t*> memory
    cdef int64_t size = self.family.episode_bytes
    memcpy(saved, episode_of(lane), size)
    return not lane.builds or (
        not lane.busy and copy_world(self, lane, <char*> saved + size, self.family.world_bytes, False))


cdef void load(void* memory, const void* shared, const void* saved) noexcept nogil:
    cdef world_lane_t* lane = <world_lane_t*> memory
    drop_broken(<const worlds_t*> shared, lane)
    lane.busy = lane.changed = 0
    restore(<const worlds_t*> shared, lane, <char*> saved)


cdef int check(const void* saved, const void* shared) noexcept nogil:
    """Return whether a saved lane is valid: restore it in a temporary lane."""
    cdef const worlds_t* self = <const worlds_t*> shared
    cdef world_lane_t* lane = <world_lane_t*> PyMem_RawCalloc(1, self.family.lane_bytes + sizeof(world_t))
    cdef bint possible
    if lane == NULL:
        return False
    lane.world = <world_t*> (<char*> lane + self.family.lane_bytes)
    construct_world(self, lane, 0.0)
    possible = restore(self, lane, <char*> saved)
    self.calls.destruct(lane.world)
    PyMem_RawFree(lane)
    return possible


cdef void write_infos(const void* lane, const void* shared, void* const* infos) noexcept nogil:
    (<const worlds_t*> shared).family.write_infos(<const world_lane_t*> lane, infos)


cdef lane_functions_t functions
functions.reset, functions.step, functions.observe, functions.write_infos = reset, step, observe, write_infos
functions.save, functions.load, functions.check, functions.free = save, load, check, release
functions.faulted = has_changed
LANE_FUNCTIONS = functions_capsule(&functions)


cdef class Worlds(LaneStore):
    """Worlds of a batch; families derive from it.

    Args:
        kernel: capsule of one of the family's kernels.
        functions: addresses of the functions and objects in SYMBOLS, by the same names.
        worlds: a `Box2D.b2World` for each lane, which must not be in the middle of a step.
        definitions: the package's definitions of bodies, fixtures and joints, in the family's order.
        error: exception class for worlds that programs have changed.
    """

    def __cinit__(
        self, *, object kernel, dict functions, list worlds, list definitions, object error, **family,
    ):
        self.kernel, self.worlds, self.definitions, self.error = kernel, worlds, definitions, error
        self.shared.discrete = kernel_spec(kernel)["discrete_actions"] > 0
        self.shared.float32_actions = &self.float32_actions
        set_calls(&self.shared, functions)

    cdef int set_up_worlds(self, const family_t* family, object episode_dtype) except -1:
        """Set up the lanes of a family."""
        cdef Py_ssize_t k
        cdef world_lane_t* lane
        if len(self.definitions) != family.definition_count:
            raise ValueError(f"definitions: expected {family.definition_count}, got {len(self.definitions)}")
        self.episode_dtype = episode_dtype
        self.shared.family = family
        for k, definition in enumerate(self.definitions):
            self.shared.definitions[k] = <const void*> <size_t> int(definition.this)
        # Keep the owners of the C++ objects, in a tuple. The garbage collector, which may run before `release`, would
        # clear a list, or a `b2World`, which is a Python object.
        owners = tuple([each.this for each in (*self.worlds, *self.definitions)])
        self.set_up(
            self.kernel, len(self.worlds), family.lane_bytes, &self.shared, owners,
            [("episode", episode_dtype), ("world", np.uint8, (family.world_bytes,))])
        for k, world in enumerate(self.worlds):
            lane = <world_lane_t*> self._lane(k)
            lane.world = <world_t*> <size_t> int(world.this)
            lane.filter = lane.world.manager.filter
        return 0

    def _columns(self, size_t offset, dtype):
        """Return a view of one member of the structs of all lanes."""
        return self.view()[:, offset:offset + dtype.itemsize].view(dtype.base).reshape(-1, *dtype.shape)

    @property
    def episodes(self):
        """The episode of each lane: a structured array [lanes], a writable view."""
        return self._columns(sizeof(world_lane_t), self.episode_dtype)

    def leave_first_step(self):
        """Make resets leave the first step of an episode to the caller."""
        self.shared.stays = True

    def builds(self, Py_ssize_t lane):
        """Return how often the bodies of a lane were created. If the number has grown, the bodies are new."""
        return (<world_lane_t*> self._lane(lane)).builds

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


# --- checks that the layouts of Box2D are those of structures.pxd -----------------------------------------------------

cdef tuple pair(vec_t vector):
    return vector.x, vector.y


def read_members(str kind, size_t address):
    """Return the members of a structure, read with the layouts of structures.pxd.

    Names are those of the package's attributes. Addresses are ints; the address of a list is that of its newest object.
    """
    cdef const body_def_t* definition = <const body_def_t*> address
    cdef const world_t* world = <const world_t*> address
    cdef const body_t* body = <const body_t*> address
    cdef const fixture_t* fixture = <const fixture_t*> address
    cdef polygon_shape_t* shape = <polygon_shape_t*> address
    cdef joint_t* joint = <joint_t*> address
    cdef const contact_t* contact = <const contact_t*> address
    cdef const manifold_point_t* point = <const manifold_point_t*> address
    if kind == "body definition":
        return {
            "type": definition.type, "position": pair(definition.position), "angle": definition.angle,
            "gravityScale": definition.gravity_scale}
    if kind == "world":
        return {
            "this": <size_t> world.manager.allocator, "contactManager": <size_t> &world.manager,
            "contactManager.broadPhase": <size_t> &world.manager.broad_phase, "bodies": <size_t> world.bodies,
            "joints": <size_t> world.joints, "contacts": <size_t> world.manager.contacts,
            "bodyCount": world.body_count, "jointCount": world.joint_count,
            "contactCount": world.manager.contact_count, "proxyCount": world.manager.broad_phase.proxy_count,
            "gravity": pair(world.gravity)}
    if kind == "body":
        return {
            "next": <size_t> body.next, "world": <size_t> body.world, "fixtures": <size_t> body.fixtures,
            "type": body.type, "awake": body.flags & AWAKE != 0, "position": pair(body.position), "angle": body.angle,
            "localCenter": pair(body.local_center), "worldCenter": pair(body.center),
            "linearVelocity": pair(body.velocity), "angularVelocity": body.angular_velocity, "mass": body.mass,
            "linearDamping": body.linear_damping, "angularDamping": body.angular_damping,
            "gravityScale": body.gravity_scale}
    if kind == "fixture":
        return {
            "next": <size_t> fixture.next, "body": <size_t> fixture.body, "shape": <size_t> fixture.shape,
            "density": fixture.density, "friction": fixture.friction, "restitution": fixture.restitution,
            "sensor": fixture.is_sensor != 0}
    if kind == "shape":
        return {"type": shape.type, "vertices": [pair(corner) for corner in shape.vertices[:min(shape.count, 16)]]}
    if kind == "joint":
        return {
            "next": <size_t> joint.next, "bodyA": <size_t> joint.body_a, "bodyB": <size_t> joint.body_b,
            "type": joint.type, "angle": joint_angle(joint), "speed": joint_speed(joint),
            "motorSpeed": joint.motor_speed, "motorEnabled": joint.enable_motor != 0,
            "limitEnabled": joint.enable_limit != 0, "lowerLimit": joint.lower_angle, "upperLimit": joint.upper_angle,
            "GetMaxMotorTorque": joint.max_motor_torque, "GetMotorTorque": joint.motor_impulse}
    if kind == "contact":
        members = {
            "next": <size_t> contact.next, "fixtureA": <size_t> contact.fixture_a,
            "fixtureB": <size_t> contact.fixture_b, "childIndexA": contact.child_a, "childIndexB": contact.child_b,
            "touching": contact.flags & TOUCHING != 0, "friction": contact.friction,
            "restitution": contact.restitution, "tangentSpeed": contact.tangent_speed,
            "manifold": <size_t> contact.points, "manifold.pointCount": contact.point_count}
        if contact.point_count:  # otherwise they are undefined
            members["manifold.localNormal"] = pair(contact.local_normal)
            members["manifold.localPoint"] = pair(contact.local_point)
            members["manifold.type_"] = contact.type
        return members
    return {
        "localPoint": pair(point.local_point), "normalImpulse": point.normal_impulse,
        "tangentImpulse": point.tangent_impulse, "id.key": point.id}


ctypedef struct trial_t:
    world_lane_t lane
    int32_t changes  # contacts that have begun or ended


cdef void count_contact(world_lane_t* lane, const contact_t* contact, bint touches) noexcept nogil:
    (<trial_t*> lane).changes += 1


def step_and_save(dict functions, size_t world, int steps, bytes state=None):
    """Restore a state of a world with two moving bodies and a joint, then push the newest body and step several times.

    To restore a state, the world must have been created in the same way as that of the state, and not stepped.

    Returns:
        The new state, or None if the world cannot be saved or restored; and how many contacts have begun or ended.
    """
    cdef worlds_t shared
    cdef trial_t trial
    cdef world_lane_t* lane = &trial.lane
    cdef bytearray saved = bytearray(1 << 16)
    cdef bint is_valid
    set_calls(&shared, functions)
    trial.changes = 0
    lane.world = <world_t*> world
    lane.moving[0] = lane.world.bodies  # moving bodies precede the ground
    lane.moving[1] = lane.world.bodies.next
    lane.joints[0] = lane.world.joints
    lane.moving_count, lane.joint_count = 2, 1
    listen(&shared, lane, count_contact)
    is_valid = state is None or copy_world(&shared, lane, <char*> state, len(state), True)
    for _ in range(steps if is_valid else 0):
        apply_impulse(lane.moving[0], 0.01, 0.3, 5.0, 2.0)
        step_world(&shared, lane)
    is_valid = is_valid and copy_world(&shared, lane, saved, len(saved), False)
    lane.world.manager.listener = NULL
    return bytes(saved) if is_valid else None, trial.changes
