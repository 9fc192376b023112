"""The fault tests' own tools find the faults that they should find."""

import multiprocessing
import os
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from tests.vector import template
from tests.vector.faults import loop_holding_the_gil
from tests.vector.isolation import Script, isolated
from tests.vector.leaks import (
    Held,
    alive,
    descendants,
    kill,
    no_leaks,
    shared_memory_files,
    wait_until,
    without_foreign,
)


@isolated(leaks=False)
def test_leaked_files_are_found():
    with pytest.raises(AssertionError, match=r"file descriptor \d+: /dev/null"):  # noqa: SIM117
        with no_leaks(seconds=0.2):
            number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)


@isolated(leaks=False)
def test_leaked_threads_are_found():
    event = threading.Event()
    with pytest.raises(AssertionError, match=r"thread \d+"), no_leaks(seconds=0.2):
        threading.Thread(target=event.wait).start()
    event.set()


@isolated(leaks=False)
def test_leaked_processes_are_found():
    with pytest.raises(AssertionError, match=r"process \d+ \([SRD]\): .*sleep 1000"):  # noqa: SIM117
        with no_leaks(seconds=0.2):
            process = subprocess.Popen(["sleep", "1000"])
    process.kill()
    process.wait()


@isolated(leaks=False)
def test_unreaped_processes_are_leaks():
    with pytest.raises(AssertionError, match=r"process \d+ \(Z\)"), no_leaks(seconds=0.2):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert os.waitpid(pid, 0)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs /dev/shm")
@isolated(leaks=False)
def test_shared_memory_files_are_leaks():
    with pytest.raises(AssertionError, match="/dev/shm/gymcore"), no_leaks(seconds=0.2):
        file = tempfile.NamedTemporaryFile(prefix="gymcore", dir="/dev/shm")  # noqa: SIM115
    file.close()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs /dev/shm")
def test_semaphores_of_other_programs_are_no_leaks():
    before = shared_memory_files()
    semaphore = multiprocessing.get_context("spawn").Semaphore()  # which this process keeps

    @isolated()
    def look():
        (name,) = shared_memory_files() - before
        assert name.startswith("sem.mp")
        assert not without_foreign({name})

    look()
    assert without_foreign(shared_memory_files() - before)
    del semaphore


@isolated()
def test_what_ends_soon_is_no_leak():
    with no_leaks():
        pid = os.fork()
        if pid == 0:
            time.sleep(0.2)
            os._exit(0)
        threading.Thread(target=os.waitpid, args=(pid, 0)).start()


@isolated()
def test_orphans_are_seen():
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    os.waitpid(pid, 0)
    assert wait_until(lambda: len(descendants()) == 1)
    orphans = descendants()
    assert alive(orphans) == orphans
    kill(orphans)
    assert wait_until(lambda: not alive(orphans))
    os.waitpid(next(iter(orphans)).pid, 0)


@isolated()
def test_isolated_tests_are_forks_of_the_template():
    assert not template.has_one()


def failure_of(test):
    with pytest.raises(pytest.fail.Exception) as caught:
        test()
    return str(caught.value)


@pytest.mark.slow
def test_outcomes_of_isolated_tests():
    @isolated(seconds=3)
    def hang():
        loop_holding_the_gil()

    @isolated()
    def crash():
        os.kill(os.getpid(), signal.SIGKILL)

    @isolated()
    def fail():
        assert 1 + 1 == 3

    @isolated(settle=0.2)
    def leak():
        os.open(os.devnull, os.O_RDONLY)

    @isolated()
    def print_only():
        class Bad:
            def __del__(self):
                raise ValueError("unseen")

        Bad()

    @isolated()
    def skip():
        pytest.skip("no reason")

    before = Held.now()
    assert "no end after 3 s" in (text := failure_of(hang))
    assert "in loop_holding_the_gil" in text
    assert "ended with code -9" in failure_of(crash)
    assert "assert 1 + 1 == 3" in failure_of(fail).replace("(1 + 1)", "1 + 1")
    assert "file descriptor" in failure_of(leak)
    assert "ValueError: unseen" in failure_of(print_only)
    with pytest.raises(pytest.skip.Exception, match="no reason"):
        skip()
    assert wait_until(lambda: not before.left_over(Held.now()))


@pytest.mark.slow
@isolated()
def test_processes_of_a_script_are_seen_and_ended():
    with Script(
        """
        import os, time
        if os.fork() == 0:
            time.sleep(1000)
        print("ready", flush=True)
        time.sleep(1000)
        """
    ) as script:
        assert script.line() == "ready"
        below = set(script.below())
        assert len(below) == 1
        os.kill(script.process.pid, signal.SIGKILL)
        assert not script.all_gone(seconds=0.3)
    assert wait_until(lambda: not alive(below))
