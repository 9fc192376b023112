"""FrameMemory: the last observations of every lane, compared with lists of arrays."""

from __future__ import annotations

import pickle
import threading
from collections import deque
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error
from gymcore_ext.wrappers.frame_stack import ADD, BEGIN, KEEP, PEEK, FrameMemory


class Lists:
    """The same memory with a deque for each lane."""

    def __init__(self, n: int, depth: int, padding: Any, oldest: bool) -> None:
        self.frames = [deque(maxlen=depth) for _ in range(n)]
        self.depth, self.padding, self.oldest = depth, padding, oldest

    def begin(self, lane: int, frame: Any) -> None:
        before = frame if self.padding is None else self.padding
        self.frames[lane].extend([before] * (self.depth - 1) + [frame])

    def out(self, frames: Any) -> Any:
        return frames[0] if self.oldest else np.array(frames)

    def reset(self, frames: Any, begun: Any) -> Any:
        for lane in np.flatnonzero(begun):
            self.begin(lane, frames[lane].copy())
        return np.array([self.out(one) for one in self.frames])

    def step(self, frames: Any, begun: Any, lanes: Any) -> Any:
        for k, lane in enumerate(lanes):
            if begun[k]:
                self.begin(lane, frames[k].copy())
            else:
                self.frames[lane].append(frames[k].copy())
        return np.array([self.out(self.frames[lane]) for lane in lanes])

    def peek(self, frames: Any, mask: Any, lanes: Any) -> Any:
        rows = []
        for k, lane in enumerate(lanes):
            stack = [*self.frames[lane], frames[k]]
            rows.append(self.out(stack[1:] if mask[k] else stack[:-1]))
        return np.array(rows)


def reset(memory: FrameMemory, frames: Any, begun: Any) -> Any:
    """Begin episodes in some lanes, and leave the others."""
    return memory.update(frames, np.where(begun, BEGIN, KEEP).astype(np.uint8))


def step(memory: FrameMemory, frames: Any, begun: Any, lanes: Any = None) -> Any:
    """Begin episodes in some lanes, and add a frame to the others."""
    if np.asarray(begun).any():
        begun = np.where(begun, BEGIN, ADD).astype(np.uint8)
    return memory.update(frames, begun, lanes)


def peek(memory: FrameMemory, frames: Any, mask: Any, lanes: Any = None) -> Any:
    """Look ahead in some lanes."""
    return memory.update(frames, np.where(mask, PEEK, KEEP).astype(np.uint8), lanes)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 4),
    depth=st.integers(1, 5),
    shape=st.sampled_from([(), (3,), (2, 2), (0,)]),
    dtype=st.sampled_from([np.uint8, np.float32, np.int64, np.bool_, np.complex128]),
    padded=st.booleans(),
    oldest=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_equals_lists(
    n: int, depth: int, shape: Any, dtype: Any, padded: bool, oldest: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)

    def frames(count: int) -> Any:
        return rng.integers(0, 100, (count, *shape)).astype(dtype)

    padding = frames(1)[0] if padded else None
    memory = FrameMemory(n, depth, shape, dtype, padding=padding, oldest=oldest, errors=error)
    lists = Lists(n, depth, padding, oldest)
    everything = np.ones(n, np.bool_)
    first = frames(n)
    np.testing.assert_array_equal(reset(memory, first, everything), lists.reset(first, everything))
    kept = []
    for _ in range(12):
        lanes = None
        chosen = np.arange(n)
        if rng.random() < 0.3:
            lanes = chosen = rng.permutation(n)[: rng.integers(1, n + 1)]
        mask = rng.random(len(chosen)) < 0.3
        given = frames(len(chosen))
        peeked = peek(memory, given, mask, lanes)
        np.testing.assert_array_equal(peeked, lists.peek(given, mask, chosen))
        stacks = step(memory, given, mask, lanes)
        np.testing.assert_array_equal(stacks, lists.step(given, mask, chosen))
        if rng.random() < 0.2:
            given, mask = frames(n), rng.random(n) < 0.5
            np.testing.assert_array_equal(reset(memory, given, mask), lists.reset(given, mask))
        if rng.random() < 0.2:
            memory = rng.choice([deepcopy, lambda one: pickle.loads(pickle.dumps(one))])(memory)
        assert stacks.dtype == np.dtype(dtype)
        kept.append((stacks, stacks.copy()))
    for stacks, copy in kept:
        np.testing.assert_array_equal(stacks, copy)


