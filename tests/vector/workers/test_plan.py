"""Where things lie in shared memory."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from gymcore.spaces import Box, Discrete
from gymcore.vector.layouts import layout_of
from gymcore.vector.workers.shared_memory import Memory, Plan, split_lanes


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
        arrays += [memory.episode_returns, memory.episode_lengths, memory.episode_times]
    else:
        assert memory.episode_returns is None
    for i, array in enumerate(arrays):
        array[...] = i + 1
    for i, array in enumerate(arrays):
        assert (array == np.array(i + 1).astype(array.dtype)).all()


def test_what_is_pickled_takes_no_room():
    plan = Plan(5, split_lanes(5, 2), 1, False, None, None)
    memory = Memory(plan, mmap.mmap(-1, plan.nbytes))
    assert memory.observations is None and memory.final_observations is None
    assert memory.actions is None
