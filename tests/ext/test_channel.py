"""Channel: requests and their answers, with both ends in one process."""

from __future__ import annotations

import gc
import mmap
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gymcore_ext.workers.channel import Channel
from tests.interrupts import Interrupt, interrupted

LONG = 60.0  # s: longer than any wait; a test that waits this long fails by another assertion
FOREVER = float("inf")
MOST = 0xFFFFFFFF


def memory_of(num_workers: int, num_envs: int = 0) -> mmap.mmap:
    return mmap.mmap(-1, Channel.nbytes(num_workers, num_envs))


def channel_of(num_workers: int, memory: Any = None) -> Channel:
    memory = memory_of(num_workers) if memory is None else memory
    return Channel(memory, 0, [(0, 0)] * num_workers)


@pytest.fixture
def answering() -> Iterator[Any]:
    """Start worker threads; each answers with its number until it gets request 99."""
    threads = []

    def start(memory: Any, num_workers: int) -> None:
        def work(worker: int) -> None:
            channel, last = channel_of(num_workers, memory), 0
            while True:
                found = channel.next(worker, last, 0.5)
                if found is not None:
                    last, opcode = found
                    channel.reply(worker, last, worker + 10 * opcode)
                    if opcode == 99:
                        return

        for worker in range(num_workers):
            threads.append(threading.Thread(target=work, args=(worker,), daemon=True))
            threads[-1].start()

    yield start
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


def test_a_request_goes_to_every_worker_and_back():
    channel = channel_of(3)
    request = channel.post(5)
    for worker in range(3):
        assert not channel.wait(request, 0)
        assert channel.unanswered(request) == list(range(worker, 3))
        assert channel.next(worker, 0, 0) == (request, 5)
        channel.reply(worker, request, 100 + worker)
    assert channel.wait(request, 0)
    assert channel.unanswered(request) == []
    assert [channel.status(worker) for worker in range(3)] == [100, 101, 102]


def test_numbers_are_never_0_and_told_before():
    channel = channel_of(1)
    for expected in range(1, 4):
        assert channel.next_request_number == expected
        assert channel.post(1) == expected


def test_some_workers():
    channel = channel_of(4)
    request = channel.post(1, [3, 1, 3])
    assert channel.unanswered(request) == [1, 3]
    assert channel.next(0, 0, 0) is None
    assert channel.next(3, 0, 0) == (request, 1)
    channel.reply(3, request)
    assert not channel.wait(request, 0)
    channel.reply(1, request)
    assert channel.wait(request, 0)


def test_a_worker_sees_a_request_once():
    channel = channel_of(1)
    request = channel.post(1)
    assert channel.next(0, 0, 0) == (request, 1)
    assert channel.next(0, request, 0) is None
    assert channel.next(0, request, 0.01) is None


def test_a_worker_sees_only_the_latest_request():
    channel = channel_of(1)
    for opcode in range(5):
        request = channel.post(opcode)
    assert channel.next(0, 0, 0) == (request, 4)


def test_a_late_reply_is_not_counted():
    channel = channel_of(2)
    abandoned = channel.post(1)
    channel.reply(0, abandoned, 7)
    latest = channel.post(2)
    channel.reply(1, abandoned, 8)
    assert channel.unanswered(latest) == [0, 1]
    channel.reply(0, latest)
    channel.reply(1, abandoned, 9)
    assert not channel.wait(latest, 0)
    assert channel.unanswered(latest) == [1]
    channel.reply(1, latest)
    assert channel.wait(latest, 0)


def test_a_reply_given_twice_counts_once():
    channel = channel_of(2)
    request = channel.post(1)
    channel.reply(0, request, 3)
    channel.reply(0, request, 4)
    assert not channel.wait(request, 0)
    assert channel.status(0) == 3


def test_what_a_dead_worker_was_asked_is_withdrawn():
    channel = channel_of(2)
    channel.post(1)
    channel.withdraw(0)
    assert channel.next(0, 0, 0) is None
    assert channel.next(1, 0, 0) is not None
    latest = channel.post(2)
    assert channel.next(0, 0, 0) == (latest, 2)


