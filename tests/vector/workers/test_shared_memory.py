"""The memory that processes share: unnamed blocks, their layout, and batches of actions."""

from __future__ import annotations

import gc
import mmap
import multiprocessing
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymcore.error import InvalidAction
from gymcore.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from gymcore.spaces.layouts import layout_of
from gymcore.vector.engine import checked_actions
from gymcore.vector.workers.shared_memory import (
    Memory,
    Plan,
    SharedBlock,
    split_lanes,
    store_actions,
)
from tests.vector.leaks import shared_memory_files, without_foreign

PATIENCE = 60.0  # s: only a failure waits this long
METHODS = ["fork", "spawn", "forkserver"] if sys.platform != "win32" else ["spawn"]
HAS_PROC = Path("/proc/self/fd").is_dir()

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def block_of(nbytes: int) -> SharedBlock:
    block = SharedBlock()
    block.allocate(nbytes)
    return block


def held() -> tuple[list[str], list[str]]:
    """Return the descriptors and shared mappings of this process."""
    gc.collect()
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:  # the descriptor of the listing
            continue
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if "gymcore" in line]
    return sorted(files), maps


def test_holds_zeros_of_the_size_that_was_set():
    for nbytes in (1, 4096, 5000, 1 << 20):
        memory = block_of(nbytes).map(nbytes)
        assert len(memory) == nbytes
        assert not memory.readonly
        assert not np.frombuffer(memory, np.uint8).any()


def test_mappings_are_of_the_same_memory():
    block = block_of(64)
    first, second = block.map(64), block.map(64)
    first[3] = 7
    assert second[3] == 7


def test_begins_at_the_beginning_of_a_page():
    array = np.frombuffer(block_of(64).map(64), np.uint8)
    assert array.ctypes.data % 4096 == 0


def test_a_mapping_lives_as_long_as_an_array():
    block = block_of(8 * 1000)
    array = np.frombuffer(block.map(8000), np.int64)[10:]
    block.close()
    del block
    gc.collect()
    array[:] = 5
    assert array.sum() == 5 * 990


def _add(block: SharedBlock, connection: Any, amount: int) -> None:
    """Add to every number, in a process that was started before the size was set."""
    connection.recv()
    array = np.frombuffer(block.map(8000), np.int64)
    block.close()
    array += amount
    connection.send(array.size)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_reaches_processes_that_were_started_before_its_size_was_set(method):
    context: Any = multiprocessing.get_context(method)
    block = SharedBlock()
    processes, connections = [], []
    for amount in (1, 10):
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_add, args=(block, theirs, amount)))
        processes[-1].start()
        theirs.close()
        connections.append(ours)
    block.allocate(8000)
    array = np.frombuffer(block.map(8000), np.int64)
    block.close()
    array[:] = np.arange(1000)
    try:
        for connection in connections:  # one after the other: they add to the same numbers
            connection.send(None)
            assert connection.poll(PATIENCE)
            assert connection.recv() == 1000
    finally:
        for process, connection in zip(processes, connections, strict=True):
            connection.close()
            process.kill()
            process.join(PATIENCE)
            process.close()
    assert (array == np.arange(1000) + 11).all()


@pytest.mark.slow
@pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
def test_leaves_nothing():
    before, names = held(), shared_memory_files()
    for cycle in range(200):
        block = block_of(1 << 16)
        array = np.frombuffer(block.map(1 << 16), np.uint8)
        array[:] = 1
        assert cycle or not without_foreign(shared_memory_files() - names), "visible in /dev/shm"
        block.close()
        del block, array
    assert held() == before
    assert not without_foreign(shared_memory_files() - names)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
def test_leaves_nothing_when_it_is_not_closed():
    before = held()
    block = block_of(4096)
    memory = block.map(4096)
    assert held() != before
    del block, memory
    assert held() == before


@pytest.mark.slow
@pytest.mark.skipif(not HAS_PROC or not hasattr(os, "memfd_create"), reason="needs memfd and /proc")
def test_a_temporary_file_serves_where_there_is_no_memfd(monkeypatch):
    before = held()
    monkeypatch.delattr(os, "memfd_create")
    block = block_of(5000)
    memory = block.map(5000)
    memory[4999] = 3
    assert block.map(5000)[4999] == 3
    assert [line for line in held()[0] if line not in before[0] and "(deleted)" in line]
    block.close()
    del block, memory
    assert held() == before


def test_no_other_program_inherits_it():
    if sys.platform != "win32":
        assert not os.get_inheritable(SharedBlock().fd)


def test_is_closed_any_number_of_times():
    block = block_of(10)
    block.close()
    block.close()
    assert block.fd == -1
    with pytest.raises(ValueError, match="the block is closed"):
        block.map(10)


def test_is_pickled_only_for_a_process_that_is_being_started():
    with pytest.raises(RuntimeError):
        pickle.dumps(block_of(10))


def test_more_than_there_is():
    with pytest.raises(OSError):
        block_of(1 << 62).map(1 << 62)


