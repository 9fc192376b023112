"""Files of compiled code and converted classes: with a digest, in folders private to the user.

A file contains the SHA-256 digest of the rest. Compiled code is JSON with the name, the symbol, the
object code and the LLVM bitcode (in base 64) of each loop.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from base64 import b64decode, b64encode
from pathlib import Path

from gymcore import logger
from gymcore.base.new_file import NewFile

__all__ = [
    "Code",
    "cached_file",
    "is_private",
    "read_code",
    "read_file",
    "write_code",
    "write_file",
]

# A library in Numba's serialized form: its name, "object", and object code and bitcode.
Library = tuple[str, str, tuple[bytes, bytes]]
Code = dict[str, tuple[Library, str]]

_DIGEST_BYTES = hashlib.sha256().digest_size


def cached_file(name: str) -> Path:
    """Return the path of a file in `GYMCORE_CACHE_DIR` or a folder of the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("GYMCORE_CACHE_DIR") or cache / "gymcore" / "jit") / name


def read_file(path: Path) -> bytes | None:
    """Return what `write_file` wrote, or None if the file is missing or damaged.

    If others can write to the folder or file, warn and do not load it.
    """
    try:
        with path.open("rb") as file:
            for location in (path.parent, file.fileno()):
                if not is_private(os.stat(location)):
                    logger.warn(
                        f"{path.parent}: expected a folder and files that belong to you and nobody "
                        "else can write to; compiled code is not loaded from there"
                    )
                    return None
            data = file.read()
    except OSError:
        return None
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None


def write_file(path: Path, content: bytes) -> None:
    """Write a file; do nothing if the folder is not writable."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(os.stat(path.parent)):
            with NewFile(path) as new:
                new.part.write_bytes(hashlib.sha256(content).digest() + content)
                new.part.chmod(0o600)


def read_code(path: Path) -> Code | None:
    """Return library and symbol of each loop, or None; see `read_file`."""
    text = read_file(path)
    if text is None:
        return None
    return {
        name: ((library, "object", (b64decode(code), b64decode(bitcode))), symbol)
        for name, (library, symbol, code, bitcode) in json.loads(text).items()
    }


def write_code(path: Path, code: Code) -> None:
    """Write a file of compiled code; see `write_file`."""
    loops = {
        name: (library, symbol, *(b64encode(blob).decode() for blob in blobs))
        for name, ((library, _, blobs), symbol) in code.items()
    }
    write_file(path, json.dumps(loops).encode())


def is_private(status: os.stat_result) -> bool:
    """Return whether a folder or file is owned by the user or root and not writable by others."""
    if not hasattr(os, "geteuid"):  # on Windows, a user's folder is private by default
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