def memory_of(n: int = 2, depth: int = 3, **kwargs: Any) -> FrameMemory:
    memory = FrameMemory(n, depth, (2,), np.float32, errors=error, **kwargs)
    reset(memory, np.zeros((n, 2), np.float32), np.ones(n, np.bool_))
    return memory


def test_other_dtypes_and_layouts_are_converted() -> None:
    memory, begun = memory_of(), np.zeros(2, np.bool_)
    rows = np.arange(8.0).reshape(2, 4)[:, ::2]
    assert step(memory, rows, begun)[:, -1].tolist() == [[0.0, 2.0], [4.0, 6.0]]
    assert step(memory, [[1, 2], [3, 4]], begun)[:, -1].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_memory_is_used_again_when_nobody_holds_it() -> None:
    memory, begun = memory_of(), np.zeros(2, np.bool_)
    row = np.ones((2, 2), np.float32)
    assert len({step(memory, row, begun).ctypes.data for _ in range(10)}) == 1
    held = [step(memory, row, begun)[0] for _ in range(5)]  # views hold the memory too
    assert len({view.ctypes.data for view in held}) == 5


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((0, 3, (2,), np.float32), "num_envs: expected at least 1, got 0"),
        ((2, 0, (2,), np.float32), "depth: expected at least 1, got 0"),
        ((2, 3, (2,), object), "dtype: expected numbers in the byte order of this machine"),
        ((2, 3, (2,), ">f4"), "dtype: expected numbers in the byte order of this machine"),
    ],
)
def test_bad_arguments(arguments: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        FrameMemory(*arguments, errors=error)


def test_bad_padding() -> None:
    with pytest.raises(ValueError, match=r"padding: expected an array of shape \(2,\), got \(3,\)"):
        FrameMemory(2, 3, (2,), np.float32, padding=np.zeros(3), errors=error)


def test_bad_batches_change_nothing() -> None:
    memory, begun = memory_of(), np.zeros(2, np.bool_)
    row = np.ones((2, 2), np.float32)
    lane = np.array([2])
    for call in (
        lambda: step(memory, row[:1], begun),
        lambda: step(memory, row, begun[:1]),
        lambda: memory.update(row, np.zeros(2)),
        lambda: step(memory, row[:1], begun[:1], lane),
        lambda: step(memory, row[:1], begun[:1], -lane),
        lambda: step(memory, row[:1], begun[:1], lane.astype(np.int32)),
        lambda: peek(memory, row[:1], begun),
        lambda: reset(memory, row, begun[:1]),
    ):
        with pytest.raises(ValueError, match=r"(observations|changes|lanes): expected"):
            call()
    assert not peek(memory, row, begun).any()
    assert not step(memory, row, begun)[:, :-1].any()


def test_threads_at_the_same_time() -> None:
    """Large results are made without the GIL; a second thread must not interfere."""
    memory = FrameMemory(8, 4, (1 << 17,), np.uint8, errors=error)
    rows, begun = np.ones((8, 1 << 17), np.uint8), np.ones(8, np.bool_)
    refused = []

    def step_often() -> None:
        for _ in range(20):
            try:
                step(memory, rows, begun)
            except error.ConcurrentUseError as problem:
                refused.append(str(problem))

    threads = [threading.Thread(target=step_often) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all("being stacked by another thread" in message for message in refused)
    assert (step(memory, rows, begun) == 1).all()
