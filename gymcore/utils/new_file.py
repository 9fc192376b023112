"""Files that appear whole: written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

__all__ = ["NewFile", "check_target"]


def check_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise an `OSError` unless a file can be made at `path`.

    The name must be free, or with `overwrite` that of a regular file; a symbolic link is not
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
    """A temporary file that takes its name when it is finished.

    Until then, and after a failure, there is what was there before. As a context manager it is
    finished at the end of the block, and discarded after an exception. The temporary file of an
    object that is collected is removed.

    Attributes:
        path: The absolute path of the file.
        part: Path of the temporary file: empty, in the same folder, with a random name.

    Example:
        >>> with NewFile("text.txt") as file:
        ...     print(file.part.write_text("all of it"), file.path.exists())
        9 False
        >>> file.path.read_text()
        'all of it'
    """

    _owner = 0  # process that makes the temporary file

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Make the temporary file; an `OSError` as for `check_target`."""
        check_target(path, overwrite=overwrite)
        self.path = Path(path).absolute()
        self.part = self.path.with_name(f".{secrets.token_hex(8)}.part")
        self._overwrite = overwrite
        self._owner = os.getpid()
        self.part.open("xb").close()  # "x" does not follow links

    def __del__(self) -> None:
        """Remove the temporary file, as where a signal handler raises before `with` begins."""
        if self._owner == os.getpid():  # not a copy in a forked child
            self.discard()

    def finish(self) -> None:
        """Rename the file; an `OSError` if the name is not free any more, as for `check_target`."""
        check_target(self.path, overwrite=self._overwrite)
        if not self._overwrite:
            try:
                os.link(self.part, self.path)  # fails if a file has come there since
                self.discard()
                return
            except FileExistsError:
                raise FileExistsError(f"{self.path} exists already") from None
            except OSError:
                pass  # no hard links on this file system
        os.replace(self.part, self.path)

    def discard(self) -> None:
        """Remove the temporary file, if it is there."""
        self.part.unlink(missing_ok=True)

    def __enter__(self) -> NewFile:
        """Return the file."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Finish the file, or discard it after an exception."""
        try:
            if kind is None:
                self.finish()
        finally:
            self.discard()
