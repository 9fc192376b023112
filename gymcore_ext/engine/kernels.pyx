"""Kernels: reading their capsules, their spec for Python, and the owners of lanes that are not columns."""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.kernel cimport (
    BLOCK, ISA_COUNT, KERNEL_ABI, KERNEL_CAPSULE, MAX_AGENTS, MAX_AXES, MAX_INFOS, MAX_PARTS, OLDEST_KERNEL,
    TERMINATIONS, info_field_t, kernel_t,
)
from gymcore_ext.engine.step cimport best_isa, sizes_t

import os
from math import prod

import numpy as np

ISA_NAMES = ("baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4")[:ISA_COUNT]

# NumPy types by their numbers in kernel.h.
TYPES = (
    np.int64, np.float32, np.float64, np.int8, np.uint8,
    np.int16, np.int32, np.uint16, np.uint32, np.uint64, np.bool_,
)


cdef tuple axes(const int32_t* shape):
    return tuple([shape[k] for k in range(MAX_AXES) if shape[k]])


cdef tuple shape_of(const info_field_t* field):
    """Return the axes of an entry of the infos after the lanes."""
    return axes(field.shape) or (() if field.size == 1 else (field.size,))


cdef tuple observation_parts_of(const kernel_t* kernel):
    """Return (dtype, shape) of each array that an observation consists of."""
    return tuple([(TYPES[kernel.parts[k].type], axes(kernel.parts[k].shape)) for k in range(kernel.part_count)])


cdef object ranges_of(const kernel_t* kernel):
    """Return (lowest value, number of values) for each integer of an action; None if the shared table decides."""
    cdef const int64_t* ranges = kernel.action_ranges
    if ranges == NULL:
        return ()
    if ranges[1] < 0:
        return None
    return tuple([(ranges[2 * k], ranges[2 * k + 1]) for k in range(max(kernel.action_size, 1))])


cdef int64_t choices_of(const kernel_t* kernel) noexcept:
    """Return the number of discrete actions: 0 if actions are arrays, -1 if the shared table decides."""
    return 0 if kernel.action_size or kernel.action_ranges == NULL else kernel.action_ranges[1]


cdef int set_sizes(const kernel_t* kernel, sizes_t* sizes) except -1:
    """Compute the sizes of the rows of a lane in each array."""
    cdef int k
    sizes.parts, sizes.infos = kernel.part_count, kernel.info_count
    for k, (dtype, shape) in enumerate(observation_parts_of(kernel)):
        sizes.part_bytes[k] = np.dtype(dtype).itemsize * prod(shape)
    for k in range(kernel.info_count):
        sizes.info_bytes[k] = kernel.infos[k].size * np.dtype(TYPES[kernel.infos[k].type]).itemsize
    sizes.central_bytes = np.dtype(TYPES[kernel.central.type]).itemsize * prod(axes(kernel.central.shape))
    sizes.rewards = max(kernel.agents, 1)
    sizes.block = BLOCK // sizes.rewards
    sizes.action_bytes = max(kernel.action_size, 1) * np.dtype(TYPES[kernel.action_type]).itemsize
    return 0


def kernel_spec(object capsule):
    """Return the sizes, names and defaults of a kernel as a dict."""
    cdef kernel_t memory
    cdef const kernel_t* kernel = &memory
    read_kernel(capsule, &memory)

    def names(text):
        return tuple(text.decode().split())

    return {
        "name": kernel.name.decode(),
        "state_names": names(kernel.state_names),
        "parameters": dict(zip(names(kernel.parameter_names), [
            kernel.parameter_defaults[k] for k in range(kernel.parameter_count)])),
        "reset_options": dict(zip(names(kernel.reset_option_names), [
            kernel.reset_option_defaults[k] for k in range(kernel.reset_option_count)])),
        "observation_parts": observation_parts_of(kernel),
        "discrete_actions": choices_of(kernel),
        "action_size": kernel.action_size,
        "action_shape": axes(kernel.action_shape) or (tuple([kernel.action_size]) if kernel.action_size else ()),
        "action_dtype": TYPES[kernel.action_type],
        "action_ranges": ranges_of(kernel),
        # Name, type, shape, and which lanes have them (kernel.h).
        "infos": tuple([(kernel.infos[k].name.decode(), TYPES[kernel.infos[k].type], shape_of(&kernel.infos[k]),
                         kernel.infos[k].when) for k in range(kernel.info_count)]),
        "agents": tuple([kernel.agents]) if kernel.agents else (),
        # Type and shape of the state for critics.
        "central_state": None if kernel.central_state == NULL else (
            TYPES[kernel.central.type], axes(kernel.central.shape)),
    }


