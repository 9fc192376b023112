"""Messages as frames: a header in msgpack, and the bytes of each large array.

Small arrays are in the header: each frame takes some 20 us of a round trip. Nothing on the wire is
a pickle, names code or carries a type of its own. What is decoded is checked first: the size of the
header, how many values it has and how deeply they are nested, the dtype of an array against
`DTYPES`, and its shape against the length of its bytes.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument

try:
    import msgpack
except ImportError:  # `load_zmq` says what to install
    msgpack = None

__all__ = [
    "DTYPES",
    "MAX_DEPTH",
    "MAX_HEADER_BYTES",
    "MAX_VALUES",
    "decode",
    "encode",
    "message_hash",
]

DTYPES = frozenset(
    ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
)
"""The dtypes of arrays that travel, as NumPy writes them: bools and numbers."""

MAX_HEADER_BYTES = 1 << 20
MAX_SMALL_BYTES = 4096
MAX_SMALL_ARRAYS = 64
MAX_VALUES = 100_000
MAX_DEPTH = 32
MAX_AXES = 32

Frame = bytes | memoryview

# Names by dtypes of this machine's byte order, dtypes by names, and what is itself in the header.
_NAMES = {np.dtype(name).newbyteorder("="): name for name in DTYPES}
_DTYPES = {name: np.dtype(name) for name in DTYPES}
_PLAIN = frozenset((type(None), bool, int, float, str))

# A list's first item says what it stands for.
ARRAY, OBJECTS, SCALAR, LIST, TUPLE = range(5)


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
        >>> frames = encode({"x": np.zeros(3), "y": (1, None)})
        >>> len(frames), decode(frames)
        (1, {'x': array([0., 0., 0.]), 'y': (1, None)})
    """
    encoder = _Encoder()
    header = msgpack.packb(encoder.value(message, 0))
    if len(header) > MAX_HEADER_BYTES:
        raise InvalidArgument(
            f"message: expected at most {MAX_HEADER_BYTES} bytes beside arrays, got {len(header)}"
        )
    return [header, *encoder.frames]


