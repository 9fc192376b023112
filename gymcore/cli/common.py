"""What the sub-commands share: their error type, argument types, number formats, Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class CliError(Exception):
    """A request that cannot be fulfilled, told in one line; `main` prints it and returns 2."""


def count(text: str) -> int:
    """Parse a positive whole number: `64`, `1_000_000` or `1e6`.

    Args:
        text: The word on the command line.

    Returns:
        The number, at least 1.

    Raises:
        argparse.ArgumentTypeError: If it is no whole number, or less than 1.

    Example:
        >>> count("1e6") == count("1_000_000") == 1000000
        True
    """
    try:
        number = int(text)
    except ValueError:
        try:
            number_as_float = float(text)
            number = int(number_as_float)
        except (ValueError, OverflowError):
            raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
        if number != number_as_float:
            raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text!r}")
    return number


def seed(text: str) -> int:
    """Parse a seed: a whole number of at least 0.

    Args:
        text: The word on the command line.

    Returns:
        The seed.

    Raises:
        argparse.ArgumentTypeError: If it is no whole number, or negative.
    """
    if text == "0":
        return 0
    return count(text)


def seconds(text: str) -> float:
    """Parse a positive duration in seconds.

    Args:
        text: The word on the command line.

    Returns:
        The duration [s].

    Raises:
        argparse.ArgumentTypeError: If it is no number, or not positive.
    """
    try:
        duration = float(text)
    except ValueError:
        duration = -1.0
    if not 0.0 < duration < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return duration


def rate(per_second: float) -> str:
    """Return a rate of steps a second for a person to read.

    Args:
        per_second: The rate [1/s].

    Returns:
        Three significant figures with a unit.

    Example:
        >>> rate(41_234_567.0), rate(128_400.0), rate(87.0)
        ('41.2 M steps/s', '128 k steps/s', '87 steps/s')
    """
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        # 999.6 k would print as 1e+03 k: take the next unit from where rounding reaches it.
        if per_second >= limit * 0.9995:
            return f"{_three_figures(per_second / limit)}{unit} steps/s"
    return f"{_three_figures(per_second)} steps/s"


def duration(length: float) -> str:
    """Return a length of time for a person to read.

    Args:
        length: The time [s].

    Returns:
        Three significant figures with a unit.

    Example:
        >>> duration(1.234e-9), duration(0.0156), duration(75.0)
        ('1.23 ns', '15.6 ms', '75 s')
    """
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if length >= limit * 0.9995:
            return f"{_three_figures(length / limit)} {unit}"
    return f"{_three_figures(length / 1e-9)} ns"


def times(ratio: float) -> str:
    """Return a ratio for a person to read.

    Args:
        ratio: How many times.

    Returns:
        Three significant figures, or all digits before the point, and an x.

    Example:
        >>> times(1234.5), times(60.0), times(0.5514)
        ('1234x', '60x', '0.55x')
    """
    return f"{_three_figures(ratio)}x"


def byte_count(number: float) -> str:
    """Return a number of bytes for a person to read.

    Args:
        number: The bytes.

    Returns:
        Three significant figures with a binary unit.

    Example:
        >>> byte_count(3 * 2**30), byte_count(17)
        ('3 GiB', '17 B')
    """
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 2**power * 0.9995:
            return f"{_three_figures(number / 2**power)} {unit}"
    return f"{number:.0f} B"


def _three_figures(number: float) -> str:
    """Return 1.23, 12.3 or 123, without trailing zeros behind the point."""
    decimals = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def table(rows: list[list[str]], header: list[str]) -> str:
    """Return rows as aligned columns: the first column to the left, the others to the right.

    Args:
        rows: The cells, each row as long as `header`.
        header: The columns' titles.

    Returns:
        Lines without a trailing newline.

    Example:
        >>> print(table([["a", "1"], ["bcd", "22"]], ["name", "n"]))
        name   n
        ----  --
        a      1
        bcd   22
    """
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


class Interruption:
    """Turns the first Ctrl-C inside a `with` block into a flag, so that loops end between steps.

    The second Ctrl-C raises `KeyboardInterrupt` at once, wherever the program is. Outside the main
    thread, where Python delivers no signals, the flag simply stays unset.

    Attributes:
        requested: True once Ctrl-C was pressed.

    Example:
        >>> with Interruption() as interruption:
        ...     interruption.requested
        False
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None
        self._installed = False

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __enter__(self) -> Interruption:
        """Start to watch for Ctrl-C."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)
            self._installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give Ctrl-C back to whoever had it before."""
        if self._installed:
            signal.signal(signal.SIGINT, self._previous)
            self._installed = False
