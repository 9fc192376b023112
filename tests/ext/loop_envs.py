"""Environments and slots for the tests of EnvLoop, without spaces and without gymcore."""

from __future__ import annotations

import numpy as np

import gymcore.error as errors
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.env_loop import EPISODE_STATS_LAYOUT, REWARD_AND_END_LAYOUT, EnvLoop
from gymcore_ext.python_envs.infos import InfoSlots

LAYOUT = ("array", np.float32, (2,))
NEXT_STEP, SAME_STEP, DISABLED = range(3)


class Counter:
    """Observation [lane, elapsed]; reward `elapsed`; terminated after `length` steps."""

    def __init__(self, lane, length=3):
        self.lane, self.length = lane, length
        self.elapsed = 0
        self.calls = []
        self.raising = None  # exception that the next call raises
        self.result = None  # result that the next step returns instead

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


class Slots(InfoSlots):
    """Slots in the memory of this process."""

    def __new__(cls, num_envs):
        """Make empty slots."""
        return super().__new__(cls, bytearray(cls.nbytes(num_envs, 1024)), 0, num_envs, 1024)

    @property
    def records(self):
        """Records that were put, by lane: info, final info, extra."""
        overflow = self.take_overflow()
        return {lane: self.get(lane, overflow.get(lane)) for lane in self.filled()}


def over(layout, n):
    """Return a buffer over memory that another buffer could share."""
    return BatchBuffer(layout, n, memory=bytearray(BatchBuffer.nbytes(layout, n)))


def make_loop(lengths=(3, 3, 3), mode=NEXT_STEP, **kwargs):
    """Return a loop that returns batches, and its environments."""
    envs = [Counter(lane, length) for lane, length in enumerate(lengths)]
    n = len(envs)
    rows, rewards_and_ends = (
        BatchBuffer(kwargs.pop("layout", LAYOUT), n),
        BatchBuffer(REWARD_AND_END_LAYOUT, n),
    )
    episodes = BatchBuffer(EPISODE_STATS_LAYOUT, n) if kwargs.pop("statistics", False) else None
    return EnvLoop(envs, rows, rewards_and_ends, episodes, mode=mode, errors=errors, **kwargs), envs


class Bound:
    """A loop over lanes [first, first + len(lengths)) of `num_envs` that writes into arrays."""

    def __init__(self, lengths, mode=NEXT_STEP, first=2, num_envs=6, layout=LAYOUT, pickled=False):
        lanes = slice(first, first + len(lengths))
        self.envs = [Counter(first + k, length) for k, length in enumerate(lengths)]
        self.slots = Slots(num_envs)
        self.rows, self.finals = (None if pickled else over(layout, num_envs) for _ in range(2))
        rewards_and_ends, episodes = (
            over(REWARD_AND_END_LAYOUT, num_envs),
            over(EPISODE_STATS_LAYOUT, num_envs),
        )
        columns = *rewards_and_ends.batch(), *episodes.batch().values()
        for column in columns:
            column[:] = -1
        self.rewards, self.terminated, self.truncated, *self.statistics = (
            column[lanes] for column in columns
        )
        self.loop = EnvLoop(
            self.envs,
            self.rows,
            rewards_and_ends,
            episodes,
            mode=mode,
            errors=errors,
            slots=self.slots,
            first=first,
            final_observations=self.finals,
        )
