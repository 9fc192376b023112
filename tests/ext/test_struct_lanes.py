"""Lanes that point to other memory, with functions that make, free, save and load them."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore_ext
from gymcore import error
from gymcore.native.struct_env import StructEnv
from gymcore.spaces import Discrete
from gymcore_ext.engine.batch import Batch
from gymcore_ext.lanes.custom_kernel import CustomKernel
from gymcore_ext.lanes.struct_lanes import StructLanes

HEADER = Path(gymcore_ext.get_include()) / "gymcore" / "kernel.h"
ABI = int(re.findall(r"GYMCORE_KERNEL_ABI (\d+)", HEADER.read_text())[0])

NAME = b"counters.numbers"
POINTER, NUMBERS = ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)
LANE = ctypes.POINTER(NUMBERS)  # a lane is the address of its number
# Functions that lanes call until they are freed. The collector may free a callback before lanes
# that are in the same cycle, so callbacks live as long as the process, as compiled functions do.
CALLBACKS: list[Any] = []
FUNCTIONS = {
    "reset": ctypes.CFUNCTYPE(None, LANE, POINTER, NUMBERS, NUMBERS, POINTER),
    "step": ctypes.CFUNCTYPE(ctypes.c_int, LANE, POINTER, NUMBERS, NUMBERS, POINTER, NUMBERS),
    "observe": ctypes.CFUNCTYPE(None, LANE, POINTER, NUMBERS, ctypes.POINTER(NUMBERS)),
    "write_infos": ctypes.c_void_p,
    "report": ctypes.c_void_p,
    "check": ctypes.CFUNCTYPE(ctypes.c_int, NUMBERS, POINTER),
    "faulted": ctypes.c_void_p,
    "make": ctypes.CFUNCTYPE(ctypes.c_int, LANE, POINTER),
    "free": ctypes.CFUNCTYPE(None, LANE, POINTER),
    "save": ctypes.CFUNCTYPE(ctypes.c_int, LANE, POINTER, NUMBERS),
    "load": ctypes.CFUNCTYPE(None, LANE, POINTER, NUMBERS),
    "shared_name": ctypes.c_char_p,
    "step_agents": ctypes.c_void_p,
    "central_state": ctypes.c_void_p,
}


class Table(ctypes.Structure):
    """The struct `gymcore_lane_functions` of kernel.h."""

    _fields_ = (("size", ctypes.c_int64), ("abi", ctypes.c_int32), *FUNCTIONS.items())


def capsule_of(struct: Any, name: bytes = b"gymcore_ext.lane_functions") -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(struct), name, None)


class Counters:
    """Lanes that point to a number that actions add to; those in `unsaved` cannot be saved."""

    def __init__(self, unsaved: float = -1.0, makes: int = 100) -> None:
        self.memory: dict[int, Any] = {}

        def make(lane: Any, shared: Any) -> int:
            if len(self.memory) == makes:
                return 0
            number = ctypes.c_double(0.0)
            lane[0] = ctypes.pointer(number)
            self.memory[ctypes.addressof(number)] = number
            return 1

        def step(
            lane: Any, shared: Any, parameters: Any, action: Any, rng: Any, reward: Any
        ) -> int:
            lane[0][0] += parameters[0] * action[0]
            reward[0] = lane[0][0]
            return 0

        def save(lane: Any, shared: Any, saved: Any) -> int:
            saved[0] = lane[0][0]
            return int(lane[0][0] != unsaved)

        functions = {
            "make": make,
            "free": lambda lane, shared: void(self.memory.pop(ctypes.addressof(lane[0].contents))),
            "reset": lambda lane, shared, parameters, options, rng: void(put(lane[0], 100.0)),
            "step": step,
            "observe": lambda lane, shared, parameters, parts: void(
                put(parts[0], lane[0][0] * parameters[0])
            ),
            "save": save,
            "load": lambda lane, shared, saved: void(put(lane[0], saved[0])),
            "check": lambda saved, shared: saved[0] < 1000.0,
        }
        self.callbacks = {name: FUNCTIONS[name](one) for name, one in functions.items()}
        CALLBACKS.append(self.callbacks)
        self.table = Table(size=ctypes.sizeof(Table), abi=ABI, **self.callbacks)

    def store(
        self, num_lanes: int, saved_bytes: int = 8, lane_bytes: int = 8, shared: Any = None
    ) -> StructLanes:
        functions = capsule_of(self.table)
        kernel = CustomKernel(
            "counters",
            parts=((np.float64, (1,)),),
            action=(np.float64, (1,)),
            parameters={"scale": 2.0},
            functions=functions,
        ).capsule
        return StructLanes(
            kernel=kernel,
            num_lanes=num_lanes,
            lane_bytes=lane_bytes,
            saved_bytes=saved_bytes,
            shared=shared,
        )


def put(numbers: Any, value: float) -> None:
    numbers[0] = value


def void(_: object) -> None:
    """Return None, as ctypes requires of a callback whose C type is void."""


def batch_of(store: StructLanes) -> Batch:
    batch = Batch(store.kernel, len(store), errors=error, store=store, num_threads=1)
    batch.seed(0, 0, len(store))
    batch.reset()
    return batch


def test_lanes_are_made_and_freed() -> None:
    counters = Counters()
    store = counters.store(3)
    assert len(counters.memory) == 3
    del store
    gc.collect()
    assert not counters.memory
    with pytest.raises(MemoryError, match="lane 2 of 3"):
        Counters(makes=2).store(3)


def test_lanes_that_were_made_are_freed_after_a_failure() -> None:
    counters = Counters(makes=2)
    with pytest.raises(MemoryError):
        counters.store(3)
    gc.collect()
    assert not counters.memory


def test_observations_depend_on_parameters() -> None:
    batch = batch_of(Counters().store(2))
    assert batch.step(np.ones((2, 1), np.float32))[0].tolist() == [[204.0], [204.0]]
    assert batch.step(np.ones((2, 1)))[1].tolist() == [104.0, 104.0]


def test_lanes_are_saved_and_loaded_by_their_functions() -> None:
    counters = Counters()
    store = counters.store(2)
    batch = batch_of(store)
    batch.step(np.array([[1.0], [2.0]]))
    saved = np.zeros(2, store.saved_dtype)
    store.save(np.array([0, 1]), saved)
    assert saved["lane"].view(np.float64).tolist() == [[102.0], [104.0]]
    batch.step(np.array([[50.0], [50.0]]))
    assert store.valid(saved).all()
    store.load(np.array([1]), saved[:1])
    assert batch.step(np.zeros((2, 1)))[1].tolist() == [202.0, 102.0]

    saved["lane"].view(np.float64)[1] = 1000.0
    assert store.valid(saved).tolist() == [True, False]
    batch.step(np.full((2, 1), 1e4))
    store.save(np.array([0, 1]), saved)
    assert not store.valid(saved).any()


def test_a_lane_that_cannot_be_saved() -> None:
    store = Counters(unsaved=100.0).store(1)
    batch_of(store)
    with pytest.raises(ValueError, match="lane 0 cannot be saved"):
        store.save(np.array([0]), np.zeros(1, store.saved_dtype))


@pytest.mark.parametrize(("member", "value"), [("abi", ABI - 1), ("size", 64)])
def test_functions_of_an_older_engine_are_refused(member: str, value: int) -> None:
    counters = Counters()
    setattr(counters.table, member, value)
    with pytest.raises(ValueError, match=f"another engine than one of ABI {ABI}"):
        counters.store(1)


def test_saved_lanes_are_whole_words() -> None:
    with pytest.raises(ValueError, match="expected whole words"):
        Counters().store(2, saved_bytes=12)
    counters = Counters()
    for name in ("make", "free", "save", "load"):
        setattr(counters.table, name, FUNCTIONS[name]())
    store = counters.store(3, saved_bytes=0, lane_bytes=12)
    assert store.saved_dtype.itemsize == 16
    saved = np.zeros(3, store.saved_dtype)
    store.save(np.arange(3), saved)
    assert saved["lane"].tobytes() == store.view()[:, :16].tobytes()


def test_save_and_load_go_together() -> None:
    counters = Counters()
    counters.table.load = FUNCTIONS["load"]()
    with pytest.raises(ValueError, match="expected save and load, or none of both"):
        counters.store(1)
    with pytest.raises(ValueError, match="saved lanes"):
        Counters().store(1, saved_bytes=0)


def test_lanes_that_are_made_must_be_saved_by_a_function() -> None:
    """A copy of their bytes would be freed twice."""
    counters = Counters()
    counters.table.save, counters.table.load = FUNCTIONS["save"](), FUNCTIONS["load"]()
    with pytest.raises(ValueError, match="expected save and load with make"):
        counters.store(1, saved_bytes=0)


def test_shared_data_comes_from_a_capsule_of_the_expected_name() -> None:
    numbers = (ctypes.c_double * 3)()
    ours, foreign = capsule_of(numbers, NAME), capsule_of(numbers, b"datetime.datetime_CAPI")
    with pytest.raises(TypeError, match="shared: expected None for functions without shared_name"):
        Counters().store(1, shared=ours)
    counters = Counters()
    counters.table.shared_name = NAME
    for wrong in (foreign, None, numbers):
        with pytest.raises(TypeError, match=r"shared: expected a capsule named counters\.numbers"):
            counters.store(1, shared=wrong)
    assert len(counters.store(1, shared=ours)) == 1


@pytest.mark.parametrize("flags", [4, -1, 256, 1 << 16])
def test_flags_of_a_step_that_do_not_exist_are_refused(flags: int) -> None:
    counters = Counters()
    counters.table.step = step = FUNCTIONS["step"](lambda *_: flags)
    batch = batch_of(counters.store(2))
    with pytest.raises(ValueError, match="step: expected GYMCORE_TERMINATED"):
        batch.step(np.ones((2, 1)))
    assert not batch.is_ready
    batch.reset()
    assert batch.is_ready and step


def test_a_reported_flag_is_a_bool() -> None:
    counters = Counters()
    report = ctypes.CFUNCTYPE(None, LANE, POINTER, NUMBERS, ctypes.POINTER(ctypes.c_uint8))(
        lambda lane, shared, reward, terminated: put(terminated, 2)
    )
    counters.table.report = ctypes.cast(report, ctypes.c_void_p)
    terminated = batch_of(counters.store(2)).step(np.ones((2, 1)))[2]
    assert terminated.view(np.uint8).tolist() == [1, 1]


linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc and semaphores are Linux's")

WAITING = """
import ctypes, sys, threading
import numpy as np
from gymcore import error
from gymcore_ext.engine.batch import Batch
from tests.ext.test_struct_lanes import FUNCTIONS, Counters, batch_of

