"""The checksum of saved lanes, computed anew for records that a test has changed."""

from __future__ import annotations

import numpy as np


def digest_of(data: bytes) -> int:
    """FNV-1a over four times eight bytes, the last bytes, then the four."""
    prime, mask = 0x100000001B3, 2**64 - 1
    values = [0xCBF29CE484222325 + k for k in range(4)]
    whole = len(data) // 32 * 32
    for index, word in enumerate(np.frombuffer(data[:whole], np.uint64).tolist()):
        values[index % 4] = (values[index % 4] ^ word) * prime & mask
    for byte in data[whole:]:
        values[0] = (values[0] ^ byte) * prime & mask
    for value in values[1:]:
        values[0] = (values[0] ^ value) * prime & mask
    return values[0] ^ values[0] >> 29
