"""Encoding of messages as frames: a header in msgpack, and the bytes of each large array.

Small arrays are in the header, because each frame adds about 20 us to a round trip. Messages
contain no pickles, no names of code and no custom types. Before decoding, the size of the header,
the number and nesting depth of its values, the dtypes of arrays (against `DTYPES`) and their shapes
(against the number of bytes) are checked.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from gymcore.base.optional_packages import pip_install
from gymcore.error import ArgumentTypeError, DependencyNotInstalled, InvalidArgument
from gymcore.spaces.space import Array, DType

try:
    import msgpack
except ImportError:  # `check_msgpack` raises an error that names the package
    msgpack = None

DTYPES = frozenset(
    ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
)
"""Dtypes of arrays that can be sent, in NumPy's notation: bools and numbers."""

MAX_HEADER_BYTES = 1 << 20
MAX_SMALL_BYTES = 4096
MAX_SMALL_ARRAYS = 64
MAX_VALUES = 100_000
MAX_DEPTH = 32

Frame = bytes | memoryview
T = TypeVar("T")

# Names by native dtypes, dtypes by names, and types that the header contains unchanged.
_DTYPE_NAMES = {np.dtype(name).newbyteorder("="): name for name in DTYPES}
_DTYPES: dict[object, DType] = {name: np.dtype(name) for name in DTYPES}
_UNCHANGED_TYPES = frozenset((type(None), bool, int, float, str))

# Tags: the first item of a list is the type of value that it encodes.
ARRAY, OBJECTS, SCALAR, LIST, TUPLE = range(5)


def check_msgpack() -> None:
    """Raise `DependencyNotInstalled` if msgpack is missing."""
    if msgpack is None:
        raise DependencyNotInstalled(f"msgpack is not installed, run `{pip_install('msgpack')}`")


def encode(message: object) -> list[Frame]:
    """Return the frames of a message.

    Args:
        message: None, a bool, number, string, NumPy array or NumPy scalar; or a list, tuple or dict
            with string keys of such values. Object arrays may contain such values.

    Returns:
        The header, and the bytes of each large array in order, which are not copied.

    Raises:
        ArgumentTypeError: If the message contains anything else.
        InvalidArgument: If it is too large or nested too deeply, or contains an integer of more
            than 64 bits or a string that is not valid Unicode.

    Examples:
        >>> frames = encode({"x": np.zeros(3), "y": (1, None)})
        >>> len(frames), decode(frames)
        (1, {'x': array([0., 0., 0.]), 'y': (1, None)})
    """
    encoder = _Encoder()
    value = encoder.value(message, 0)
    try:
        header = msgpack.packb(value)
    except (OverflowError, ValueError) as problem:
        raise InvalidArgument(
            f"message: expected 64-bit integers and UTF-8 strings ({problem})"
        ) from None
    if len(header) > MAX_HEADER_BYTES:
        raise InvalidArgument(
            f"message: expected at most {MAX_HEADER_BYTES} bytes besides arrays, got {len(header)}"
        )
    return [header, *encoder.frames]


class _Encoder:
    """Encodes values, collects the bytes of large arrays and counts small arrays."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.num_small = 0

    def value(self, value: object, depth: int) -> object:
        """Return a value in the form that is packed with msgpack."""
        if type(value) in _UNCHANGED_TYPES:
            return value
        if depth > MAX_DEPTH:
            raise InvalidArgument(f"message: expected at most {MAX_DEPTH} levels of nesting")
        if isinstance(value, np.ndarray):
            return self.array(value, depth)
        if isinstance(value, (list, tuple)):
            return [LIST if isinstance(value, list) else TUPLE, *self.values(value, depth)]
        if isinstance(value, dict):
            for key in value:
                if type(key) is not str:
                    raise ArgumentTypeError(f"message: expected strings as keys, got {key!r}")
            return dict(zip(value, self.values(value.values(), depth), strict=True))
        if isinstance(value, np.generic):
            return [SCALAR, dtype_name(value.dtype), value.item()]
        raise ArgumentTypeError(f"message: expected numbers, strings and arrays, got {type(value)}")

    def values(self, values: Iterable[object], depth: int) -> list[object]:
        return [
            item if type(item) in _UNCHANGED_TYPES else self.value(item, depth + 1)
            for item in values
        ]

    def array(self, array: Array, depth: int) -> list[object]:
        if array.dtype.kind in "OU":
            return [OBJECTS, array.shape, self.values(array.ravel().tolist(), depth)]
        name = dtype_name(array.dtype)
        array = np.asarray(array, name, order="C")
        if array.nbytes <= MAX_SMALL_BYTES and self.num_small < MAX_SMALL_ARRAYS:
            self.num_small += 1
            return [ARRAY, name, array.shape, array.tobytes()]
        self.frames.append(array.data.cast("B") if array.size else b"")
        return [ARRAY, name, array.shape]


def dtype_name(dtype: DType) -> str:
    """Return the name of a dtype in messages; raise `ArgumentTypeError` if it cannot be sent."""
    name = _DTYPE_NAMES.get(dtype) or _DTYPE_NAMES.get(dtype.newbyteorder("="))
    if name is None:
        raise ArgumentTypeError(f"message: expected numbers or bools, got {dtype}")
    return name


def decode(frames: Sequence[Frame]) -> Any:
    """Return the message that frames encode; its arrays belong to the caller.

    Raises:
        InvalidArgument: If the frames are not a result of `encode`. No memory is allocated for
            invalid parts.
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
    if decoder.num_used != len(frames) - 1:
        raise InvalidArgument(f"message: expected {decoder.num_used} arrays, got {len(frames) - 1}")
    return message


