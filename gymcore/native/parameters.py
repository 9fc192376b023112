"""Attributes of an environment for the constructor parameters of compiled physics."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, Self, SupportsFloat, SupportsIndex, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore_ext.engine.batch import Batch

# Sizes, names and defaults of a kernel; see `gymcore_ext.engine.kernels.kernel_spec`.
KernelSpec: TypeAlias = dict[str, Any]
Number: TypeAlias = SupportsFloat | SupportsIndex | str
# Function from a value to one float64 for each column.
Encode: TypeAlias = Callable[..., tuple[float, ...]]
Value = TypeVar("Value", default=float, covariant=True)


class Lane(Protocol):
    """A lane of a batch: a single environment or a lane of a vector environment."""

    _batch: Batch
    _lane: int

    def _own_batch(self) -> Batch: ...


def batch_of(env: Lane) -> Batch:
    """Return the batch; create it if a subclass's constructor has not called `NativeEnv`'s."""
    # Not `env.__dict__`, which would make every later access to an attribute slower.
    try:
        return env._batch
    except AttributeError:
        env._batch = env._own_batch()
        return env._batch


def as_float(value: Number) -> float:
    """Return any number as a float; infinity for one that is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"expected a number, got {value!r} ({type(value)})") from None


def as_number(value: Number) -> tuple[float, ...]:
    """Return a finite number as the only column of a parameter."""
    number = as_float(value)
    if not math.isfinite(number):
        raise InvalidArgument(f"expected a finite number, got {value}")
    return (number,)


def as_positive(value: Number) -> tuple[float, ...]:
    """Return a finite number above zero as the only column of a parameter."""
    (number,) = as_number(value)
    if number <= 0.0:
        raise InvalidArgument(f"expected a number above 0, got {number}")
    return (number,)


def as_flag(value: object) -> tuple[float, ...]:
    """Return a bool, or a number as a bool, as the only column of a parameter."""
    if not isinstance(value, (bool, int, float, np.generic)):
        raise ArgumentTypeError(f"expected True or False, got {value!r} ({type(value)})")
    return (float(bool(value)),)


def one_of(*choices: str) -> Encode:
    """Return a function that encodes a choice as its index."""

    def encode(value: str) -> tuple[float, ...]:
        if value not in choices:
            raise InvalidArgument(f"expected one of {choices}, got {value!r}")
        return (float(choices.index(value)),)

    return encode


def first(columns: Sequence[float]) -> float:
    """Return the number of a parameter with one column."""
    return columns[0]


class Parameter(Generic[Value]):
    """An attribute of an environment that is stored in parameter columns of its batch.

    Read on the class, it is the default value. A value that is assigned to the class, or to a
    subclass, is the default of the environments that are made from then on. On a lane of a vector
    environment, it reads and writes that lane's value.
    """

    default: Value | None = None
    """The default value; None for the kernel's."""

    def __init__(
        self,
        *columns: str,
        encode: Encode = as_number,
        decode: Callable[[Sequence[float]], Value] | None = None,
    ) -> None:
        """Set the columns and the conversions.

        Args:
            *columns: Names of kernel parameters; none if there is one with the attribute's name.
            encode: Function that returns the columns of a value, or raises if it is invalid.
            decode: Function that returns the value of columns; by default, of the only one.
        """
        self.columns = columns
        self.encode = encode
        self.decode = decode or cast("Callable[[Sequence[float]], Value]", first)
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.columns = self.columns or (name,)

    def with_default(self, value: object) -> Self:
        """Return a parameter with another default; raise if it is invalid."""
        other = copy.copy(self)
        other.encoded(value)
        other.default = cast("Value", value)
        return other

    def rows(self, kernel_spec: KernelSpec) -> list[int]:
        """Return the rows of the columns in the kernel's parameters; raise if one is missing."""
        names = list(kernel_spec["parameters"])
        if missing := [column for column in self.columns if column not in names]:
            raise InvalidArgument(
                f"{self.name}: expected parameters of kernel {kernel_spec['name']!r}, which has "
                f"{names}, got {missing}"
            )
        return [names.index(column) for column in self.columns]

    def encoded(self, value: object) -> tuple[float, ...]:
        """Return the columns of a value; errors name the parameter."""
        try:
            return self.encode(value)
        except (InvalidArgument, ArgumentTypeError) as error:
            raise type(error)(f"{self.name}: {error}") from None

    def __get__(self, env: Lane | None, owner: Any) -> Value:
        """Return the lane's value, or the default if read on the class."""
        if env is None:
            if self.default is not None:
                return self.default
            defaults = list(owner.kernel_spec()["parameters"].values())
            return self.decode([defaults[row] for row in self.rows(owner.kernel_spec())])
        batch = batch_of(env)
        values = batch.get_parameters()
        column = 0 if values.shape[1] == 1 else env._lane
        return self.decode(values[self.rows(batch.spec), column].tolist())

    def __set__(self, env: Lane, value: object) -> None:
        write_parameter(batch_of(env), self, [value], [env._lane])


def flag() -> Parameter[bool]:
    """Return a parameter that is True or False."""
    return Parameter(encode=as_flag, decode=lambda columns: bool(columns[0]))


def whole(minimum: int, maximum: int) -> Parameter[int]:
    """Return the parameter of an integer in [minimum, maximum]."""

    def encode(value: Any) -> tuple[float, ...]:
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_integer or not minimum <= value <= maximum:
            raise InvalidArgument(f"expected an integer in [{minimum}, {maximum}], got {value!r}")
        return (float(value),)

    return Parameter(encode=encode, decode=lambda columns: int(columns[0]))


class Derived:
    """An attribute that is computed from parameters: it can only be set to its own value."""

    def __init__(self, value: Callable[..., float], formula: str) -> None:
        self.value = value
        self.formula = formula
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: object, owner: type) -> float:
        return self.value(owner if env is None else env)

    def __set__(self, env: object, value: Number) -> None:
        """Accept the current value; raise `InvalidArgument` for others."""
        if not math.isclose(float(value), self.value(env), rel_tol=1e-12):
            raise InvalidArgument(
                f"{self.name}: expected {self.formula} = {self.value(env)}, got {value}; set the "
                "parameters of this formula instead"
            )


def write_parameter(
    batch: Batch,
    parameter: Parameter[object],
    values: Sequence[object],
    lanes: Sequence[int] | None,
) -> None:
    """Write one value of a parameter for each of the lanes, or one for all of them (None).

    As long as all lanes have the same values, the batch stores them once, which makes steps faster.
    Nothing changes if a value is invalid for the parameter.
    """
    rows = parameter.rows(batch.spec)
    if lanes is None or batch.num_envs == 1:
        table = batch.get_parameters()
        table[rows] = np.array(parameter.encoded(values[0]), np.float64)[:, None]
        write_table(batch, table)
        return
    encoded = np.array([parameter.encoded(value) for value in values], np.float64).T
    table = np.repeat(current := batch.get_parameters(), batch.num_envs // current.shape[1], axis=1)
    table[np.ix_(rows, lanes)] = encoded
    write_table(batch, table)


def write_table(batch: Batch, table: npt.NDArray[np.float64]) -> None:
    """Set a batch's parameters [parameter_count, num_envs]; one column if all lanes are equal."""
    if (table == table[:, :1]).all():
        table = table[:, :1]
    batch.set_parameters(np.ascontiguousarray(table))
