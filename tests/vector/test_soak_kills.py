"""Random kills for a long time: only the killed worker's lanes lose anything.

The full length takes five minutes: `pytest -m soak tests/vector/test_soak_kills.py`.
"""

import multiprocessing
import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from tests.vector import faults
from tests.vector.fault_engines import SOAK
from tests.vector.faulty_envs import FaultyEnv, engine_of
from tests.vector.isolation import isolated
from tests.vector.leaks import Held, shared_mappings, wait_until

pytestmark = pytest.mark.slow

NUM_ENVS = 64
NUM_WORKERS = 8

# Engine, duration and time between kills, both in seconds.
LENGTHS = [
    ("shm-fork", 2, 0.1),
    ("pipes-fork", 2, 0.1),
    pytest.param("shm-fork", 300, 1.0, marks=SOAK),
    pytest.param("pipes-fork", 60, 0.2, marks=SOAK),
    pytest.param("shm-spawn", 60, 3.0, marks=SOAK),
    pytest.param("shm-forkserver", 60, 1.0, marks=SOAK),
]


class SometimesSlow(FaultyEnv):
    """Environment with episodes of random length, and a slow step now and then."""

    def reset(self, **kwargs):
        self.length = random.randrange(5, 50)
        return super().reset(**kwargs)

    def step(self, action):
        if random.random() < 0.0005:
            faults.pause(0.02)()
        return super().step(action)


class Killer(threading.Thread):
    """Thread that kills a random worker now and then; its workers are the children given to it."""

    def __init__(self, seconds_between):
        super().__init__(daemon=True)
        self.seconds_between = seconds_between
        self.pids = []
        self.kills = 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(self.seconds_between * random.uniform(0.5, 1.5)):
            pids = self.pids
            if not pids:
                continue
            number = random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
            try:
                os.kill(random.choice(pids), number)
                self.kills += 1
            except ProcessLookupError:
                pass


class Ledger:
    """The results that each lane must return next."""

    def __init__(self, observations):
        self.last = observations
        self.ended = np.zeros(NUM_ENVS, bool)
        self.fresh = np.zeros(NUM_ENVS, bool)  # the next step is a new worker's first reset
        self.losses = 0

    def check(self, results):
        """Check a step of all lanes against the step before."""
        observations, rewards, terminations, truncations, infos = results
        lost = infos.get("worker_restarted", np.zeros(NUM_ENVS, bool)).astype(bool)
        assert not terminations.any()
        assert (observations[:, 0] == np.arange(NUM_ENVS)).all()
        # Whole workers are lost, and no other lanes.
        by_worker = lost.reshape(NUM_WORKERS, -1)
        assert (by_worker.all(axis=1) == by_worker.any(axis=1)).all()
        assert truncations[lost].all() and not rewards[lost].any()
        assert (observations[lost] == self.last[lost]).all()

        first = self.fresh & ~lost
        assert (observations[first, 2:] == 0).all()
        reset = self.ended & ~self.fresh & ~lost
        assert (observations[reset] == self.last[reset] * [1, 1, 0, 1] + [0, 1, 0, 0]).all()
        assert not rewards[first | reset].any()
        stepped = ~(first | reset | lost)
        assert (observations[stepped] == self.last[stepped] + [0, 0, 1, 1]).all()
        assert (rewards[stepped] == observations[stepped, 3]).all()

        self.last, self.ended, self.fresh = observations, truncations, lost
        self.losses += int(by_worker.any(axis=1).sum())


@pytest.mark.parametrize(("engine", "seconds", "seconds_between"), LENGTHS)
@pytest.mark.timeout(900)
@isolated(seconds=700)
def test_random_kills(engine, seconds, seconds_between):
    random.seed(0)
    env_fns = [lambda lane=lane: SometimesSlow(lane) for lane in range(NUM_ENVS)]
    killer = Killer(seconds_between)
    kwargs = {"num_workers": NUM_WORKERS, "on_worker_death": "restart"}
    with engine_of(engine, env_fns, **kwargs) as envs:
        before, mappings = Held.now(), len(shared_mappings())
        ledger = Ledger(envs.reset(seed=0)[0])
        actions = np.zeros(NUM_ENVS, int)
        killer.start()
        try:
            end = time.monotonic() + seconds
            steps = 0
            while time.monotonic() < end:
                if steps % 20 == 0:
                    killer.pids = [one.pid for one in multiprocessing.active_children()]
                ledger.check(envs.step(actions))
                steps += 1
        finally:
            killer.stopped.set()
            killer.join()
        for _ in range(NUM_WORKERS + 2):  # deaths that no step has reported yet
            ledger.check(envs.step(actions))
        after = Held.now()
        assert killer.kills >= seconds / seconds_between / 4
        assert killer.kills / 2 <= ledger.losses <= killer.kills
        assert len(after.files) == len(before.files)
        assert wait_until(lambda: len(Held.now().processes) == len(before.processes))
        assert len(shared_mappings()) == mappings
