"""Limits on the cost of one untrusted input, measured around each of them."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MAX_SECONDS = 2.0
MAX_BYTES = 256 << 20

# Audit events of a program that changes files, starts others or loads a pickle.
EVENTS = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.mkfifo", "os.fork", "os.exec", "os.system", "os.posix_spawn",
    "subprocess.Popen", "socket.connect", "socket.bind", "pickle.find_class", "ctypes.dlopen",
}  # fmt: skip
# Packages that gymcore imports on demand. Inputs name `evil_module` and `this`.
PACKAGES = {"gymcore", "gymcore_ext", "gym", "numpy", *sys.stdlib_module_names} - {"this"}

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_events: list[object] | None = None  # events during the current input; None between inputs


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _events is None:
        return
    if event in EVENTS or (event == "open" and arguments[2] & WRITES):
        _events.append((event, *arguments))


class Imports:
    """A finder in front of all others that records which modules are looked for."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Find nothing."""
        if _events is not None and name.partition(".")[0] not in PACKAGES:
            _events.append(("import", name))


class Limits:
    """Raise if an input takes too long or too much memory, writes files or imports modules.

    The limit of memory is for all inputs together: the peak of the process above its size at the
    beginning.
    """

    def __init__(self) -> None:
        """Start measuring."""
        self.count, self.slowest, self._began = 0, 0.0, time.monotonic()
        if not hasattr(sys, "_gymcore_hears"):  # an audit hook stays as long as the process
            sys.addaudithook(_hear)
            sys._gymcore_hears = True  # type: ignore[attr-defined]
        self._imports: Any = Imports()
        sys.meta_path.insert(0, self._imports)
        with contextlib.suppress(OSError):  # reset the peak
            Path("/proc/self/clear_refs").write_text("5")
        self._before = peak_bytes()

    @contextlib.contextmanager
    def __call__(self, *shown: object) -> Iterator[None]:
        """Check a block that handles an input; errors show the arguments."""
        global _events
        events: Sequence[object]
        events = _events = []
        begin = time.process_time()
        try:
            yield
        finally:
            _events = None
        seconds, growth = time.process_time() - begin, peak_bytes() - self._before
        self.count, self.slowest = self.count + 1, max(self.slowest, seconds)
        assert not events, (events, shown)
        assert seconds <= MAX_SECONDS, (seconds, shown)
        assert growth <= MAX_BYTES, (growth, shown)

    def close(self) -> str:
        """Stop, and return the measurements."""
        sys.meta_path.remove(self._imports)
        return (
            f"{self.count} inputs in {time.monotonic() - self._began:.0f} s, the slowest "
            f"{self.slowest:.3f} s, memory {self._before >> 20} to {peak_bytes() >> 20} MiB"
        )


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
