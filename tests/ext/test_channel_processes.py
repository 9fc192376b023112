"""Channel between processes: every number is right, whichever process is killed."""

from __future__ import annotations

import os
import random
import sys
import time

import numpy as np
import pytest

from tests.ext.channel_workers import PATIENCE, SLEEP, STEP, Crew

METHODS = ["fork", "spawn", "forkserver"] if sys.platform != "win32" else ["spawn"]
METHOD = METHODS[0]
ENOUGH_CPUS = (os.cpu_count() or 1) > 1

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"), pytest.mark.slow]


@pytest.mark.parametrize("method", METHODS)
def test_every_start_method(method):
    with Crew([2, 3], method) as crew:
        for question in range(100):
            assert crew.step(question) == []
        deliver(crew, batch_size=3, batches=50)
        crew.stop()


@pytest.mark.parametrize(
    ("workers", "spin", "rounds"),
    [
        (1, 2000 if ENOUGH_CPUS else 0, 10_000),
        (4, 0, 4_000),
        pytest.param(1, 0, 100_000, marks=pytest.mark.soak),
        pytest.param(4, 0, 100_000, marks=pytest.mark.soak),
        pytest.param(64, 0, 5_000, marks=pytest.mark.soak),
    ],
)
def test_many_requests(workers, spin, rounds):
    with Crew([1] * workers, METHOD, spin) as crew:
        channel, memory = crew.channel, crew.memory
        expected = np.arange(workers)
        for question in range(rounds):
            memory.question[:] = question
            request = channel.post(STEP)
            assert channel.wait(request, PATIENCE, spin), channel.unanswered(request)
            assert (memory.answer == 3 * question + expected).all()
        crew.stop()


@pytest.mark.parametrize("rounds", [1000, pytest.param(50_000, marks=pytest.mark.soak)])
def test_some_of_four_workers(rounds):
    chance = random.Random(0)
    with Crew([1] * 4, METHOD) as crew:
        for question in range(rounds):
            workers = chance.sample(range(4), chance.randint(1, 4))
            assert crew.step(question, workers) == []
        crew.stop()


@pytest.mark.parametrize("rounds", [30, pytest.param(2000, marks=pytest.mark.soak)])
def test_late_replies_are_never_counted(rounds):
    with Crew([1] * 3, METHOD) as crew:
        for question in range(rounds):
            late = crew.channel.post(SLEEP)
            # The wait ends long before the workers wake up, unless the machine is very busy.
            crew.channel.wait(late, 0.001 * (question % 3))
            # The workers answer the abandoned request while this one is pending.
            assert crew.step(question) == []
        crew.stop()


@pytest.mark.parametrize("kills", [15, pytest.param(1000, marks=pytest.mark.soak)])
def test_killed_workers_take_nobody_with_them(kills):
    chance = random.Random(1)
    with Crew([1] * 4, METHOD) as crew:
        question = 0
        for _ in range(kills):
            for _ in range(chance.randrange(30)):
                assert crew.step(question) == []
                question += 1
            victim = chance.randrange(4)
            if chance.random() < 0.5:  # while it works, sleeps or answers a request to others
                crew.memory.question[:] = question
                crew.channel.post(STEP)
                time.sleep(chance.random() * 1e-4)
            crew.kill(victim)
            # A fast worker may have answered before it died.
            assert crew.step(question) in ([], [victim])
            crew.replace(victim)
            question += 1
        crew.stop()


def deliver(crew: Crew, batch_size: int, batches: int) -> None:
    """Step lanes in batches; each observation must match the lane's own last action."""
    channel, memory = crew.channel, crew.memory
    lanes = np.arange(memory.action.size)
    memory.action[:] = 0
    channel.submit(lanes)
    for _ in range(batches):
        ready = channel.ready(batch_size, PATIENCE)
        assert ready is not None, channel.outstanding()
        assert np.unique(ready).size == batch_size
        assert (memory.observation[ready] == 5 * memory.action[ready] + ready).all()
        memory.action[ready] += 1
        channel.submit(ready)
    assert channel.ready(lanes.size, PATIENCE) is not None
    assert channel.outstanding().size == 0


@pytest.mark.parametrize(
    ("pause", "batches"),
    [
        (0.0, 5000),
        (1e-3, 150),
        pytest.param(0.0, 300_000, marks=pytest.mark.soak),
        pytest.param(1e-3, 20_000, marks=pytest.mark.soak),
    ],
)
def test_batches_of_four_workers(pause, batches):
    with Crew([5, 1, 4, 6], METHOD, pause=pause) as crew:
        deliver(crew, 7, batches)
        assert crew.step(3) == []
        crew.stop()


@pytest.mark.parametrize("kills", [12, pytest.param(1000, marks=pytest.mark.soak)])
def test_batches_while_workers_are_killed(kills):
    chance = random.Random(2)
    with Crew([4, 4, 4, 4], METHOD, pause=2e-4) as crew:
        channel, memory = crew.channel, crew.memory
        channel.submit(np.arange(16))
        killed, since = 0, 0
        end = time.monotonic() + PATIENCE * (1 + kills // 100)
        while killed < kills:
            assert time.monotonic() < end
            if since > chance.randrange(5, 60):
                victim = chance.randrange(4)
                crew.kill(victim)
                killed, since = killed + 1, 0
                # The other workers' lanes arrive, and lanes that the dead worker had completed.
                while (ready := channel.ready(1, 0.2)) is not None:
                    assert (memory.observation[ready] == 5 * memory.action[ready] + ready).all()
                    memory.action[ready] += 1
                    if not 4 * victim <= ready[0] < 4 * victim + 4:
                        channel.submit(ready)
                    if time.monotonic() > end or not crew.processes[victim].is_alive():
                        break
                crew.replace(victim)
                # Lanes that were handed out before, and lanes that were lost with the worker.
                idle = np.setdiff1d(np.arange(16), channel.outstanding())
                assert set(range(4 * victim, 4 * victim + 4)) <= set(idle.tolist())
                memory.action[idle] += 100
                channel.submit(idle)
                continue
            ready = channel.ready(5, PATIENCE)
            assert ready is not None, channel.outstanding()
            assert (memory.observation[ready] == 5 * memory.action[ready] + ready).all()
            memory.action[ready] += 1
            channel.submit(ready)
            since += 1
        assert channel.ready(16, PATIENCE) is not None
        assert crew.step(1) == []
        crew.stop()
