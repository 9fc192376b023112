"""LaneMemory: the memory of a batch's lanes, and how Python reads and changes it."""
cimport numpy as cnp
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from gymcore_ext.arrays cimport array_pointer, claim, cut_off, lane_pointer
from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport (
    ISA_COUNT, KERNEL_ABI, KERNEL_CAPSULE, MAX_AXES, MAX_INFOS, MAX_PARTS, OLDEST_KERNEL, kernel_t, rng_double,
    rng_seed_range, rng_t,
)
from gymcore_ext.engine.step cimport best_isa, lifecycles, sizes_t

import copy
import os
import threading
import time

import numpy as np

cnp.import_array()


cdef extern from *:
    """
    #include "gymcore/platform.h"
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    /* Zeroed memory for lanes, on large pages where the system offers them: a step of a million lanes walks through a
     * hundred megabytes, and on 4 KiB pages a good part of its time would be address translation. */
    static void *gymcore_zeroed(size_t size)
    {
        void *memory = PyMem_RawCalloc(1, size);
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        const size_t page = (size_t)1 << 21;
        if (memory && size >= 2 * page) {
            uintptr_t first = ((uintptr_t)memory + page - 1) & ~(uintptr_t)(page - 1);
            uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(page - 1);
            if (first < end)
                madvise((void *)first, end - first, MADV_HUGEPAGE); /* advice: a failure is harmless */
        }
    #endif
        return memory;
    }
    """
    void* zeroed "gymcore_zeroed"(size_t size) noexcept nogil

ISA_NAMES = ("baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4")[:ISA_COUNT]


# NumPy types by their numbers in kernel.h.
TYPES = (
    np.int64, np.float32, np.float64, np.int8, np.uint8,
    np.int16, np.int32, np.uint16, np.uint32, np.uint64, np.bool_,
)


cdef tuple axes(const int32_t* shape):
    return tuple([shape[k] for k in range(MAX_AXES) if shape[k]])


cdef tuple parts_of(const kernel_t* kernel):
    """(dtype, shape) of each array that an observation consists of."""
    return tuple([(TYPES[kernel.parts[k].type], axes(kernel.parts[k].shape)) for k in range(kernel.part_count)])


cdef object ranges_of(const kernel_t* kernel):
    """(lowest value, number of values) of each integer of an action; None if the shared table decides."""
    cdef const int64_t* ranges = kernel.action_ranges
    if ranges == NULL:
        return ()
    if ranges[1] < 0:
        return None
    return tuple([(ranges[2 * k], ranges[2 * k + 1]) for k in range(max(kernel.action_size, 1))])


cdef int64_t choices_of(const kernel_t* kernel) noexcept:
    """How many discrete actions there are: 0 for arrays, -1 if the shared table decides."""
    return 0 if kernel.action_size or kernel.action_ranges == NULL else kernel.action_ranges[1]


cdef int set_sizes(const kernel_t* kernel, sizes_t* sizes) except -1:
    """Compute the sizes of rows."""
    cdef int k
    sizes.parts, sizes.infos = kernel.part_count, kernel.info_count
    for k, part in enumerate(parts_of(kernel)):
        sizes.part_bytes[k] = np.dtype(part).itemsize
    for k in range(kernel.info_count):
        sizes.info_bytes[k] = kernel.infos[k].size * np.dtype(TYPES[kernel.infos[k].type]).itemsize
    sizes.action_bytes = max(kernel.action_size, 1) * np.dtype(TYPES[kernel.action_type]).itemsize
    return 0


def kernel_spec(object capsule):
    """Sizes, names and defaults of a kernel capsule, as a dict."""
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
        "observation_parts": parts_of(kernel),
        "discrete_actions": choices_of(kernel),
        "action_size": kernel.action_size,
        "action_shape": axes(kernel.action_shape) or (tuple([kernel.action_size]) if kernel.action_size else ()),
        "action_dtype": TYPES[kernel.action_type],
        "action_ranges": ranges_of(kernel),
        # Name, type, size, and which lanes have them (kernel.h).
        "infos": tuple((kernel.infos[k].name.decode(), TYPES[kernel.infos[k].type], kernel.infos[k].size,
                        kernel.infos[k].when) for k in range(kernel.info_count)),
    }


cdef void* pointer_of(object capsule, const char* name, str argument, object type_error) except NULL:
    """Return what a capsule of this name points to."""
    if not PyCapsule_IsValid(capsule, name):
        raise type_error(f"{argument}: expected a capsule named {name.decode()}, got {type(capsule).__name__}")
    return PyCapsule_GetPointer(capsule, name)


