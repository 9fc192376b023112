"""Worker processes for the tests of Channel: the parent's side, and the code that they run."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import signal
import time
from typing import Any

import numpy as np

from gymcore.vector.workers.shared_memory import SharedBlock
from gymcore_ext.workers.channel import Channel, watch_parent

STEP, SLEEP, STOP = 1, 2, 3
PATIENCE = 60.0  # s: only a failure waits this long


class Memory:
    """Shared memory of a crew, as seen from any of its processes.

    Attributes:
        channel: This process's end of the channel.
        question: int64 `[num_workers]`, the content of a request.
        answer: int64 `[num_workers]`: three times the question, plus the worker's number.
        action: int64 `[num_envs]`, the next action of each lane.
        observation: int64 `[num_envs]`: five times the action, plus the lane's number.
    """

    def __init__(self, buffer: Any, bounds: list[tuple[int, int]]) -> None:
        workers, lanes = len(bounds), bounds[-1][1]
        offset = Channel.nbytes(workers, lanes)
        self.channel = Channel(buffer, 0, bounds)
        rows = np.frombuffer(buffer, np.int64, offset=offset)
        self.question, self.answer = rows[:workers], rows[workers : 2 * workers]
        rows = rows[2 * workers :]
        self.action, self.observation = rows[:lanes], rows[lanes : 2 * lanes]

    @staticmethod
    def nbytes(bounds: list[tuple[int, int]]) -> int:
        workers, lanes = len(bounds), bounds[-1][1]
        return Channel.nbytes(workers, lanes) + 16 * (workers + lanes)


def work(
    block: SharedBlock, bounds: list[tuple[int, int]], me: int, parent: int, spin: int, pause: float
) -> None:
    """Run a worker process; `pause` is the longest time that a step of a lane takes, in s."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch_parent(parent)
    memory = Memory(block.map(Memory.nbytes(bounds)), bounds)
    block.close()
    channel, last, chance = memory.channel, 0, random.Random(os.getpid())
    while True:
        lane = channel.take(me)
        if lane >= 0:
            if pause:
                time.sleep(pause * chance.random())
            memory.observation[lane] = 5 * memory.action[lane] + lane
            channel.complete(me, lane, 1e-5)
            continue
        found = channel.next(me, last, 1.0, spin)
        if found is None:
            continue
        last, opcode = found
        if opcode == SLEEP:
            time.sleep(0.02)
        memory.answer[me] = 3 * memory.question[me] + me
        channel.reply(me, last, opcode)
        if opcode == STOP:
            return


class Crew:
    """A parent with its workers. As a context manager it kills workers that are left."""

    def __init__(
        self, lanes: list[int], method: str = "fork", spin: int = 0, pause: float = 0.0
    ) -> None:
        ends = np.cumsum([0, *lanes]).tolist()
        self.bounds = list(itertools.pairwise(ends))
        self.block = SharedBlock()
        self.block.allocate(Memory.nbytes(self.bounds))
        self.memory = Memory(self.block.map(Memory.nbytes(self.bounds)), self.bounds)
        self.channel = self.memory.channel
        self.context: Any = multiprocessing.get_context(method)
        self.arguments = (spin, pause)
        self.processes: list[Any] = [None] * len(lanes)

    def __enter__(self) -> Crew:
        for worker in range(len(self.processes)):
            self.start(worker)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            if process is not None:
                process.kill()
                process.join(PATIENCE)
                process.close()
        self.block.close()

    def start(self, worker: int) -> None:
        """Start a worker, possibly in the place of an earlier one."""
        arguments = (self.block, self.bounds, worker, os.getpid(), *self.arguments)
        self.processes[worker] = self.context.Process(target=work, args=arguments)
        self.processes[worker].start()

    def kill(self, worker: int) -> None:
        self.processes[worker].kill()

    def replace(self, worker: int) -> list[int]:
        """Start a new worker in place of a dead one; return the lanes lost with it."""
        process = self.processes[worker]
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        process.close()
        lo, hi = self.bounds[worker]
        before = self.channel.outstanding()
        lost = before[(before >= lo) & (before < hi)]
        self.channel.withdraw(worker)
        self.channel.forget(lost)
        self.start(worker)
        return lost.tolist()

    def step(self, question: int, workers: list[int] | None = None) -> list[int]:
        """Post a request and wait; return the workers that died. Check all other answers."""
        chosen = list(range(len(self.processes))) if workers is None else workers
        self.memory.question[:] = -1
        self.memory.question[chosen] = question
        request = self.channel.post(STEP, workers)
        end = time.monotonic() + PATIENCE
        while not self.channel.wait(request, 0.05):
            waiting = self.channel.unanswered(request)
            dead = [k for k in waiting if not self.processes[k].is_alive()]
            if dead == self.channel.unanswered(request):
                break
            assert time.monotonic() < end, f"{waiting} live and do not answer"
        dead = self.channel.unanswered(request)
        for k in set(chosen) - set(dead):
            assert self.memory.answer[k] == 3 * question + k
        return dead

    def stop(self) -> None:
        """Let every worker end normally."""
        assert self.channel.wait(self.channel.post(STOP), PATIENCE)
        for process in self.processes:
            process.join(PATIENCE)
            assert process.exitcode == 0
