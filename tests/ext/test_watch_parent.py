"""watch_parent: a process ends with another one, even while it is busy."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator

import pytest

PATIENCE = 60.0  # s: only a failure waits this long
NO_DESCRIPTOR = -1  # the parent is polled once a second, as on systems without pidfds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes that can be polled")

# A worker prints a line when it starts watching. Its end of the pipe closes when it has ended.
BUSY = {
    "sleeping": "time.sleep(600)",
    "in a loop": "while True: pass",
    "holding the GIL": "ctypes.PyDLL(None).sleep(600)",
    "ignoring signals": ("[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"),
}
PROGRAM = """
import ctypes, os, signal, subprocess, sys, time
from gymcore_ext.workers.channel import watch_parent
watch_parent({pid}, {pidfd}, 7)
os.write({ready}, b"x")
{busy}
"""


@contextlib.contextmanager
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that does nothing until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def watching(pid: int, busy: str, pidfd: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a busy process that watches another one, by its own pidfd if none is given."""
    read_end, write_end = os.pipe()
    opened = f"os.pidfd_open({pid})" if hasattr(os, "pidfd_open") else NO_DESCRIPTOR
    watched_by = opened if pidfd is None else pidfd
    code = PROGRAM.format(pid=pid, pidfd=watched_by, ready=write_end, busy=busy)
    fds = (write_end,) if pidfd in (None, NO_DESCRIPTOR) else (write_end, pidfd)
    process = subprocess.Popen([sys.executable, "-c", code], pass_fds=fds)
    os.close(write_end)
    try:
        assert select.select([read_end], [], [], PATIENCE)[0]
        assert os.read(read_end, 1) == b"x"
        yield process
    finally:
        process.kill()
        process.wait()
        os.close(read_end)


@pytest.mark.parametrize("busy", BUSY.values(), ids=BUSY)
def test_ends_with_the_process_watched(busy):
    with parent() as watched, watching(watched.pid, busy) as process:
        assert process.poll() is None
        watched.kill()
        watched.wait()
        assert process.wait(PATIENCE) == 7


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs os.pidfd_open")
def test_by_a_pidfd_and_not_by_number():
    with parent() as watched:
        pidfd = os.pidfd_open(watched.pid)
        # The number now belongs to another process, which is alive.
        with watching(os.getpid(), f"os.close({pidfd}); time.sleep(600)", pidfd) as process:
            os.close(pidfd)
            assert process.poll() is None
            watched.kill()
            watched.wait()
            assert process.wait(PATIENCE) == 7


def test_by_looks_at_a_process():
    with parent() as watched, watching(watched.pid, BUSY["sleeping"], NO_DESCRIPTOR) as process:
        watched.kill()
        watched.wait()
        assert process.wait(PATIENCE) == 7


@pytest.mark.parametrize("pidfd", ["os.pidfd_open(os.getppid())", -1], ids=["pidfd", "looks"])
def test_a_child_loses_its_parent(pidfd):
    read_end, write_end = os.pipe()
    child = PROGRAM.format(pid="os.getppid()", pidfd=pidfd, ready=write_end, busy=BUSY["sleeping"])
    run_child = f"subprocess.run([sys.executable, '-c', {child!r}], pass_fds=[{write_end}])"
    code = f"import subprocess, sys; {run_child}"
    process = subprocess.Popen([sys.executable, "-c", code], pass_fds=(write_end,))
    os.close(write_end)
    try:
        assert select.select([read_end], [], [], PATIENCE)[0]
        assert os.read(read_end, 1) == b"x"
        process.kill()  # no process calls `wait` for it
        # The last process that holds the pipe has ended.
        assert select.select([read_end], [], [], PATIENCE)[0]
        assert os.read(read_end, 1) == b""
    finally:
        process.kill()
        process.wait()
        os.close(read_end)


def test_a_process_that_has_ended_already():
    with parent() as watched:
        watched.kill()
        watched.wait()
        code = (
            "import gymcore_ext.workers.channel as w, time;"
            f" w.watch_parent({watched.pid}); time.sleep(600)"
        )
        assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE).returncode == 1


def test_takes_no_signals_from_the_program():
    code = """
import os, signal, time, threading
from gymcore_ext.workers.channel import watch_parent
watch_parent(os.getppid())
found = []
signal.signal(signal.SIGUSR1, lambda *_: found.append(threading.current_thread().name))
for _ in range(20):
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.001)
print(len(found), set(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.stdout.strip(), done.stderr) == ("20 {'MainThread'}", "")


def test_the_program_ends_as_usual_while_it_watches():
    code = """
import os, sys
from gymcore_ext.workers.channel import watch_parent
watch_parent(os.getppid())
sys.exit(3)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE).returncode == 3
