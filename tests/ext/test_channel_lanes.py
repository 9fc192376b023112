"""Channel: lanes one by one, with both ends in one process."""

from __future__ import annotations

import itertools
import mmap

import numpy as np
import pytest

from gymcore_ext.workers.channel import Channel


def channel_of(*sizes: int) -> Channel:
    ends = np.cumsum((0, *sizes)).tolist()
    bounds = list(itertools.pairwise(ends))
    memory = mmap.mmap(-1, Channel.nbytes(len(sizes), ends[-1]))
    return Channel(memory, 0, bounds)


def take_all(channel: Channel, worker: int, seconds: float = 1.0) -> list[int]:
    """Complete every requested lane of a worker; return them in the order they were taken."""
    taken = []
    while (lane := channel.take(worker)) >= 0:
        channel.complete(worker, lane, seconds)
        taken.append(lane)
    return taken


def test_lanes_go_to_their_worker_and_back():
    channel = channel_of(2, 3)
    channel.submit(np.array([4, 0, 2]))
    assert channel.outstanding().tolist() == [0, 2, 4]
    assert channel.num_outstanding == 3
    assert channel.outstanding().dtype == np.int64
    assert take_all(channel, 0) == [0]
    assert sorted(take_all(channel, 1)) == [2, 4]
    ready = channel.ready(3, 0)
    assert ready.dtype == np.int64
    assert sorted(ready.tolist()) == [0, 2, 4]
    assert channel.outstanding().size == 0
    assert channel.take(0) == -1


def test_lanes_come_in_batches_in_the_order_they_were_ready():
    channel = channel_of(6)
    channel.submit(range(6))
    order = [channel.take(0) for _ in range(6)]
    for lane in (5, 0, 3):
        channel.complete(0, lane, 1.0)
    assert sorted(order) == list(range(6))
    assert channel.ready(4, 0) is None
    assert channel.ready(2, 0).tolist() == [5, 0]
    channel.complete(0, 1, 1.0)
    assert channel.ready(2, 0).tolist() == [3, 1]
    assert channel.outstanding().tolist() == [2, 4]


def test_what_is_ready_waits_when_the_batch_is_not_full():
    channel = channel_of(4)
    channel.submit([0, 1])
    channel.complete(0, channel.take(0), 1.0)
    for timeout in (0, 0.01):
        assert channel.ready(2, timeout) is None
    assert channel.outstanding().tolist() == [0, 1]
    channel.complete(0, channel.take(0), 1.0)
    assert sorted(channel.ready(2, 0).tolist()) == [0, 1]


def test_a_worker_that_waits_for_requests_is_told_of_lanes():
    channel = channel_of(1, 1)
    channel.submit([1])
    assert channel.next(0, 0, 0.01) is None
    assert channel.next(1, 0, 3600.0) is None, "returns at once"
    request = channel.post(3)
    assert channel.next(1, 0, 0) == (request, 3), "requests come before lanes"
    assert channel.next(1, request, 3600.0) is None
    assert take_all(channel, 1) == [1]
    assert channel.next(1, request, 0.01) is None


def test_no_worker_is_passed_over():
    channel = channel_of(1, 1, 1)
    channel.submit([0, 1, 2])
    counts = np.zeros(3, int)
    for _ in range(300):
        for worker in range(3):
            take_all(channel, worker)
        lanes = channel.ready(1, 0)
        counts[lanes] += 1
        channel.submit(lanes)
    assert counts.tolist() == [100, 100, 100]


def counts_of_turns(cost: list[float], turns: int) -> np.ndarray:
    """Run one worker with these seconds per lane, resubmitting each ready lane; count the turns."""
    channel = channel_of(len(cost))
    channel.submit(range(len(cost)))
    counts = np.zeros(len(cost), int)
    for _ in range(turns):
        lane = channel.take(0)
        channel.complete(0, lane, cost[lane])
        counts[lane] += 1
        channel.submit(channel.ready(1, 0))
    return counts


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e3])
def test_time_is_shared_evenly(unit):
    cost = [unit * c for c in (1, 1, 20, 1, 1, 2, 1, 1)]
    counts = counts_of_turns(cost, 2000)
    used = counts * np.array(cost)
    np.testing.assert_allclose(used, used.mean(), rtol=0.12)
    assert counts[0] > 15 * counts[2]


def test_equal_lanes_take_turns():
    assert counts_of_turns([1.0] * 5, 500).tolist() == [100] * 5


def test_the_slowest_lane_does_not_starve():
    counts = counts_of_turns([1.0, 1.0, 1e9], 1000)
    # In the long run, at most 64 mean steps of each other lane between two turns.
    assert counts[2] >= 4


@pytest.mark.parametrize("strange", [float("nan"), -1.0, 0.0])
def test_no_lane_is_free_of_charge(strange):
    counts = counts_of_turns([strange, 1e-6, 1e-6], 300)
    assert counts.tolist() == [100, 100, 100]


def test_one_long_step_is_soon_forgiven():
    channel = channel_of(2)
    channel.submit([0, 1])
    turns: list[int] = []
    for _ in range(2000):
        lane = channel.take(0)
        long = lane == 0 and turns.count(0) == 50
        channel.complete(0, lane, 1e6 if long else 1.0)
        turns.append(lane)
        channel.submit(channel.ready(1, 0))
    [end] = np.flatnonzero(np.cumsum(np.equal(turns, 0)) == 51)[:1]
    rest = turns[end + 1 :]
    assert rest.index(0) <= 200
    assert rest[200:].count(0) == pytest.approx(rest[200:].count(1), abs=1)


