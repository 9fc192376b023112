"""Files of compiled code: with a digest, without pickles, and in folders private to the user.

A file contains the SHA-256 digest of the rest, which is JSON with the name, the symbol, the object
code and the LLVM bitcode (in base 64) of each loop.
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

__all__ = ["Code", "is_private", "read_code", "write_code"]

# A library in Numba's serialized form: its name, "object", and object code and bitcode.
Library = tuple[str, str, tuple[bytes, bytes]]
Code = dict[str, tuple[Library, str]]

_DIGEST_BYTES = hashlib.sha256().digest_size


def read_code(path: Path) -> Code | None:
    """Return library and symbol of each loop, or None if the file is missing or damaged.

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
    digest, text = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.sha256(text).digest() != digest:
        return None
    return {
        name: ((library, "object", (b64decode(code), b64decode(bitcode))), symbol)
        for name, (library, symbol, code, bitcode) in json.loads(text).items()
    }


def write_code(path: Path, code: Code) -> None:
    """Write a file; do nothing if the folder is not writable."""
    loops = {
        name: (library, symbol, *(b64encode(blob).decode() for blob in blobs))
        for name, ((library, _, blobs), symbol) in code.items()
    }
    text = json.dumps(loops).encode()
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(os.stat(path.parent)):
            with NewFile(path) as new:
                new.part.write_bytes(hashlib.sha256(text).digest() + text)
                new.part.chmod(0o600)


def is_private(status: os.stat_result) -> bool:
    """Return whether a folder or file is owned by the user or root and not writable by others."""
    if not hasattr(os, "geteuid"):  # on Windows, a user's folder is private by default
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
