"""The checksum of saved lanes, recomputed for records that a test has changed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PRIME = np.uint64(0x100000001B3)
START = np.uint64(0xCBF29CE484222325) + np.arange(4, dtype=np.uint64)


def digests_of(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Digest each row: FNV-1a over four interleaved 8-byte words, then the rest and the words."""
    whole = rows.shape[1] // 32 * 32
    words = np.ascontiguousarray(rows[:, :whole]).view(np.uint64).reshape(len(rows), -1, 4)
    values = np.tile(START, (len(rows), 1))
    for index in range(words.shape[1]):
        values ^= words[:, index]
        values *= PRIME
    first = values[:, 0]
    for column in (*rows[:, whole:].T, *values[:, 1:].T):
        first ^= column
        first *= PRIME
    return first ^ (first >> np.uint64(29))


def digest_of(data: bytes) -> int:
    """Digest bytes."""
    return int(digests_of(np.frombuffer(data, np.uint8)[None])[0])


def sign(records: np.ndarray) -> None:
    """Recompute the checksums of changed records: each covers the fields that follow it."""
    names = records.dtype.names or ()
    for name in names:
        if name == "digest":
            data = np.ascontiguousarray(records)
            rows = data.view(np.uint8).reshape(len(data), -1)
            records[name] = digests_of(rows[:, records.dtype[name].itemsize :])
        elif records.dtype[name].names:
            sign(records[name])