libc = ctypes.CDLL(None)
counters = Counters()
for name in ("make", "free", "save", "load"):
    setattr(counters.table, name, FUNCTIONS[name]())
# A lane is a semaphore, and is observed as soon as another thread lets it.
keep = FUNCTIONS["reset"](lambda *_: None), FUNCTIONS["step"](lambda *_: 1)
counters.table.reset, counters.table.step = keep
wait = ctypes.cast(libc.sem_wait, ctypes.c_void_p).value
counters.table.observe = ctypes.cast(wait, FUNCTIONS["observe"])
store = counters.store(1, saved_bytes=0, lane_bytes=64)
lane = ctypes.c_void_p(store.view().ctypes.data)
batch = Batch(store.kernel, 1, errors=error, store=store, num_threads=1, mode=1)
batch.set_before_reset(lambda ended, lanes: {})
batch.seed(0, 0, 1)
sys.setswitchinterval(1000.0)  # the thread gets its turn only when a call releases the GIL


def let(call, times):
    begin = threading.Event()
    def post():
        begin.wait()
        for _ in range(times):
            libc.sem_post(lane)
    thread = threading.Thread(target=post)
    thread.start()
    begin.set()
    call()
    thread.join()


let(batch.reset, 1)
let(batch.observe, 1)
let(lambda: batch.step(np.ones((1, 1))), 3)  # the last two by `begin_deferred`
"""


@linux
def test_infos_need_the_function_that_writes_them() -> None:
    with pytest.raises(ValueError, match="infos: expected none without the function write_infos"):
        CustomKernel(
            "counters",
            parts=((np.float64, (1,)),),
            action=(np.float64, (1,)),
            infos=(("speed", np.float64, 1),),
            functions=capsule_of(Counters().table),
        )


def test_states_for_critics_need_the_function_that_writes_them() -> None:
    with pytest.raises(ValueError, match="functions: expected central_state"):
        CustomKernel(
            "counters",
            parts=((np.float64, (1,)),),
            action=(np.float64, (1,)),
            central=(np.float64, (2,)),
            functions=capsule_of(Counters().table),
        )


@pytest.mark.parametrize(
    "infos",
    [{"x": np.float16}, {"x": "no dtype"}, {"x": ("f8", (2, 2))}, {"_x": "f8"}, {"episode": "f8"}],
    ids=["float16", "text", "axes", "private", "engine"],
)
def test_infos_of_struct_envs_are_numbers_with_names_of_their_own(infos: dict[str, Any]) -> None:
    with pytest.raises(error.InvalidArgument, match="infos: expected names"):
        StructEnv.of(
            "Counter",
            functions=None,
            lane_bytes=8,
            observation_space=Discrete(3),
            action_space=Discrete(2),
            infos=infos,
        )


def test_calls_that_run_kernels_release_the_gil() -> None:
    subprocess.run([sys.executable, "-c", WAITING], check=True, timeout=120)


def test_draws_of_lanes_need_the_batch() -> None:
    batch = batch_of(Counters().store(2))
    assert batch.random(np.array([0, 1]), 3).shape == (2, 3)
    with pytest.raises(error.ConcurrentUseError):
        batch.exclusively(lambda: batch.random(np.array([0]), 1))


@linux
def test_a_batch_that_was_closed_starts_no_threads() -> None:
    store = Counters().store(8)
    batch = Batch(store.kernel, 8, errors=error, store=store, num_threads=4)
    batch.close()
    before = os.listdir("/proc/self/task")
    batch.exclusively(lambda: store.save(np.arange(8), np.zeros(8, store.saved_dtype)))
    assert os.listdir("/proc/self/task") == before
