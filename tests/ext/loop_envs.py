"""Environments and slots for the tests of EnvLoop, without spaces and without gymcore."""

from __future__ import annotations

import numpy as np

import gymcore.error as errors
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.env_loop import EnvLoop

LAYOUT = ("array", np.float32, (2,))
NEXT_STEP, SAME_STEP, DISABLED = range(3)


class Counter:
    """Observation [lane, elapsed]; reward `elapsed`; terminated after `length` steps."""

    def __init__(self, lane, length=3):
        self.lane, self.length = lane, length
        self.elapsed = 0
        self.calls = []
        self.raising = None  # what the next call raises
        self.result = None  # what the next step returns instead

    def observe(self):
        return np.array([self.lane, self.elapsed], np.float32)

    def reset(self, *, seed=None, options=None):
        self.calls.append(("reset", seed, options))
        self.fail()
        self.elapsed = 0
        return self.observe(), {"began": self.lane}

    def step(self, action):
        self.calls.append(("step", action))
        self.fail()
        self.elapsed += 1
        if self.result is not None:
            return self.result
        ended = self.elapsed >= self.length
        return self.observe(), float(self.elapsed), ended, False, {"elapsed": self.elapsed}

    def fail(self):
        if self.raising is not None:
            problem, self.raising = self.raising, None
            raise problem


class Slots:
    """Keeps what a loop puts."""

    def __init__(self):
        self.records = {}

    def put(self, lane, info, final_info, extra):
        self.records[lane] = info, final_info, extra


def make_loop(lengths=(3, 3, 3), mode=NEXT_STEP, **kwargs):
    """Return a loop that returns batches, and its environments."""
    envs = [Counter(lane, length) for lane, length in enumerate(lengths)]
    rows = BatchBuffer(kwargs.pop("layout", LAYOUT), len(envs))
    return EnvLoop(envs, rows, mode=mode, errors=errors, **kwargs), envs


class Bound:
    """A loop over lanes [first, first + len(lengths)) of `num_envs` that writes to arrays."""

    def __init__(self, lengths, mode=NEXT_STEP, first=2, num_envs=6, layout=LAYOUT, pickled=False):
        n = len(lengths)
        self.envs = [Counter(first + k, length) for k, length in enumerate(lengths)]
        self.slots = Slots()
        self.rows, self.finals = (
            None
            if pickled
            else BatchBuffer(layout, num_envs, memory=bytearray(BatchBuffer.nbytes(layout, 6)))
            for _ in range(2)
        )
        self.rewards = np.full(n, -1.0)
        self.terminated, self.truncated = np.ones(n, bool), np.ones(n, bool)
        self.statistics = np.full(n, -1.0), np.full(n, -1), np.full(n, -1.0)
        self.loop = EnvLoop(
            self.envs,
            self.rows,
            mode=mode,
            first=first,
            num_envs=num_envs,
            final_rows=self.finals,
            rewards=self.rewards,
            terminated=self.terminated,
            truncated=self.truncated,
            statistics=self.statistics,
            slots=self.slots,
            errors=errors,
        )
