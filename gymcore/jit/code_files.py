"""Compiled code in files: no pickles, with a digest, and only from folders that are the user's own.

A file has the SHA-256 of what follows, the length of a header, the header (JSON: name, symbol and
sizes of each loop), and the loops' object code and LLVM bitcode.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from gymcore import logger
from gymcore.base.new_file import NewFile

__all__ = ["Code", "is_private", "read_code", "write_code"]

# A library as Numba serializes it: its name, "object", and object code and bitcode.
Library = tuple[str, str, tuple[bytes, bytes]]
Code = dict[str, tuple[Library, str]]

_DIGEST, _LENGTH = hashlib.sha256().digest_size, 8


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
    return _decoded(data)


def write_code(path: Path, code: Code) -> None:
    """Write a file; without a folder to write to, nothing is kept."""
    header, parts = {}, b""
    for name, ((library, _, blobs), symbol) in code.items():
        header[name] = [library, symbol, *map(len, blobs)]
        parts += b"".join(blobs)
    text = json.dumps(header).encode()
    content = len(text).to_bytes(_LENGTH, "little") + text + parts
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(os.stat(path.parent)):
            with NewFile(path) as new:
                new.part.write_bytes(hashlib.sha256(content).digest() + content)
                new.part.chmod(0o600)


def is_private(status: os.stat_result) -> bool:
    """Return whether a folder or file is the user's or root's, and nobody else can write to it."""
    if not hasattr(os, "geteuid"):  # Windows: a folder of the user's is by default
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _decoded(data: bytes) -> Code | None:
    content = data[_DIGEST:]
    if hashlib.sha256(content).digest() != data[:_DIGEST]:
        return None
    length = int.from_bytes(content[:_LENGTH], "little")
    header: dict[str, Any] = json.loads(content[_LENGTH : _LENGTH + length])
    code, at = {}, _LENGTH + length
    for name, (library, symbol, *sizes) in header.items():
        first, second = (at, at + sizes[0]), (at + sizes[0], at + sum(sizes))
        blobs = content[slice(*first)], content[slice(*second)]
        code[name] = (library, "object", blobs), symbol
        at = second[1]
    return code
