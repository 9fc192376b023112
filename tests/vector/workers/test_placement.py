"""The CPU on which a worker waits, and who may use the others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.vector import AsyncVectorEnv
from gymcore.vector.workers import placement
from gymcore.vector.workers.placement import Placement, placements

needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system has no sched_setaffinity"
)
needs_two_cpus = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs sched_setaffinity and two CPUs",
)


class Affinities(gym.Env):
    """Reports the CPUs that the environment, a thread and a child process may use, as bits."""

    observation_space = gym.spaces.Box(0, 1, (3, 1024), np.int8)
    action_space = gym.spaces.Discrete(2)

    def _observation(self):
        affinities = [os.sched_getaffinity(0)]
        thread = threading.Thread(target=lambda: affinities.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
        program = "import os; print(*os.sched_getaffinity(0))"
        child = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        affinities.append({int(cpu) for cpu in child.stdout.split()})
        bits = np.zeros((3, 1024), np.int8)
        for row, cpus in zip(bits, affinities, strict=True):
            row[list(cpus)] = 1
        return bits

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observation(), {}

    def step(self, action):
        return self._observation(), 0.0, False, False, {}


def wait_for(pid, cpus):
    """Wait until a worker sleeps on its CPUs."""
    deadline = time.monotonic() + 60
    while os.sched_getaffinity(pid) != cpus:
        assert time.monotonic() < deadline, (os.sched_getaffinity(pid), cpus)
        time.sleep(0.001)


def reported(observations):
    return [[set(np.flatnonzero(row).tolist()) for row in lane] for lane in observations]


@pytest.mark.slow
@needs_two_cpus
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_only_a_waiting_worker_is_restricted(context):
    allowed = os.sched_getaffinity(0)
    cpus = sorted(allowed)[1::-1]
    with AsyncVectorEnv([Affinities] * 2, context=context, worker_affinity=cpus) as envs:
        observations, _ = envs.reset(seed=1)
        for _ in range(2):
            assert reported(observations) == [[allowed] * 3] * 2
            for process, cpu in zip(envs.processes, cpus, strict=True):
                wait_for(process.pid, {cpu})
            observations = envs.step(np.zeros(2, np.int64))[0]
        assert os.sched_getaffinity(0) == allowed


@needs_two_cpus
def test_a_restarted_worker_waits_on_the_same_cpu():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with AsyncVectorEnv(
        [Affinities] * 2, context="fork", worker_affinity=cpus, on_worker_death="restart"
    ) as envs:
        envs.reset(seed=1)
        envs.processes[1].kill()
        envs.processes[1].join()
        envs.step(np.zeros(2, np.int64))
        wait_for(envs.processes[1].pid, {cpus[1]})


@needs_two_cpus
def test_an_affinity_that_is_set_from_outside_stays():
    first, second = sorted(os.sched_getaffinity(0))[:2]
    with AsyncVectorEnv([Affinities], context="fork", worker_affinity=[first]) as envs:
        envs.reset(seed=1)
        wait_for(envs.processes[0].pid, {first})
        os.sched_setaffinity(envs.processes[0].pid, {second})
        observations = envs.step(np.zeros(1, np.int64))[0]
        assert reported(observations) == [[{second}] * 3]


class Clock:
    """Time, the times of a thread, and its affinity, without a system."""

    def __init__(self, monkeypatch):
        self.now, self.ran, self.waited, self.affinity = 0.0, 1, 0, {0, 1, 2}
        monkeypatch.setattr(placement.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(placement, "_thread_times", lambda: (self.ran, self.waited))
        monkeypatch.setattr(placement.os, "sched_getaffinity", lambda pid: set(self.affinity))
        monkeypatch.setattr(placement.os, "sched_setaffinity", self.set)

    def set(self, pid, cpus):
        self.affinity = set(cpus)

    def step(self, place, ran=0.001, waited=0.0):
        """Pass a step; return the CPUs on which the worker waits after it."""
        self.now += ran + waited
        self.ran += round(ran * 1e9)
        self.waited += round(waited * 1e9)
        with place:
            cpus = set(self.affinity)
        assert self.affinity == {0, 1, 2}
        return cpus


@needs_affinity
@pytest.mark.parametrize("named", [False, True])
class TestPlacement:
    def test_short_steps(self, monkeypatch, named):
        clock, place = Clock(monkeypatch), Placement(1, named)
        assert clock.step(place) == {1}
        assert clock.step(place, ran=0.0002) == ({1} if named else {0, 1, 2})
        assert clock.step(place, ran=0.0003) == {1}

    def test_a_cpu_that_others_use(self, monkeypatch, named):
        clock, place = Clock(monkeypatch), Placement(1, named)
        for _ in range(2000):  # 4 s, of which it waits a third
            assert clock.step(place, waited=0.0005) == {1}
        restricted = [clock.step(place, waited=0.001) == {1} for _ in range(50_000)]  # 100 s
        assert sum(restricted) == 50_000 if named else 5 < sum(restricted) < 200
        for _ in range(33_000):  # longer than the longest pause
            clock.step(place)
        assert all(clock.step(place) == {1} for _ in range(1000))

    def test_a_system_that_does_not_count(self, monkeypatch, named):
        clock, place = Clock(monkeypatch), Placement(1, named)
        monkeypatch.setattr(placement, "_thread_times", lambda: (0, 0))
        restricted = [clock.step(place) == {1} for _ in range(10_000)]
        assert sum(restricted) == 10_000 if named else sum(restricted) < 200

    def test_a_cpu_that_was_removed(self, monkeypatch, named):
        clock, place = Clock(monkeypatch), Placement(7, named)
        assert clock.step(place) == {0, 1, 2}

        def refuse(pid, cpus):
            raise OSError(22, "no such CPU")

        monkeypatch.setattr(placement.os, "sched_setaffinity", refuse)
        assert clock.step(Placement(1, named)) == {0, 1, 2}


def cpus_of(found):
    return [(each._cpu, each._is_pinned) if isinstance(each, Placement) else None for each in found]


@needs_affinity
def test_automatic_placements(monkeypatch):
    monkeypatch.setattr(placement.os, "sched_getaffinity", lambda pid: {1, 2, 3, 5})
    siblings = {1: "0-1", 2: "2-3", 3: "2-3"}

    def read_text(path):
        cpu = int(path.parents[1].name.removeprefix("cpu"))
        if cpu not in siblings:
            raise FileNotFoundError
        return siblings[cpu]

    monkeypatch.setattr(placement.Path, "read_text", read_text)
    order = [({cpu}, False) for cpu in (1, 2, 5, 3)]
    assert cpus_of(placements("auto", 2)) == order[:2]
    assert cpus_of(placements("auto", 4)) == order
    assert cpus_of(placements("auto", 1)) == [None]
    assert cpus_of(placements("auto", 5)) == [None] * 5
    assert cpus_of(placements(None, 2)) == [None] * 2
    assert cpus_of(placements(np.array([5, 1]), 2)) == [({5}, True), ({1}, True)]


def test_a_system_without_affinity(monkeypatch):
    monkeypatch.delattr(placement.os, "sched_setaffinity", raising=False)
    for affinity in ("auto", None, [0, 1]):
        assert cpus_of(placements(affinity, 2)) == [None, None]


@pytest.mark.parametrize(
    ("affinity", "problem", "text"),
    [
        ("all", ArgumentTypeError, "'auto', None or a list with the CPU of each worker.*'all'"),
        (3, ArgumentTypeError, "got 3"),
        ({0, 1}, ArgumentTypeError, r"got \{0, 1\}"),
        ([0, 0.5], ArgumentTypeError, r"\[1\]: expected an integer, got 0.5"),
        ([0, -1], InvalidArgument, r"\[1\]: expected at least 0, got -1"),
        ([0], InvalidArgument, r"each of 2 workers, .*, got \[0\]"),
        pytest.param(
            [0, 10**6],
            InvalidArgument,
            r"this process may use, \[.*\], got \[0, 1000000\]",
            marks=needs_affinity,
        ),
    ],
    ids=["text", "number", "set", "fraction", "negative", "count", "outside"],
)
def test_wrong_affinities(affinity, problem, text):
    with pytest.raises(problem, match=f"^worker_affinity.*{text}"):
        AsyncVectorEnv([Affinities] * 2, num_workers=2, worker_affinity=affinity)


def test_a_custom_worker():
    with pytest.raises(InvalidArgument, match=r"^worker_affinity: cannot be combined with"):
        AsyncVectorEnv([Affinities], worker=print, worker_affinity=[0])
