"""Messages as frames: a header in msgpack, and the bytes of each large array.

Small arrays are in the header: each frame takes some 20 us of a round trip. Nothing on the wire is
a pickle, names code or carries a type of its own. What is decoded is checked first: the size of the
header, how many values it has and how deeply they are nested, the dtype of an array against
`DTYPES`, and its shape against the length of its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore_ext import wire

__all__ = ["DTYPES", "decode", "encode", "message_hash"]

DTYPES = frozenset(wire.DTYPES)
"""The dtypes of arrays that travel, as NumPy writes them: bools and numbers."""

Frame = bytes | memoryview


def encode(message: Any) -> list[Frame]:
    """Return the frames of a message.

    Args:
        message: None, a bool, a number, a string, an array or scalar of NumPy, or a list, a tuple
            or a dict with strings as keys, of these. Arrays of objects hold such values.

    Returns:
        The header, and the bytes of each large array in their order, which are not copied.

    Raises:
        ArgumentTypeError: if there is anything else in the message.
        InvalidArgument: if it is too large or nested too deeply.

    Example:
        >>> import numpy as np
        >>> frames = encode({"x": np.zeros(3), "y": (1, None)})
        >>> len(frames), decode(frames)
        (1, {'x': array([0., 0., 0.]), 'y': (1, None)})
    """
    try:
        return wire.encode(message)
    except TypeError as problem:
        raise ArgumentTypeError(str(problem)) from None
    except ValueError as problem:
        raise InvalidArgument(str(problem)) from None


def decode(frames: Sequence[Frame]) -> Any:
    """Return the message of some frames; its arrays are the caller's own.

    Raises:
        InvalidArgument: if the frames are not what `encode` returns; nothing has been allocated for
            what is wrong.
    """
    try:
        return wire.decode(list(frames))
    except ValueError as problem:
        raise InvalidArgument(str(problem)) from None


def message_hash(message: Any) -> str:
    """Return SHA-256 of a message, as `encode` writes it.

    Example:
        >>> message_hash({"num_envs": 3})[:8]
        '8018b101'
    """
    return hashlib.sha256(b"".join(encode(message))).hexdigest()
