"""Compiled code in files: no pickles, with a digest, and only from folders that are the user's own.

A file has the SHA-256 of what follows: JSON with the name, the symbol, the object code and the LLVM
bitcode (in base 64) of each loop.
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

# A library as Numba serializes it: its name, "object", and object code and bitcode.
Library = tuple[str, str, tuple[bytes, bytes]]
Code = dict[str, tuple[Library, str]]

_DIGEST = hashlib.sha256().digest_size


def read_code(path: Path) -> Code | None:
    """Return library and symbol of each loop; None if there is no such file, or a damaged one.

    A folder or file that others may write to is left alone, with a warning.
    """
    try:
        with path.open("rb") as file:
            for one in (path.parent, file.fileno()):
                if not is_private(os.stat(one)):
                    logger.warn(
                        f"{path.parent}: expected a folder and files that belong to you and nobody "
                        "else can write to; compiled code is not loaded from there"
                    )
                    return None
            data = file.read()
    except OSError:
        return None
    digest, text = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(text).digest() != digest:
        return None
    return {
        name: ((library, "object", (b64decode(code), b64decode(bitcode))), symbol)
        for name, (library, symbol, code, bitcode) in json.loads(text).items()
    }


def write_code(path: Path, code: Code) -> None:
    """Write a file; without a folder to write to, nothing is kept."""
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
    """Return whether a folder or file is the user's or root's, and nobody else can write to it."""
    if not hasattr(os, "geteuid"):  # Windows: a folder of the user's is by default
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
