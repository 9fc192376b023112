"""Errors and warnings of the sub-commands."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path


class CliError(Exception):
    """A request that cannot be fulfilled; `main` prints it on one line and returns 2."""


@contextlib.contextmanager
def file_errors(option: str, path: Path) -> Iterator[None]:
    """Convert an `OSError` while the file of `option` is written to a `CliError`.

    Examples:
        >>> with file_errors("--out", Path("no/file")):
        ...     open("no/file", "w")
        Traceback (most recent call last):
        gymcore.cli.errors.CliError: --out: cannot write no/file: No such file or directory
    """
    try:
        yield
    except FileExistsError as error:
        raise CliError(f"{option}: {error}; --overwrite replaces it") from error
    except OSError as error:
        raise CliError(f"{option}: cannot write {path}: {error.strerror or error}") from error


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings on one line of stderr, without the file that issued them.

    Colors are kept on a terminal, unless `NO_COLOR` is set.
    """
    colored = sys.stderr.isatty() and not os.environ.get("NO_COLOR")

    def show(message: Warning | str, *where: object, **options: object) -> None:
        text = " ".join(str(message).split())
        if not colored:
            text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        print(f"gymcore: {text}", file=sys.stderr)

    previous = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = previous
