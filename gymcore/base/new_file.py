"""Files that are written under a temporary name in the same folder, and then renamed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np


def check_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise an `OSError` if no file can be made at `path`.

    The name must be free or, with `overwrite`, that of a regular file; symbolic links are not
    followed. The folder must exist and be writable.
    """
    path = Path(path)
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"directory {path.parent} does not exist") from None
    else:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path} is a directory")
        if not stat.S_ISREG(mode):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
            raise OSError(f"{path} is {kind}: only regular files are replaced")
        if not overwrite:
            raise FileExistsError(f"{path} exists already")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"the directory {path.parent} is not writable")


class NewFile:
    """A temporary file that gets its final name when it is finished.

    Until then, and after a failure, an existing file is unchanged. As a context manager, it is
    finished at the end of the block, and discarded after an exception. If the object is collected,
    its temporary file is removed.

    Attributes:
        path: The absolute path of the file.
        part: Path of the temporary file, which is empty at first and has a random name.

    Examples:
        >>> with NewFile("text.txt") as file:
        ...     print(file.part.write_text("all of it"), file.path.exists())
        9 False
        >>> file.path.read_text()
        'all of it'
    """

    _owner = 0  # the process that made the temporary file

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Make the temporary file; raise `OSError` as `check_target` does."""
        check_target(path, overwrite=overwrite)
        self.path = Path(path).absolute()
        self.part = self.path.with_name(f".{secrets.token_hex(8)}.part")
        self._overwrite = overwrite
        self._owner = os.getpid()
        self.part.open("xb").close()  # "x" does not follow links

    def __del__(self) -> None:
        """Remove the temporary file, for example if a signal handler raised before `with` began."""
        if self._owner == os.getpid():  # not a copy in a forked child
            self.discard()

    def finish(self) -> None:
        """Rename the file; raise `OSError`, as `check_target` does, if the name is now taken."""
        check_target(self.path, overwrite=self._overwrite)
        if not self._overwrite:
            try:
                os.link(self.part, self.path)  # fails if the file exists by now
                self.discard()
                return
            except FileExistsError:
                raise FileExistsError(f"{self.path} exists already") from None
            except OSError:
                pass  # no hard links on this file system
        os.replace(self.part, self.path)

    def discard(self) -> None:
        """Remove the temporary file, if it exists."""
        self.part.unlink(missing_ok=True)

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.discard()


def write_npz(
    path: str | os.PathLike[str], arrays: dict[str, np.ndarray], *, overwrite: bool
) -> None:
    """Write a .npz file, which appears when it is complete; raise `OSError` as `NewFile` does."""
    with NewFile(path, overwrite=overwrite) as new, new.part.open("wb") as file:
        save: Callable[..., None] = np.savez
        save(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
