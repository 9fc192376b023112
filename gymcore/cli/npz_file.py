"""Writing a .npz file in one piece, after checking that it can be written at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.cli.common import CliError, byte_count


def check_target(path: Path, *, overwrite: bool, size: int) -> None:
    """Refuse a file that could not be written, before the first step is made.

    Args:
        path: Where the file will go.
        overwrite: Whether an existing file may be replaced.
        size: Bytes that it will take.

    Raises:
        CliError: If the file exists and may not be replaced, if its folder is missing or not
            writable, or if the disk is too full.
    """
    if path.is_dir():
        raise CliError(f"--out: {path} is a directory")
    if path.exists() and not overwrite:
        raise CliError(f"--out: {path} exists already; --overwrite replaces it")
    folder = path.parent
    if not folder.is_dir():
        raise CliError(f"--out: there is no directory {folder}")
    if not os.access(folder, os.W_OK):
        raise CliError(f"--out: the directory {folder} is not writable")
    free = shutil.disk_usage(folder).free
    if size > free:
        raise CliError(f"--out: {byte_count(size)} needed, {byte_count(free)} free in {folder}")


def save(path: Path, arrays: dict[str, npt.NDArray[Any]], *, overwrite: bool) -> int:
    """Write the file in one piece: readers see the whole new file, or what was there before.

    Args:
        path: The file to write.
        arrays: Key -> array.
        overwrite: Whether a file that is there by now may be replaced.

    Returns:
        The size of the file [bytes].

    Raises:
        CliError: If the file appeared in the meantime, or cannot be written.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp's are private, a user's files are not
        if overwrite:
            os.replace(temporary, path)
        else:
            # A link fails where the file exists, so that a race cannot lose somebody's data.
            _link(temporary, path)
        return path.stat().st_size
    except OSError as error:
        raise CliError(f"--out: cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _link(temporary: str, path: Path) -> None:
    """Give the file its name if the name is free."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise CliError(f"--out: {path} exists already; --overwrite replaces it") from None
    except OSError:
        # No hard links on this file system: check and rename.
        if path.exists():
            raise CliError(f"--out: {path} exists already; --overwrite replaces it") from None
        os.replace(temporary, path)