# --- layout


@pytest.mark.parametrize("num_envs", [1, 2, 7, 64, 513])
@pytest.mark.parametrize("num_workers", [1, 2, 3, 8])
def test_lanes_are_split_evenly_and_in_order(num_envs, num_workers):
    if num_workers > num_envs:
        return
    bounds = split_lanes(num_envs, num_workers)
    assert [lane for lo, hi in bounds for lane in range(lo, hi)] == list(range(num_envs))
    sizes = [hi - lo for lo, hi in bounds]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("statistics", [False, True])
def test_parts_do_not_overlap(mode, statistics):
    layout = layout_of(Box(-1, 1, (3,)))
    plan = Plan(5, split_lanes(5, 2), mode, statistics, layout, layout_of(Discrete(3)))
    memory = Memory(plan, mmap.mmap(-1, plan.nbytes))
    arrays = [
        memory.rewards,
        memory.terminated,
        memory.truncated,
        memory.failed,
        memory.observations.batch(),
        memory.actions.batch(),
    ]
    if mode == 1:
        arrays.append(memory.final_observations.batch())
    else:
        assert memory.final_observations is None
    if statistics:
        arrays += memory.episodes.batch().values()
    else:
        assert memory.episodes is None
    for i, array in enumerate(arrays):
        array[...] = i + 1
    for i, array in enumerate(arrays):
        assert (array == np.array(i + 1).astype(array.dtype)).all()


def test_what_is_pickled_takes_no_room():
    plan = Plan(5, split_lanes(5, 2), 1, False, None, None)
    memory = Memory(plan, mmap.mmap(-1, plan.nbytes))
    assert memory.observations is None and memory.final_observations is None
    assert memory.actions is None


# --- actions

DISCRETE = layout_of(Discrete(5))
BOX = layout_of(Box(-1, 1, (2,)))
NESTED = layout_of(Dict(a=Discrete(3), b=Tuple([Box(-1, 1, (2,)), MultiDiscrete([2, 3])])))


def nested_batch(n):
    return {
        "a": np.arange(n),
        "b": (np.full((n, 2), 0.5, np.float32), np.ones((n, 2), np.int64)),
    }


def test_arrays_that_fit_are_the_callers_own():
    actions = np.array([1, 2, 3])
    assert checked_actions(DISCRETE, actions, 3) is actions


@pytest.mark.parametrize(
    "actions",
    [[1, 2], (1, 2), np.array([1, 2], np.int8), np.array([1, 2], np.uint32), [True, False]],
)
def test_numbers_of_other_types(actions):
    found = checked_actions(DISCRETE, actions, 2)
    target = np.zeros(2, np.int64)
    store_actions(DISCRETE, target, found, slice(None))
    assert target.tolist() == [int(one) for one in actions]


@pytest.mark.parametrize(
    "actions",
    [[1], [1, 2, 3], [[1], [2]], 1, None, "ab", [1.0, 2.0], [np.nan, 1.0], [1j, 2], [[1], [2, 3]],
     np.array([2**63, 1], np.uint64), np.array([True, False]), [np.True_, np.False_]],
)  # fmt: skip
def test_what_is_no_batch_is_refused(actions):
    with pytest.raises(InvalidAction, match="actions: expected int64 array of shape"):
        checked_actions(DISCRETE, actions, 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_float_actions_keep_their_precision(dtype):
    found = checked_actions(BOX, np.array([[1, 2]], dtype), 1)
    assert found.dtype == (np.float64 if dtype is np.float64 else np.float32)


def test_float_actions_are_stored_as_the_memory_has_them():
    found = checked_actions(BOX, np.array([[0.1, 0.2]]), 1)
    target = np.zeros((1, 2), np.float32)
    store_actions(BOX, target, found, slice(None))
    assert target.tolist() == np.array([[0.1, 0.2]], np.float32).tolist()


def test_nested_batches_and_some_rows():
    checked = checked_actions(NESTED, nested_batch(2), 2)
    target = {
        "a": np.zeros(4, np.int64),
        "b": (np.zeros((4, 2), np.float32), np.zeros((4, 2), np.int64)),
    }
    store_actions(NESTED, target, checked, np.array([3, 1]))
    assert target["a"].tolist() == [0, 1, 0, 0]
    assert target["b"][0][:, 0].tolist() == [0.0, 0.5, 0.0, 0.5]
    assert target["b"][1][:, 0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda batch: batch.pop("a"), "actions: expected a dict with"),
        (lambda batch: batch.update(b=batch["b"][:1]), "actions['b']: expected a tuple of 2"),
        (lambda batch: batch.update(b=3), "actions['b']: expected a tuple of 2"),
        (lambda batch: batch.update(a=[1]), "actions['a']: expected int64 array of shape (2,)"),
    ],
)
def test_errors_name_the_part(change, name):
    batch = nested_batch(2)
    change(batch)
    with pytest.raises(InvalidAction) as caught:
        checked_actions(NESTED, batch, 2)
    assert name in str(caught.value)
