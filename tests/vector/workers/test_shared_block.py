"""SharedBlock: memory without a name, in several processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymcore.vector.workers.shared_memory import SharedBlock

PATIENCE = 60.0  # s: only a failure waits so long
METHODS = ["fork", "spawn", "forkserver"] if sys.platform != "win32" else ["spawn"]
HAS_PROC = Path("/proc/self/fd").is_dir()

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def block_of(nbytes: int) -> SharedBlock:
    block = SharedBlock()
    block.allocate(nbytes)
    return block


def held() -> tuple[list[str], list[str], list[str]]:
    """Descriptors, shared mappings and /dev/shm entries of this process."""
    gc.collect()
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:  # that of the listing
            continue
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if "gymcore" in line]
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return sorted(files), maps, names


def test_holds_zeros_of_the_size_that_was_set():
    for nbytes in (1, 4096, 5000, 1 << 20):
        memory = block_of(nbytes).map()
        assert len(memory) == nbytes
        assert not memory.readonly
        assert not np.frombuffer(memory, np.uint8).any()


def test_mappings_are_of_the_same_memory():
    block = block_of(64)
    first, second = block.map(), block.map()
    first[3] = 7
    assert second[3] == 7


def test_begins_at_the_beginning_of_a_page():
    array = np.frombuffer(block_of(64).map(), np.uint8)
    assert array.ctypes.data % 4096 == 0


def test_a_mapping_lives_as_long_as_an_array():
    block = block_of(8 * 1000)
    array = np.frombuffer(block.map(), np.int64)[10:]
    block.close_fd()
    del block
    gc.collect()
    array[:] = 5
    assert array.sum() == 5 * 990


def _add(block: SharedBlock, connection: Any, amount: int) -> None:
    """What a process does that was started before the size was set: add to every number."""
    connection.recv()
    array = np.frombuffer(block.map(), np.int64)
    block.close_fd()
    array += amount
    connection.send(array.size)


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
    array = np.frombuffer(block.map(), np.int64)
    block.close_fd()
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


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
def test_leaves_nothing():
    before = held()
    for cycle in range(200):
        block = block_of(1 << 16)
        array = np.frombuffer(block.map(), np.uint8)
        array[:] = 1
        assert cycle or held()[2] == before[2], "visible in /dev/shm"
        block.close_fd()
        del block, array
    assert held() == before


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc")
def test_leaves_nothing_when_it_is_not_closed():
    before = held()
    block = block_of(4096)
    memory = block.map()
    assert held() != before
    del block, memory
    assert held() == before


@pytest.mark.skipif(not HAS_PROC or not hasattr(os, "memfd_create"), reason="needs memfd and /proc")
def test_a_temporary_file_serves_where_there_is_no_memfd(monkeypatch):
    before = held()
    monkeypatch.delattr(os, "memfd_create")
    block = block_of(5000)
    memory = block.map()
    memory[4999] = 3
    assert block.map()[4999] == 3
    assert [line for line in held()[0] if line not in before[0] and "(deleted)" in line]
    block.close_fd()
    del block, memory
    assert held() == before


def test_no_other_program_inherits_it():
    if sys.platform != "win32":
        assert not os.get_inheritable(SharedBlock().fileno())


def test_is_closed_any_number_of_times():
    block = block_of(10)
    block.close_fd()
    block.close_fd()
    assert block.fileno() == -1
    for call in (block.map, lambda: block.allocate(10)):
        with pytest.raises(ValueError, match="the block is closed"):
            call()


def test_size_is_set_once():
    block = SharedBlock()
    with pytest.raises(ValueError, match="the size of the block has not been set"):
        block.map()
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"nbytes: expected at least 1, got {wrong}"):
            block.allocate(wrong)
    block.allocate(10)
    with pytest.raises(ValueError, match="the size was set before, to 10 bytes"):
        block.allocate(20)


def test_is_pickled_only_for_a_process_that_is_being_started():
    with pytest.raises(RuntimeError, match="should only be shared between processes"):
        pickle.dumps(block_of(10))


def test_more_than_there_is():
    with pytest.raises(OSError):
        block_of(1 << 62).map()
