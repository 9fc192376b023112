"""Warnings and errors for the user, sent through Python's `warnings` with a color and a level.

`min_level` is the threshold: `WARN` (30, the default) shows everything, `ERROR` (40) only errors,
and higher values nothing. The filters of the `warnings` module also apply.
"""

from __future__ import annotations

import sys
import warnings

DEBUG = 10
INFO = 20
WARN = 30
ERROR = 40
DISABLED = 50

min_level: int = WARN

# Python hides DeprecationWarnings raised outside __main__. Show gymcore's once each, unless the
# user set filters with -W.
if not sys.warnoptions:
    warnings.filterwarnings("once", category=DeprecationWarning, module=r"^gymcore\.")


def set_level(level: int) -> None:
    """Set `min_level` (a function of Gym 0.26): `set_level(ERROR)` hides warnings."""
    global min_level
    min_level = level


setLevel = set_level  # its other name in Gym 0.26


def _formatted(msg: str, args: tuple[object, ...]) -> str:
    """Return `msg % args`; keep a lone percent sign in a message without arguments."""
    try:
        return msg % args
    except (TypeError, ValueError):
        if args:
            raise
        return msg


def warn(
    msg: str, *args: object, category: type[Warning] | None = None, stacklevel: int = 1
) -> None:
    """Warn the user, in yellow, if `min_level` is at most `WARN`.

    Args:
        msg: The text, with `%` placeholders for `args`.
        *args: Values for the placeholders.
        category: The class of the warning; None means `UserWarning`.
        stacklevel: Which caller the warning names: 1 is this function's caller, 2 is one above.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn("%d lanes asked for, %d cores here", 64, 2)
        >>> "64 lanes asked for, 2 cores here" in str(caught[0].message)
        True
    """
    if min_level <= WARN:
        text = f"\x1b[33mWARN: {_formatted(msg, args)}\x1b[0m"  # yellow
        warnings.warn(text, category=category, stacklevel=stacklevel + 1)


def debug(msg: str, *args: object) -> None:
    """Print a message to stderr if `min_level` is at most `DEBUG` (a function of Gym 0.26)."""
    if min_level <= DEBUG:
        print(f"DEBUG: {_formatted(msg, args)}", file=sys.stderr)


def info(msg: str, *args: object) -> None:
    """Print a message to stderr if `min_level` is at most `INFO` (a function of Gym 0.26)."""
    if min_level <= INFO:
        print(f"INFO: {_formatted(msg, args)}", file=sys.stderr)


def deprecation(msg: str, *args: object) -> None:
    """Issue a `DeprecationWarning`.

    Args:
        msg: The text, with `%` placeholders for `args`.
        *args: Values for the placeholders.
    """
    warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Report an error that does not stop the program, in red, if `min_level` is at most `ERROR`.

    Args:
        msg: The text, with `%` placeholders for `args`.
        *args: Values for the placeholders.
    """
    if min_level <= ERROR:
        text = f"\x1b[31mERROR: {_formatted(msg, args)}\x1b[0m"  # red
        warnings.warn(text, stacklevel=2)
