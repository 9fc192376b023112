"""System resources of a process: open files, threads, descendants, `/dev/shm`.

`no_leaks` compares them before and after. Reads `/proc`, or `/dev/fd` and `ps` where it is missing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

# A bound for events that happen soon without help, such as the end of a killed process, even on a
# busy machine. Only a failure takes this long.
SETTLE_SECONDS = 60.0

_HAS_PROC = os.path.isdir("/proc/self/fd")

# Prefix of the names of multiprocessing's semaphores, in this process and all descendants: other
# test processes use them at the same time, and semaphores of killed processes have no owner.
_SEMAPHORES = f"mp{os.getpid()}"
multiprocessing.current_process()._config["semprefix"] = f"/{_SEMAPHORES}"  # type: ignore[attr-defined]


class Process(NamedTuple):
    """A process; `started` distinguishes it from a later one with the same number."""

    pid: int
    started: str


def processes() -> dict[int, tuple[int, str, str]]:
    """Return the parent, the state letter and the start time of every process, by number."""
    found: dict[int, tuple[int, str, str]] = {}
    if not _HAS_PROC:
        columns = ["ps", "-A", "-o", "pid=,ppid=,stat=,lstart="]
        for line in subprocess.run(columns, capture_output=True, text=True).stdout.splitlines():
            pid, parent, state, started = line.split(None, 3)
            found[int(pid)] = int(parent), state[0], started
        return found
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                # The program's name, in parentheses, may contain any character.
                fields = file.read().rpartition(")")[2].split()
                found[int(name)] = int(fields[1]), fields[0], fields[19]
    return found


def _has_children() -> bool:
    """Return whether there may be processes below this one; much cheaper than listing them."""
    if hasattr(os, "waitid"):
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
    return True


def descendants(root: int | None = None) -> set[Process]:
    """Return the processes below `root` (default: this process), including unreaped dead ones."""
    if root is None and not _has_children():
        return set()
    table = processes()
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found: set[Process] = set()
    todo = list(children.get(os.getpid() if root is None else root, []))
    while todo:
        pid = todo.pop()
        if not _HAS_PROC and _command(pid).startswith("ps "):
            continue
        found.add(Process(pid, table[pid][2]))
        todo += children.get(pid, [])
    return found


def alive(those: Collection[Process]) -> set[Process]:
    """Return the processes that still run, without dead ones that are not yet reaped."""
    if not those:
        return set()
    table = processes()
    return {
        process
        for process in those
        if process.pid in table
        and table[process.pid][2] == process.started
        and table[process.pid][1] not in "ZX"
    }


def reap_orphans() -> None:
    """Reap dead processes of other sessions that this process has adopted as their subreaper.

    On a busy machine a worker of a killed parent may die after the test has looked for it.
    """
    if not _HAS_PROC or not _has_children():
        return
    for pid, (parent, state, _) in processes().items():
        if parent == os.getpid() and state == "Z":
            with contextlib.suppress(OSError):
                if os.getsid(pid) != os.getsid(0):
                    os.waitpid(pid, os.WNOHANG)


def wait_until(condition: Callable[[], Any], seconds: float = SETTLE_SECONDS) -> bool:
    """Wait for a condition; return whether it became true within the bound."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def kill(those: Collection[Process]) -> None:
    """Kill the processes that still run."""
    for process in alive(those):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def open_files() -> dict[int, str]:
    """Return the targets of this process's open file descriptors."""
    found = {}
    for name in os.listdir("/proc/self/fd" if _HAS_PROC else "/dev/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}") if _HAS_PROC else "?"
            os.fstat(int(name))
        except OSError:  # the descriptor of the listing itself
            found.pop(int(name), None)
    return found


def shared_mappings() -> list[str]:
    """Return the mappings of this process that share memory with other processes."""
    if not _HAS_PROC:
        return []
    with open("/proc/self/maps") as file:
        lines = [line.split(None, 5) for line in file]
    return [line[5].strip() for line in lines if line[1].endswith("s") and len(line) == 6]


def _command(pid: int) -> str:
    if not _HAS_PROC:
        columns = ["ps", "-o", "command=", "-p", str(pid)]
        return subprocess.run(columns, capture_output=True, text=True).stdout.strip()
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _threads() -> set[int]:
    if _HAS_PROC:
        return {int(name) for name in os.listdir("/proc/self/task")}
    return {thread.ident or 0 for thread in threading.enumerate()}


def shared_memory_files() -> set[str]:
    """Return the names in `/dev/shm`, without semaphores of other test processes."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {
        name
        for name in names
        if not name.startswith("sem.mp") or name.startswith(f"sem.{_SEMAPHORES}-")
    }


def without_foreign(names: set[str]) -> set[str]:
    """Return the names in `/dev/shm` that may come from this process or a descendant.

    Files of other users, and files that another process maps, are foreign. A file that no process
    maps may have been left by a process that was killed.
    """
    files: dict[str, tuple[str, int]] = {}
    for name in names:
        with contextlib.suppress(OSError):  # it no longer exists
            status = os.stat(f"/dev/shm/{name}")
            if status.st_uid == os.getuid():
                device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
                files[name] = device, status.st_ino
    if not files or not _HAS_PROC:
        return set(files)
    mine = {os.getpid()} | {one.pid for one in descendants()}
    foreign: set[tuple[str, int]] = set()
    for pid in processes().keys() - mine:
        # Compare inodes, not names: a semaphore's mapping keeps the name of the file when it was
        # made, and a process with another root directory sees the file elsewhere.
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as maps:
            foreign |= {(line.split()[3], int(line.split()[4])) for line in maps}
    return {name for name, file in files.items() if file not in foreign}


class Held(NamedTuple):
    """Resources that this process holds."""

    files: dict[int, str]
    processes: set[Process]
    threads: set[int]
    shared_memory: set[str]

    @classmethod
    def now(cls) -> Held:
        """Return the resources that it holds now."""
        return cls(open_files(), descendants(), _threads(), shared_memory_files())

    def left_over(self, now: Held) -> list[str]:
        """Describe resources that are held now and were not held before."""
        files = [
            f"file descriptor {number}: {target}"
            for number, target in now.files.items()
            if self.files.get(number) != target
        ]
        later = now.processes - self.processes
        table = processes() if later else {}
        new = [
            f"process {one.pid} ({table.get(one.pid, (0, 'gone', ''))[1]}): {_command(one.pid)}"
            for one in later
        ]
        threads = [f"thread {number}" for number in now.threads - self.threads]
        names = without_foreign(now.shared_memory - self.shared_memory)
        memory = [f"/dev/shm/{name}" for name in names]
        return files + new + threads + memory


@contextlib.contextmanager
def no_leaks(seconds: float = SETTLE_SECONDS) -> Iterator[None]:
    """Fail if, some time after the block, more resources are held than before it.

    Args:
        seconds: Time in which resources may disappear by themselves.

    Raises:
        AssertionError: If there are new resources; the message names them.
    """
    before = Held.now()
    yield
    left: list[str] = []

    def settled() -> bool:
        reap_orphans()
        left[:] = before.left_over(Held.now())
        return not left

    # One clean sample is enough: in the next, a test that runs in parallel may hold something.
    wait_until(settled, seconds)
    assert not left, "left over:\n" + "\n".join(left)