def test_a_lane_that_was_not_used_does_not_hold_up_the_others():
    channel = channel_of(2)
    for _ in range(10000):  # only lane 0, for a long time
        channel.submit([0])
        channel.complete(0, channel.take(0), 1.0)
        channel.ready(1, 0)
    channel.submit([0, 1])
    turns = []
    for _ in range(400):
        lane = channel.take(0)
        channel.complete(0, lane, 1.0)
        turns.append(lane)
        channel.submit(channel.ready(1, 0))
    assert turns.index(0) <= 65


# --- giving up ----------------------------------------------------------------------------------


def test_forgotten_lanes_are_not_taken_and_not_handed_out():
    channel = channel_of(5)
    channel.submit(range(5))
    first, second = channel.take(0), channel.take(0)
    channel.complete(0, first, 1.0)
    ready = channel.ready(1, 0)
    assert ready.tolist() == [first]
    channel.complete(0, second, 1.0)
    channel.forget([0, 1])  # one lane was handed out, the other is ready
    assert channel.outstanding().tolist() == [2, 3, 4]
    assert take_all(channel, 0) == [2, 3, 4]
    assert sorted(channel.ready(3, 0).tolist()) == [2, 3, 4]


def test_forgetting_what_is_not_outstanding_changes_nothing():
    channel = channel_of(2)
    channel.forget([0, 1, 1])
    channel.submit([0])
    channel.forget([1])
    channel.forget([])
    assert channel.outstanding().tolist() == [0]
    assert take_all(channel, 0) == [0]


def test_late_completion_of_a_forgotten_lane_is_dropped():
    channel = channel_of(1)
    channel.submit([0])
    assert channel.take(0) == 0
    channel.forget([0])
    channel.submit([0])
    channel.complete(0, 0, 1.0)  # for the first submission
    assert channel.ready(1, 0) is None
    assert take_all(channel, 0) == [0]
    assert channel.ready(1, 0).tolist() == [0]


def test_forgetting_again_and_again_while_the_worker_is_late():
    channel = channel_of(2)
    for _ in range(50):
        channel.submit([0, 1])
        lanes = [channel.take(0), channel.take(0)]
        channel.forget([0, 1])
        channel.submit([1, 0])
        for lane in lanes:
            channel.complete(0, lane, 1.0)
        assert channel.ready(1, 0) is None
        assert sorted(take_all(channel, 0)) == [0, 1]
        channel.forget([1])
        assert channel.ready(1, 0).tolist() == [0]
    assert channel.outstanding().size == 0


def test_a_worker_in_the_place_of_a_dead_one_goes_on():
    memory = mmap.mmap(-1, Channel.nbytes(1, 3))
    parent = Channel(memory, 0, [(0, 3)])
    parent.submit([0, 1, 2])
    dead = Channel(memory, 0, [(0, 3)])
    done, begun = dead.take(0), dead.take(0)
    dead.complete(0, done, 1.0)
    del dead
    new = Channel(memory, 0, [(0, 3)])
    parent.forget([0, 1, 2])
    assert new.take(0) == -1
    parent.submit([begun, done])
    assert sorted(take_all(new, 0)) == sorted([begun, done])
    assert sorted(parent.ready(2, 0).tolist()) == sorted([begun, done])


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        ([3], r"lanes\[0\]: expected a lane below 3, got 3"),
        ([0, -1], r"lanes\[1\]: expected a lane below 3, got -1"),
        ([0, 2, 0], r"lanes\[2\]: lane 0 is named twice"),
        ([0, 1], r"lanes\[1\]: lane 1 is outstanding"),
        ([[0, 2]], r"lanes: expected a vector of integers, got shape \(1, 2\)"),
        ([0.0], "lanes: expected a vector of integers, got shape .* float64"),
        ([True], "lanes: expected a vector of integers, got shape .* bool"),
    ],
)
def test_submit_refuses_and_changes_nothing(lanes, message):
    channel = channel_of(3)
    channel.submit([1])
    with pytest.raises(ValueError, match=message):
        channel.submit(lanes)
    assert channel.outstanding().tolist() == [1]
    assert take_all(channel, 0) == [1]
    channel.submit([0, 2])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_lanes_of_any_integer_type(dtype):
    channel = channel_of(4)
    channel.submit(np.array([0, 9, 3, 9], dtype)[::2])
    assert channel.outstanding().tolist() == [0, 3]


@pytest.mark.parametrize("batch_size", [-1, 0, 3])
def test_a_batch_that_can_never_be_full_is_refused(batch_size):
    channel = channel_of(4)
    channel.submit([0, 1])
    with pytest.raises(ValueError, match="batch_size: expected 1 to the 2 lanes outstanding"):
        channel.ready(batch_size, 0)


def test_complete_refuses():
    channel = channel_of(1, 1)
    with pytest.raises(ValueError, match="lane: expected a lane of worker 0, got 1"):
        channel.complete(0, 1, 1.0)
    with pytest.raises(ValueError, match="lane: expected a lane of worker 0, got -1"):
        channel.complete(0, -1, 1.0)
    channel.complete(0, 0, 1.0)  # was never requested: dropped below
    channel.complete(0, 0, 1.0)
    with pytest.raises(RuntimeError, match="completed without being taken"):
        channel.complete(0, 0, 1.0)
    channel.submit([0])
    assert channel.ready(1, 0) is None


def test_overwritten_memory_is_an_error():
    memory = mmap.mmap(-1, Channel.nbytes(1, 2))
    channel = Channel(memory, 0, [(0, 2)])
    channel.submit([0, 1])
    memory[:] = (bytes(range(256)) * len(memory))[: len(memory)]
    with pytest.raises(RuntimeError, match="shared memory was overwritten"):
        channel.ready(1, 0)