cdef void* pointer_of(object capsule, const char* name, str argument, object type_error) except NULL:
    """Return the pointer of a capsule, which must have this name."""
    if not PyCapsule_IsValid(capsule, name):
        raise type_error(f"{argument}: expected a capsule named {name.decode()}, got {type(capsule).__name__}")
    return PyCapsule_GetPointer(capsule, name)


cdef int read_kernel(object capsule, kernel_t* kernel) except -1:
    """Copy the kernel of a capsule. Its module may have been compiled when kernels had fewer members."""
    cdef const kernel_t* given = <const kernel_t*> pointer_of(capsule, KERNEL_CAPSULE, "kernel", TypeError)
    if given.abi != KERNEL_ABI or given.size < OLDEST_KERNEL:
        raise ValueError(f"kernel: built for engine ABI {given.abi}, this engine has {KERNEL_ABI}: build it again")
    memset(kernel, 0, sizeof(kernel_t))
    memcpy(kernel, given, min(given.size, <int64_t> sizeof(kernel_t)))
    for members, count, maximum in (
        ("parameters", kernel.parameter_count, <int> MAX_NUMBERS),
        ("reset options", kernel.reset_option_count, <int> MAX_NUMBERS),
        ("arrays of an observation", kernel.part_count, <int> MAX_PARTS), ("infos", kernel.info_count, <int> MAX_INFOS),
    ):
        if count > maximum:
            raise ValueError(f"kernel: expected at most {maximum} {members}, got {count}")
    if kernel.agents:
        check_agents(kernel)
    return 0


cdef int check_agents(const kernel_t* kernel) except -1:
    """Check the rows of agents in actions and observations, which the engine accesses without further checks."""
    cdef const int32_t* actions = kernel.agent_actions
    cdef int32_t k, first, count
    if not 0 < kernel.agents <= MAX_AGENTS:
        raise ValueError(f"agents: expected at most {MAX_AGENTS}, got {kernel.agents}")
    for k in range(kernel.part_count):
        first, count = kernel.parts[k].first_agent, kernel.parts[k].shape[0]
        if not 0 <= first < first + count <= kernel.agents:
            raise ValueError(
                f"observation: expected rows of agents 0 to {kernel.agents - 1}, got {first} to {first + count - 1}")
    if kernel.action_size == 0 or actions == NULL or actions[0] != 0 or actions[kernel.agents] != kernel.action_size:
        raise ValueError("actions: expected an array with the numbers of all agents")
    for k in range(kernel.agents):
        if actions[k] > actions[k + 1]:
            raise ValueError("actions: expected the numbers of agents in order")
    if kernel.report != NULL or any([kernel.infos[k].when == TERMINATIONS for k in range(kernel.info_count)]):
        raise ValueError("expected neither `report` nor infos of terminations in a world of agents")
    return 0


def choose_isa(name=None):
    """Return an index of ISA_NAMES: the best for this processor, or the one that the argument or GYMCORE_ISA names."""
    best = best_isa()
    name = os.environ.get("GYMCORE_ISA") if name is None else name
    if not name:
        return best
    if name not in ISA_NAMES[:best + 1]:
        here = ", ".join(ISA_NAMES[:best + 1])
        raise ValueError(f"GYMCORE_ISA: expected one of {here} on this machine, got {name!r}")
    return ISA_NAMES.index(name)


cdef class LaneOwner:
    """Base class of objects that own the memory of lanes, if a lane is not a row of columns: the `store` of a batch.

    Attributes:
        kernel: capsule of the kernel that steps the lanes.
    """

    cdef int set_lanes(self, object kernel, void* lanes, Py_ssize_t num_lanes) except -1:
        """Set the kernel that steps the lanes, the pointer `lanes` of its columns, and the number of lanes."""
        self.kernel, self.columns_lanes, self.num_lanes = kernel, lanes, num_lanes
        return 0

    def __len__(self):
        return self.num_lanes

    def seed_streams(self, entropy, Py_ssize_t lo, Py_ssize_t hi):
        """Seed streams that lanes of [lo, hi) have besides that of the engine, with entropy, entropy + 1, ..."""