def test_a_request_that_is_not_the_latest_cannot_be_waited_for():
    channel = channel_of(1)
    first = channel.post(1)
    second = channel.post(1)
    for wrong in (0, first, second + 1):
        with pytest.raises(ValueError, match=f"expected the latest one, {second}, got {wrong}"):
            channel.wait(wrong, 0)
        with pytest.raises(ValueError, match="expected the latest one"):
            channel.unanswered(wrong)


def test_numbers_wrap_around(answering):
    memory = memory_of(2)
    channel = channel_of(2, memory)
    # The words that hold the number of a request, found by a number that occurs nowhere else.
    words = np.frombuffer(memory, np.uint64)
    request = channel.post(77, [0])
    assert request == 1
    [inbox] = np.flatnonzero(words == (1 << 32 | 77))
    [countdown] = np.flatnonzero(words == (1 << 32 | 1))
    words[inbox] = words[countdown] = (MOST - 3) << 32
    channel = channel_of(2, memory)
    answering(memory, 2)
    seen = []
    for _ in range(8):
        seen.append(channel.post(1))
        assert channel.wait(seen[-1], LONG)
    assert seen == [MOST - 2, MOST - 1, MOST, 1, 2, 3, 4, 5]
    assert channel.wait(channel.post(99), LONG)


def test_status_and_opcode_have_31_bits_and_a_sign():
    channel = channel_of(1)
    for status in (0, -1, 2**31 - 1, -(2**31)):
        request = channel.post(2**31 - 1)
        assert channel.next(0, request - 1, 0) == (request, 2**31 - 1)
        channel.reply(0, request, status)
        assert channel.status(0) == status


def test_the_gil_is_free_while_anybody_waits(answering):
    memory = memory_of(3)
    answering(memory, 3)
    channel = channel_of(3, memory)
    for spin in (0, 10, 10**9):  # the last one never sleeps
        assert channel.wait(channel.post(4), LONG, spin)
    assert [channel.status(worker) for worker in range(3)] == [40, 41, 42]
    assert channel.wait(channel.post(99), LONG)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no os.sched_setaffinity")
def test_nobody_polls_on_the_cpu_that_the_peer_needs():
    channel, years = Channel(memory_of(1, 1), 0, [(0, 1)]), 10**16
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        request = channel.post(1)
        assert channel.next(0, 0, LONG, years) == (request, 1)
        assert channel.next(0, request, 0.001, years) is None
        assert not channel.wait(request, 0.001, years)
        channel.submit([0])
        assert channel.ready(1, 0.001, years) is None
    finally:
        os.sched_setaffinity(0, before)


def test_a_thread_posts_while_another_waits():
    memory = memory_of(1)
    parent, worker = channel_of(1, memory), channel_of(1, memory)
    found = []
    thread = threading.Thread(target=lambda: found.append(worker.next(0, 0, LONG)))
    thread.start()
    request = parent.post(6)
    thread.join(LONG)
    assert found == [(request, 6)]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
@pytest.mark.parametrize("wait", ["wait", "next", "ready"])
def test_a_signal_interrupts(wait):
    channel = Channel(memory_of(1, 2), 0, [(0, 2)])
    request = channel.post(1)
    channel.submit([0, 1])
    waits = {
        "wait": lambda: channel.wait(request, FOREVER),
        "next": lambda: Channel(memory_of(1, 0), 0, [(0, 0)]).next(0, request, FOREVER),
        "ready": lambda: channel.ready(1, FOREVER),
    }
    assert interrupted(waits[wait], 0.02)
    # Nothing was lost.
    channel.reply(0, request)
    assert channel.wait(request, 0)
    channel.complete(0, channel.take(0), 1.0)
    assert channel.ready(1, 0) is not None


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signal.pthread_kill")
def test_a_signal_that_another_thread_received_interrupts():
    channel = channel_of(1)
    request = channel.post(1)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()

    killer = threading.Timer(0.02, signal.pthread_kill, (other.ident, signal.SIGALRM))

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupt):
            killer.start()
            channel.wait(request, FOREVER)
    finally:
        signal.signal(signal.SIGALRM, before)
    done.set()
    other.join()
    killer.join()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_signals_that_do_not_raise_do_not_end_a_wait():
    memory = memory_of(1)
    channel, worker = channel_of(1, memory), channel_of(1, memory)
    request = channel.post(1)
    calls = []

    def handle(*_: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            worker.reply(0, request)

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        assert channel.wait(request, FOREVER)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) >= 3


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_a_signal_handler_may_post():
    channel = channel_of(1)
    request = channel.post(1)
    before = signal.signal(signal.SIGALRM, lambda *_: channel.post(2))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(ValueError, match="expected the latest one"):
            channel.wait(request, FOREVER)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_times_out():
    channel = channel_of(1)
    request = channel.post(1)
    for timeout in (-1.0, 0.0, 0.001, 0.12):
        assert not channel.wait(request, timeout)
    for timeout in (-1.0, 0.0, 0.001, 0.12):
        assert channel.next(0, request, timeout) is None