def message_hash(message: object) -> str:
    """Return the SHA-256 digest of an encoded message.

    Examples:
        >>> message_hash({"num_envs": 3})[:8]
        '8018b101'
    """
    return hashlib.sha256(b"".join(encode(message))).hexdigest()


class _Decoder:
    """Decodes values, takes the arrays of a message in order and counts values."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames
        self.num_used = 0
        self.num_values = 0

    def value(self, value: Any, depth: int) -> object:
        """Return the value that a msgpack value encodes."""
        kind = type(value)
        if kind in _UNCHANGED_TYPES:
            return value
        if kind is not list and kind is not dict:
            raise InvalidArgument(
                f"message: expected a number, a text, a list or a map, got {kind}"
            )
        self.num_values += len(value)
        if depth > MAX_DEPTH or self.num_values > MAX_VALUES:
            raise InvalidArgument(
                f"message: expected at most {MAX_VALUES} values in {MAX_DEPTH} levels"
            )
        if kind is dict:
            for key in value:
                _checked(key, str, "a key")
            return dict(zip(value, self.values(value.values(), depth), strict=True))
        tag = value[0] if value else None
        if type(tag) is not int:
            raise InvalidArgument(f"message: expected a list with a tag, got {value!r:.80}")
        if tag == ARRAY and len(value) == 4:
            return _array(value[1], value[2], value[3])
        if tag == TUPLE:
            return tuple(self.values(value[1:], depth))
        if tag == LIST:
            return self.values(value[1:], depth)
        if len(value) != 3:
            raise InvalidArgument(f"message: expected a tag and two values, got {len(value)}")
        if tag == ARRAY:
            if self.num_used == len(self.frames):
                raise InvalidArgument(f"message: expected more than {self.num_used} arrays")
            self.num_used += 1
            return _array(value[1], value[2], self.frames[self.num_used - 1])
        if tag == OBJECTS:
            return self.objects(value[1], value[2], depth)
        if tag == SCALAR:
            return _scalar(value[1], value[2])
        raise InvalidArgument(f"message: expected a tag below 5, got {tag}")

    def values(self, values: Iterable[object], depth: int) -> list[object]:
        return [
            item if type(item) in _UNCHANGED_TYPES else self.value(item, depth + 1)
            for item in values
        ]

    def objects(self, shape: object, items: object, depth: int) -> Array:
        values = self.values(_checked(items, list, "items"), depth)
        # The values are in memory: check the shape against their number, and that of references.
        template = _array("<i8", shape, bytes(8 * len(values)))
        array = np.empty(len(values), object)
        for k, value in enumerate(values):
            array[k] = value
        return array.reshape(template.shape)


def _array(name: object, shape: Any, data: Frame) -> Array:
    """Return an array with its own memory, which is allocated after all checks."""
    try:
        dtype = _DTYPES[name]
        array: Array = np.ndarray(shape, dtype, memoryview(data))
    except (KeyError, TypeError, ValueError) as problem:
        raise InvalidArgument(
            f"message: expected an array, got {name!r:.40} {shape!r:.80} ({problem})"
        ) from None
    if array.nbytes != len(data) or list(array.shape) != shape:
        raise InvalidArgument(
            f"message: expected {array.nbytes} bytes of {name} {shape!r:.80}, got {len(data)}"
        )
    return array.copy() if sys.byteorder == "little" else array.astype(dtype.newbyteorder("="))


def _checked(value: object, kind: type[T], description: str) -> T:
    if type(value) is kind:
        return value
    raise InvalidArgument(f"message: expected {description}, got {type(value)}")


def _scalar(dtype: object, value: object) -> object:
    try:
        with np.errstate(all="ignore"):  # a float that is too large becomes infinite
            if type(value) not in (bool, int, float):
                raise TypeError
            return np.array(value, _DTYPES[dtype])[()]
    except (KeyError, TypeError, OverflowError, ValueError):
        raise InvalidArgument(f"message: expected a number of {dtype}, got {value!r:.40}") from None
