"""Progress reports: a bar on a terminal, lines otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol, Self


class Bar(Protocol):
    """A progress report that is active in a `with` block."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def update(self, n: int = 1, /) -> object:
        """Add an amount of completed work."""

    def set_postfix_str(self, text: str, refresh: bool = ...) -> None:
        """Show a note after the progress."""


class _PercentLines:
    """Reports progress as lines on stderr: after 2, 6, 14, ... seconds, then once a minute."""

    def __init__(self, name: str, total: int, done: int) -> None:
        self._name, self._total, self._done, self._postfix = name, total, done, ""
        self._wait, self._next = 2.0, time.monotonic() + 2.0

    def __enter__(self) -> _PercentLines:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, steps: int = 1) -> None:
        self._done += steps
        if (now := time.monotonic()) >= self._next:
            percent = 100 * self._done // self._total
            print(f"{self._name}: {percent} %{self._postfix}", file=sys.stderr, flush=True)
            self._wait = min(2 * self._wait, 60.0)
            self._next = now + self._wait

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        self._postfix = f", {text}"


def progress(name: str, total: int, unit: str, *, silent: bool, done: int = 0) -> Bar:
    """Return a progress bar of tqdm if stderr is a terminal, otherwise lines with percentages.

    `silent` disables all output; `done` is the initial amount.
    """
    from tqdm import tqdm

    if not silent and not sys.stderr.isatty():
        return _PercentLines(name, total, done)
    bar: Bar = tqdm(
        total=total,
        initial=done,
        desc=name,
        unit=f" {unit}",
        unit_scale=True,
        disable=silent,
        dynamic_ncols=True,
    )
    return bar