def test_waits_for_ever():
    memory = memory_of(1)
    parent, worker = channel_of(1, memory), channel_of(1, memory)
    request = parent.post(1)
    timer = threading.Timer(0.12, lambda: worker.reply(0, request))
    timer.start()
    assert parent.wait(request, FOREVER)
    timer.join()


@pytest.mark.slow
def test_the_memory_lives_as_long_as_the_channel():
    memory = memory_of(1)
    channel = channel_of(1, memory)
    with pytest.raises(BufferError):
        memory.close()
    del channel
    gc.collect()
    memory.close()


def test_offset_into_the_memory():
    memory = mmap.mmap(-1, 64 + Channel.nbytes(2, 0) + 64)
    channel = Channel(memory, 64, [(0, 0), (0, 0)])
    channel.reply(0, channel.post(2**31 - 1, [0]), -1)
    channel.post(2**31 - 1)
    assert not any(memory[:64]) and not any(memory[-64:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((memory_of(1), 0, []), r"bounds: expected at least one worker, .* got \[\]"),
        ((memory_of(1), 0, [(0, -1)]), "bounds: expected .* fewer than 2.31 lanes"),
        ((memory_of(1), 0, [(0, 2**31)]), "bounds: expected .* fewer than 2.31 lanes"),
        ((memory_of(1, 2), 0, [(1, 0)]), r"bounds\[0\]: expected 0 = lo <= hi <= 0, got \(1, 0\)"),
        ((memory_of(1, 2), 0, [(1, 2)]), r"bounds\[0\]: expected 0 = lo <= hi <= 2"),
        ((memory_of(2, 2), 0, [(0, 3), (3, 2)]), r"bounds\[0\]: expected 0 = lo <= hi <= 2"),
        ((memory_of(2, 2), 0, [(0, 2), (1, 2)]), r"bounds\[1\]: expected 2 = lo <= hi <= 2"),
        ((memory_of(2, 2), 0, [(0, 1), (2, 2)]), r"bounds\[1\]: expected 1 = lo <= hi <= 2"),
        ((mmap.mmap(-1, 64), 0, [(0, 0)]), "buffer is smaller than requested size"),
        ((memory_of(1), -64, [(0, 0)]), "offset must be non-negative"),
        ((mmap.mmap(-1, 8192), 8, [(0, 0)]), "offset: expected an address"),
    ],
)
def test_constructor_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        Channel(*arguments)


def test_memory_must_be_writable():
    with pytest.raises(ValueError, match="memory: expected a writable buffer"):
        Channel(bytes(Channel.nbytes(1, 0)), 0, [(0, 0)])


def test_calls_refuse():
    channel = channel_of(2)
    with pytest.raises(ValueError, match=r"opcode: expected 0 to 2147483647, got -1"):
        channel.post(-1)
    with pytest.raises(ValueError, match=r"worker: expected 0 to 1, got 2"):
        channel.post(1, [0, 2])
    with pytest.raises(ValueError, match=r"workers: expected at least one, got none"):
        channel.post(1, [])
    assert channel.next_request_number == 1, "a call that was refused changed something"
    for call in (channel.status, channel.withdraw):
        with pytest.raises(ValueError, match=r"worker: expected 0 to 1, got -1"):
            call(-1)
    with pytest.raises(ValueError, match="worker: expected 0 to 1, got 2"):
        channel.next(2, 0, 0)
    with pytest.raises(ValueError, match="worker: expected 0 to 1, got 2"):
        channel.reply(2, 1)
    request = channel.post(1)
    with pytest.raises(ValueError, match="timeout: expected seconds, got nan"):
        channel.wait(request, float("nan"))
    with pytest.raises(OverflowError):
        channel.wait(-1, 0)