class _Encoder:
    """Collects the bytes of large arrays, and counts the small ones."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.small = 0

    def value(self, value: Any, depth: int) -> Any:
        """Return a value as msgpack has it."""
        if depth > MAX_DEPTH:
            raise InvalidArgument(f"message: expected at most {MAX_DEPTH} levels of nesting")
        kind = type(value)
        if kind in _PLAIN:
            return value
        if isinstance(value, np.ndarray):
            return self.array(value, depth)
        if isinstance(value, (list, tuple)):
            tag = LIST if isinstance(value, list) else TUPLE
            return [tag, *[self.value(item, depth + 1) for item in value]]
        if isinstance(value, dict):
            for key in value:
                if type(key) is not str:
                    raise ArgumentTypeError(f"message: expected strings as keys, got {key!r}")
            return {key: self.value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, np.generic):
            return [SCALAR, _name(value.dtype), value.item()]
        raise ArgumentTypeError(f"message: expected numbers, strings and arrays, got {kind}")

    def array(self, array: npt.NDArray[Any], depth: int) -> list[Any]:
        if array.dtype.kind in "OU":
            items = [self.value(item, depth + 1) for item in array.ravel().tolist()]
            return [OBJECTS, array.shape, items]
        name = _name(array.dtype)
        array = np.asarray(array, name, order="C")
        if array.nbytes <= MAX_SMALL_BYTES and self.small < MAX_SMALL_ARRAYS:
            self.small += 1
            return [ARRAY, name, array.shape, array.tobytes()]
        self.frames.append(array.data.cast("B") if array.size else b"")
        return [ARRAY, name, array.shape]


def _name(dtype: np.dtype[Any]) -> str:
    name = _NAMES.get(dtype) or _NAMES.get(dtype.newbyteorder("="))
    if name is None:
        raise ArgumentTypeError(f"message: expected numbers or bools, got {dtype}")
    return name


def decode(frames: Sequence[Frame]) -> Any:
    """Return the message of some frames; its arrays are the caller's own.

    Raises:
        InvalidArgument: if the frames are not what `encode` returns; nothing has been allocated for
            what is wrong.
    """
    if not frames or len(frames[0]) > MAX_HEADER_BYTES:
        raise InvalidArgument("message: expected a header of at most 1 MiB")
    try:
        header = msgpack.unpackb(
            frames[0],
            strict_map_key=True,
            max_ext_len=0,
            max_bin_len=MAX_SMALL_BYTES,
            max_array_len=MAX_VALUES,
            max_map_len=MAX_VALUES,
        )
    except Exception as problem:
        raise InvalidArgument(f"message: expected a header in msgpack ({problem})") from None
    decoder = _Decoder(frames[1:])
    message = decoder.value(header, 0)
    if decoder.used != len(frames) - 1:
        raise InvalidArgument(f"message: expected {decoder.used} arrays, got {len(frames) - 1}")
    return message


def message_hash(message: Any) -> str:
    """Return SHA-256 of a message, as `encode` writes it.

    Example:
        >>> message_hash({"num_envs": 3})[:8]
        '8018b101'
    """
    return hashlib.sha256(b"".join(encode(message))).hexdigest()


class _Decoder:
    """Takes the arrays of a message in their order, and counts values."""

    def __init__(self, arrays: Sequence[Frame]) -> None:
        self.arrays = arrays
        self.used = 0
        self.values = 0

    def value(self, value: Any, depth: int) -> Any:
        self.values += 1
        if depth > MAX_DEPTH or self.values > MAX_VALUES:
            raise InvalidArgument(
                f"message: expected at most {MAX_VALUES} values in {MAX_DEPTH} levels"
            )
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is dict:
            return {
                _checked(key, str, "a key"): self.value(item, depth + 1)
                for key, item in value.items()
            }
        _checked(value, list, "a number, a string, a list or a map")
        tag = _checked(value[0] if value else None, int, "a tag")
        if tag == LIST:
            return [self.value(item, depth + 1) for item in value[1:]]
        if tag == TUPLE:
            return tuple([self.value(item, depth + 1) for item in value[1:]])
        if tag == ARRAY and len(value) == 4:
            small = _checked(value[3], bytes, "the bytes of an array")
            return _array(_checked_dtype(value[1]), _checked_shape(value[2]), small)
        if len(value) != 3:
            raise InvalidArgument(f"message: expected a tag and two values, got {len(value)}")
        if tag == ARRAY:
            return self.array(_checked_dtype(value[1]), _checked_shape(value[2]))
        if tag == OBJECTS:
            return self.objects(_checked_shape(value[1]), _checked(value[2], list, "items"), depth)
        if tag == SCALAR:
            return _scalar(_checked_dtype(value[1]), value[2])
        raise InvalidArgument(f"message: expected a tag below 5, got {tag}")

    def array(self, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        if self.used == len(self.arrays):
            raise InvalidArgument(f"message: expected more than {self.used} arrays")
        frame = self.arrays[self.used]
        self.used += 1
        return _array(dtype, shape, frame)

    def objects(self, shape: tuple[int, ...], items: list[Any], depth: int) -> npt.NDArray[Any]:
        if math.prod(shape) != len(items):
            raise InvalidArgument(f"message: expected items of {shape}, got {len(items)}")
        array = np.empty(len(items), object)
        for k, item in enumerate(items):
            array[k] = self.value(item, depth + 1)
        return array.reshape(shape)


def _array(name: str, shape: tuple[int, ...], data: Frame) -> npt.NDArray[Any]:
    dtype = _DTYPES[name]
    size = math.prod(shape) * dtype.itemsize
    if len(data) != size:
        raise InvalidArgument(f"message: expected {size} bytes of {name} {shape}, got {len(data)}")
    array: npt.NDArray[Any] = np.ndarray(shape, dtype, data)
    return array.copy() if sys.byteorder == "little" else array.astype(dtype.newbyteorder("="))


def _checked(value: Any, kind: type, what: str) -> Any:
    if type(value) is not kind:
        raise InvalidArgument(f"message: expected {what}, got {type(value)}")
    return value


def _checked_dtype(value: Any) -> str:
    if type(value) is not str or value not in _DTYPES:
        raise InvalidArgument(f"message: expected a dtype of {sorted(DTYPES)}, got {value!r:.40}")
    return value


def _checked_shape(value: Any) -> tuple[int, ...]:
    axes = _checked(value, list, "a shape")
    for n in axes:
        if type(n) is not int or not 0 <= n < 2**48:
            raise InvalidArgument(f"message: expected a shape, got {axes!r:.80}")
    if len(axes) > MAX_AXES:
        raise InvalidArgument(f"message: expected at most {MAX_AXES} axes, got {len(axes)}")
    return tuple(axes)


def _scalar(dtype: str, value: Any) -> Any:
    try:
        with np.errstate(all="ignore"):  # a float too large is infinite
            return np.array(_checked_number(value), dtype)[()]
    except (OverflowError, ValueError):
        raise InvalidArgument(f"message: expected a number of {dtype}, got {value!r:.40}") from None


def _checked_number(value: Any) -> Any:
    if type(value) not in (bool, int, float):
        raise InvalidArgument(f"message: expected a number, got {type(value)}")
    return value