cdef int read_kernel(object capsule, kernel_t* kernel) except -1:
    """Copy the kernel of a capsule, whose module may have been compiled for an engine with fewer members."""
    cdef const kernel_t* given = <const kernel_t*> pointer_of(capsule, KERNEL_CAPSULE, "kernel", TypeError)
    if given.abi != KERNEL_ABI or given.size < OLDEST_KERNEL:
        raise ValueError(f"kernel: built for engine ABI {given.abi}, this engine has {KERNEL_ABI}: build it again")
    memset(kernel, 0, sizeof(kernel_t))
    memcpy(kernel, given, min(given.size, <int64_t> sizeof(kernel_t)))
    if kernel.parameter_count > MAX_NUMBERS or kernel.reset_option_count > MAX_NUMBERS:
        raise ValueError(f"kernel: expected at most {MAX_NUMBERS} parameters and reset options")
    if kernel.part_count > MAX_PARTS:
        raise ValueError(f"kernel: expected at most {MAX_PARTS} arrays of an observation")
    if kernel.info_count > MAX_INFOS:
        raise ValueError(f"kernel: expected at most {MAX_INFOS} fields of the infos")
    return 0


def choose_isa(name=None):
    """Index into ISA_NAMES: the best one this processor has, or the one named by the argument or GYMCORE_ISA."""
    best = best_isa()
    name = os.environ.get("GYMCORE_ISA") if name is None else name
    if not name:
        return best
    if name not in ISA_NAMES[:best + 1]:
        here = ", ".join(ISA_NAMES[:best + 1])
        raise ValueError(f"GYMCORE_ISA: expected one of {here} on this machine, got {name!r}")
    return ISA_NAMES.index(name)


def detached_pcg64(dict state, object seed_seq=None):
    """Return a new numpy.random.PCG64 in the given state, for copies and pickles of a lane's stream."""
    generator = np.random.PCG64(seed_seq)
    generator.state = state
    return generator


cdef class LanePCG64:
    """Bit generator of one lane, for `numpy.random.Generator`. A view: it keeps the lane's memory alive.

    `state` reads and writes what numpy.random.PCG64.state does. Copies and pickles are numpy.random.PCG64 objects.
    `seed_seq` is the numpy.random.SeedSequence from which the stream was seeded, or None if it is unknown.
    """

    cdef object owner
    cdef rng_t* rng
    cdef bitgen_t bitgen
    cdef readonly object capsule
    cdef readonly object lock
    cdef public object seed_seq

    @staticmethod
    cdef LanePCG64 view(object owner, rng_t* rng):
        cdef LanePCG64 self = LanePCG64.__new__(LanePCG64)
        self.owner = owner
        self.rng = rng
        self.bitgen = bitgen_of(rng)
        self.capsule = PyCapsule_New(&self.bitgen, "BitGenerator", NULL)
        self.lock = threading.Lock()
        return self

    @property
    def state(self):
        return {
            "bit_generator": "PCG64",
            "state": {
                "state": (int(self.rng.state_high) << 64) | int(self.rng.state_low),
                "inc": (int(self.rng.increment_high) << 64) | int(self.rng.increment_low),
            },
            "has_uint32": int(self.rng.has_uint32),
            "uinteger": int(self.rng.uinteger),
        }

    @state.setter
    def state(self, value):
        if not isinstance(value, dict) or value.get("bit_generator") != "PCG64":
            raise ValueError(f"state: expected the state of a PCG64 bit generator, got {value!r}")
        try:
            numbers = [int(value["state"][name]) for name in ("state", "inc")]
            halves = [int(value[name]) for name in ("has_uint32", "uinteger")]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"state: expected the state of a PCG64 bit generator, got {value!r} ({error!r})") from None
        if min(*numbers, *halves) < 0 or max(numbers) >> 128 or max(halves) >> 32:
            raise ValueError(f"state: expected 128-bit numbers and a 32-bit half draw, got {value!r}")
        if not numbers[1] & 1:  # its draws may all be the same, and a draw below a number may never end
            raise ValueError(f"state: expected an odd increment, got {value!r}")
        cdef object mask = (1 << 64) - 1
        self.rng.state_high = numbers[0] >> 64
        self.rng.state_low = numbers[0] & mask
        self.rng.increment_high = numbers[1] >> 64
        self.rng.increment_low = numbers[1] & mask
        self.rng.has_uint32 = 1 if halves[0] else 0
        self.rng.uinteger = halves[1]

    def random_raw(self, size=None, output=True):
        """Raw 64-bit draws, as numpy.random.BitGenerator.random_raw gives them."""
        drawn = np.random.Generator(self).integers(0, 2**64, size=size, dtype=np.uint64)
        if not output:
            return None
        return int(drawn) if size is None else drawn

    def spawn(self, int n_children):
        """Independent bit generators, as numpy.random.PCG64.spawn gives them: further calls give others.

        Raises:
            TypeError: it is not known from which seed the stream came.
        """
        if self.seed_seq is None:
            raise TypeError("spawn: the seed of this random stream is not known; seed it by reset(seed=...)")
        return [np.random.PCG64(seed) for seed in self.seed_seq.spawn(n_children)]

    def __reduce__(self):
        return detached_pcg64, (self.state, self.seed_seq)

    def __deepcopy__(self, memo):
        return detached_pcg64(self.state, copy.deepcopy(self.seed_seq, memo))


cdef class LaneOwner:
    """Base class of the owners of lanes that are not columns: the `store` of a batch.

    Attributes:
        kernel: capsule of the kernel that steps them.
    """

    cdef int own(self, object kernel, void* lanes, Py_ssize_t num_lanes) except -1:
        """Set what steps the lanes, `lanes` of its columns, and how many there are."""
        self.kernel, self.columns_lanes, self.num_lanes = kernel, lanes, num_lanes
        return 0

    def __len__(self):
        return self.num_lanes


cdef class LaneMemory:
    """State, parameters, random streams and counters of lanes; see `Batch` for the arguments.

    Views keep the memory alive, also after the batch was closed.
    """

    def __cinit__(
        self, object kernel, Py_ssize_t num_envs, *, object errors, object isa=None, bint statistics=False,
        object shared=None, object store=None, int64_t choices=0, **options
    ):
        cdef const kernel_t* spec = &self.kernel
        cdef int64_t info_bytes = 0
        cdef int k
        read_kernel(kernel, &self.kernel)
        set_sizes(spec, &self.lanes.sizes)
        if num_envs < 1:
            raise errors.InvalidArgument(f"num_envs: expected at least 1, got {num_envs}")
        # A kernel of another package may carry fewer instruction sets: an older compiler built it.
        cdef int level = min(<int> choose_isa(isa), spec.isa_count - 1)
        self.isa = ISA_NAMES[level]
        self.capsule = kernel
        self.errors = errors
        self.num_envs = num_envs
        self.statistics = statistics
        self.lanes.kernel = spec
        self.loops = &spec.step[level]
        self.lanes.step = self.loops.shared
        self.lanes.lifecycle = &lifecycles[level]
        self.lanes.num_envs = num_envs
        for k in range(spec.info_count):
            info_bytes += (self.lanes.sizes.info_bytes[k] + 7) & ~7
        if info_bytes > INFO_BYTES:
            raise ValueError(f"kernel: expected at most {INFO_BYTES} bytes of infos a lane, got {info_bytes}")
        self.lanes.choices = choices_of(spec)
        if self.lanes.choices < 0:  # the table decides
            self.lanes.choices = choices
            if choices < 1:
                raise errors.InvalidArgument(f"choices: expected how many actions there are, got {choices}")
        if spec.shared_name != NULL:  # the kernel trusts what its own module has put into the capsule
            self.lanes.columns.shared = pointer_of(shared, spec.shared_name, "shared", errors.ArgumentTypeError)
            self.references = shared
        if spec.has_lanes:
            self._set_store(store)
        self._allocate()

    cdef int _set_store(self, object store) except -1:
        """Take lanes that are not columns from their owner."""
        cdef LaneOwner owner
        if not isinstance(store, LaneOwner):
            raise self.errors.ArgumentTypeError(f"store: expected the owner of lanes, got {type(store).__name__}")
        owner = store
        if (PyCapsule_GetPointer(owner.kernel, KERNEL_CAPSULE)
                != PyCapsule_GetPointer(self.capsule, KERNEL_CAPSULE)):
            raise self.errors.ArgumentTypeError("store: expected lanes of this kernel, got those of another one")
        if owner.num_lanes != self.num_envs:
            raise self.errors.InvalidArgument(f"store: expected {self.num_envs} lanes, got {owner.num_lanes}")
        self.store, self.lanes.columns.lanes = owner, owner.columns_lanes
        return 0

    cdef _allocate(self):
        """One block of zeroed memory, every column at a cache line."""
        cdef const kernel_t* spec = self.lanes.kernel
        cdef size_t n = self._padded()
        cdef size_t columns = spec.state_count + 1 + self.statistics  # and returns, started
        cdef size_t size = n * (8 * columns + sizeof(rng_t) + 4 + 1)
        cdef size_t table = (spec.state_count + spec.parameter_count) * sizeof(double*)
        cdef char* place
        cdef int k
        # With more lanes, `size` might overflow.
        if n < <size_t> -1 >> 16:
            self.columns = <double**> PyMem_RawCalloc(1, table)
            self.parameters = <double*> PyMem_RawCalloc(spec.parameter_count, sizeof(double))
            self.memory = zeroed(size + 64)
        if self.columns == NULL or self.parameters == NULL or self.memory == NULL:
            raise MemoryError(f"num_envs: no memory for {self.num_envs} lanes of {spec.name.decode()} ({size} bytes)")
        place = <char*> ((<size_t> self.memory + 63) & ~<size_t> 63)
        for k in range(spec.state_count):
            self.columns[k] = <double*> place
            place += 8 * n
        self.lanes.episodes.returns = <double*> place
        place += 8 * n
        if self.statistics:
            self.lanes.episodes.started = <double*> place
            place += 8 * n
        self.lanes.columns.rngs = <rng_t*> place
        place += sizeof(rng_t) * n
        self.lanes.episodes.elapsed = <int32_t*> place
        self.lanes.episodes.ended = <uint8_t*> (place + 4 * n)
        for k in range(spec.parameter_count):
            self.parameters[k] = spec.parameter_defaults[k]
            self.columns[spec.state_count + k] = &self.parameters[k]
        self.lanes.columns.state = self.columns
        self.lanes.columns.parameters = self.columns + spec.state_count

    cdef size_t _padded(self) noexcept:
        """Length of a column: a whole number of cache lines, whatever the type."""
        return (self.num_envs + 63) & ~<size_t> 63 if self.num_envs > 64 else self.num_envs

    def __dealloc__(self):
        PyMem_RawFree(self.parameters)
        PyMem_RawFree(self.columns)
        PyMem_RawFree(self.memory)

    # --- one caller at a time -------------------------------------------------------------------------------------

    cdef int _enter(self, int use) except -1:
        """Claim the batch for one call, which must end with `busy = 0`, also after an exception."""
        if cut_off(&self.busy):  # a fork in the middle of a step
            self.ready = False
        if use != ANY_USE and not self.busy:
            if self.closed:
                raise self.errors.ClosedEnvironmentError("the environment was closed; make a new one")
            if not self.ready:
                raise self.errors.ResetNeeded("step: expected reset() before the first step()")
        return claim(&self.busy, "this batch is being stepped", self.errors)

    # --- random streams --------------------------------------------------------------------------------------------

    def seed(self, object entropy, Py_ssize_t lo, Py_ssize_t hi):
        """Seed lanes lo, lo + 1, ... of [lo, hi) with entropy, entropy + 1, ... (a non-negative int of any size)."""
        cdef uint32_t[::1] words
        cdef int count = max(1, (entropy.bit_length() + 31) // 32)
        if not 0 <= lo <= hi <= self.num_envs:
            raise IndexError(f"lanes [{lo}, {hi}) are not in [0, {self.num_envs})")
        words = np.frombuffer(bytearray(int(entropy).to_bytes(4 * count + 4, "little")), np.uint32)
        self._enter(ANY_USE)
        with nogil:
            rng_seed_range(self.lanes.columns.rngs + lo, hi - lo, &words[0], count)
        self.busy = 0

    def random(self, object lanes, Py_ssize_t size):
        """Uniform draws of lanes, int64 [n], on [0, 1): float64 [n, size], each row as Generator.random(size) draws."""
        cdef const int64_t* indices = lane_pointer(lanes, "lanes", self.num_envs, self.errors)
        cdef Py_ssize_t k, i, n = len(lanes)
        cdef cnp.ndarray drawn = np.empty((n, size))
        cdef double* place = <double*> cnp.PyArray_DATA(drawn)
        for k in range(n):
            for i in range(size):
                place[k * size + i] = rng_double(self.lanes.columns.rngs + indices[k])
        return drawn

    def exclusively(self, function):
        """Call a function that reads or writes views, while other callers are kept out; return its result."""
        self._enter(ANY_USE)
        try:
            return function()
        finally:
            self.busy = 0

    def mark_ready(self, lanes=None):
        """Allow steps without a reset: the caller has written every lane's state.

        Args:
            lanes: indices of lanes whose episodes begin now by the clock; None for all of a batch that was not ready.
        """
        cdef cnp.ndarray started
        if self.statistics and (lanes is not None or not self.ready):
            started = self._view(self.lanes.episodes.started, cnp.NPY_FLOAT64, (self.num_envs,))
            started[slice(None) if lanes is None else lanes] = time.perf_counter()
        self.ready = True

    def require_reset(self):
        """Require a reset before the next step, as for a new batch."""
        self.ready = False

    @property
    def is_ready(self):
        """Whether the lanes have a state: reset was called, or mark_ready."""
        if cut_off(&self.busy):
            self.ready = False
        return self.ready

    # --- views and parameters -------------------------------------------------------------------------------------

    cdef cnp.ndarray _view(self, void* data, int typenum, tuple shape):
        """Return a NumPy view of lane memory that keeps this batch alive."""
        cdef cnp.npy_intp dims[2]
        cdef int rank = len(shape)
        for k in range(rank):
            dims[k] = shape[k]
        array = cnp.PyArray_SimpleNewFromData(rank, dims, typenum, data)
        cnp.set_array_base(array, self)
        return array

    def view_state(self):
        """float64 [state_count, num_envs], a view: a row for every state column."""
        cdef size_t n = self._padded()
        whole = self._view(self.columns[0], cnp.NPY_FLOAT64, (self.lanes.kernel.state_count, n))
        return whole[:, :self.num_envs]

    def view_random(self):
        """uint64 [num_envs, 5], a view: state (high, low), increment (high, low), and the buffered 32-bit half."""
        return self._view(self.lanes.columns.rngs, cnp.NPY_UINT64, (self.num_envs, sizeof(rng_t) // 8))

    def view_lifecycle(self):
        """Views [num_envs]: ended (bool), elapsed (int32), returns (float64)."""
        return (
            self._view(self.lanes.episodes.ended, cnp.NPY_BOOL, (self.num_envs,)),
            self._view(self.lanes.episodes.elapsed, cnp.NPY_INT32, (self.num_envs,)),
            self._view(self.lanes.episodes.returns, cnp.NPY_FLOAT64, (self.num_envs,)),
        )

    def generator(self, Py_ssize_t lane):
        """numpy.random.Generator over the lane's own stream: a view."""
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane {lane} is not in [0, {self.num_envs})")
        return np.random.Generator(LanePCG64.view(self, self.lanes.columns.rngs + lane))

    def get_parameters(self):
        """float64 [parameter_count, 1] when all lanes share them, else [parameter_count, num_envs]; a copy."""
        width = self.num_envs if self.lanes.columns.parameter_stride else 1
        return self._view(self.parameters, cnp.NPY_FLOAT64, (self.lanes.kernel.parameter_count, width)).copy()

    def set_parameters(self, cnp.ndarray values not None):
        """Take float64 [parameter_count, 1] for all lanes or [parameter_count, num_envs] for each."""
        cdef const kernel_t* spec = self.lanes.kernel
        cdef bint shared = cnp.PyArray_NDIM(values) == 2 and cnp.PyArray_DIM(values, 1) == 1
        cdef size_t width = 1 if shared else self.num_envs
        cdef double* parameters
        cdef double* data = <double*> array_pointer(
            values, "parameters", cnp.NPY_FLOAT64, (spec.parameter_count, width), False, self.errors)
        cdef int k
        self._enter(ANY_USE)
        try:
            parameters = <double*> PyMem_RawCalloc(spec.parameter_count * width, sizeof(double))
            if parameters == NULL:
                raise MemoryError("parameters: no memory for one value a lane")
            memcpy(parameters, data, spec.parameter_count * width * sizeof(double))
            PyMem_RawFree(self.parameters)
            self.parameters = parameters
            for k in range(spec.parameter_count):
                self.columns[spec.state_count + k] = parameters + k * width
            self.lanes.columns.parameter_stride = 0 if shared else 1
            self.lanes.step = self.loops.shared if shared else self.loops.varied
        finally:
            self.busy = 0
