"""Quantities of a simulation: expressions that compiled code evaluates in every lane.

A quantity is a vector of float64 of known length. `Simulation` has positions, velocities, all other
arrays of MuJoCo's data and model, and the action. Arithmetic, comparisons, slices and the functions
of this module make new ones. Writing an expression computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument

if TYPE_CHECKING:
    from typing_extensions import Self

# Operations by their numbers in gymcore_ext/mujoco/program.pxd.
Op = IntEnum(
    "Op",
    "COPY ADD SUBTRACT MULTIPLY DIVIDE ABSOLUTE NEGATIVE ROOT SINE COSINE POWER SMALLER LARGER "
    "SELECT LESS LESS_EQUAL FINITE BOTH EITHER NEGATE_TRUTH SUM EVERY WEIGHTED_ROWS UNIFORM NORMAL "
    "REPEAT_UNLESS",
    start=0,
)


class Precision(Enum):
    """What a quantity does to the dtype of an operation, by NumPy's rules of promotion."""

    WEAK = 0  # a Python number or a truth: the other operand decides
    ACTION = 1  # has the dtype of the action: float32 or float64
    FLOAT64 = 2


def _operator(code: int, doc: str, *, swapped: bool = False) -> Callable[..., Quantity]:
    """Return a method for an operator; `swapped` exchanges its operands."""

    def method(self: Quantity, other: Operand) -> Quantity:
        return Computed(code, other, self) if swapped else Computed(code, self, other)

    method.__doc__ = doc
    return method


class Quantity:
    """A vector of `size` float64 numbers; one of size 1 combines with any other.

    `+ - * / **` and comparisons (1.0 where they hold, else 0.0) work element by element, also with
    numbers and arrays; `& | ~` combine truths; `[index]` and `[start:stop:step]` select.

    Costs of an action have its dtype, as in NumPy: what arithmetic, `square`, `total`, `minimum`,
    `maximum`, `clip` and `where` make of actions and Python numbers alone is rounded to float32
    when the actions are float32.

    Example:
        >>> speed = Constant([3.0, 4.0])
        >>> (speed * 2.0)[1:].size, norm(speed).size
        (1, 1)
    """

    # NumPy arrays leave operators to this class.
    __array_ufunc__ = None
    precision = Precision.FLOAT64

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int | slice) -> Quantity:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.size)
            if step < 1:
                raise InvalidArgument(f"index: expected a slice that goes forward, got {index}")
            return Selection(self, start, max(0, -(-(stop - start) // step)), step)
        return Selection(self, range(self.size)[index], 1, 1)

    __add__ = _operator(Op.ADD, "Return the sums.")
    __radd__ = _operator(Op.ADD, "Return the sums.", swapped=True)
    __sub__ = _operator(Op.SUBTRACT, "Return the differences.")
    __rsub__ = _operator(Op.SUBTRACT, "Return the differences.", swapped=True)
    __mul__ = _operator(Op.MULTIPLY, "Return the products.")
    __rmul__ = _operator(Op.MULTIPLY, "Return the products.", swapped=True)
    __truediv__ = _operator(Op.DIVIDE, "Return the quotients.")
    __rtruediv__ = _operator(Op.DIVIDE, "Return the quotients.", swapped=True)
    __pow__ = _operator(Op.POWER, "Return the powers, by C's `pow` as NumPy's scalars.")
    __lt__ = _operator(Op.LESS, "Return where this is less.")
    __le__ = _operator(Op.LESS_EQUAL, "Return where this is less or equal.")
    __gt__ = _operator(Op.LESS, "Return where this is greater.", swapped=True)
    __ge__ = _operator(Op.LESS_EQUAL, "Return where this is greater or equal.", swapped=True)
    __and__ = _operator(Op.BOTH, "Return where both hold.")
    __or__ = _operator(Op.EITHER, "Return where one of them holds.")

    def __neg__(self) -> Quantity:
        return Computed(Op.NEGATIVE, self)

    def __abs__(self) -> Quantity:
        return Computed(Op.ABSOLUTE, self)

    def __invert__(self) -> Quantity:
        return Computed(Op.NEGATE_TRUTH, self)

    def __bool__(self) -> bool:
        raise ArgumentTypeError(
            "a quantity has no value before a simulation runs: use where(), &, | and ~ in place of "
            "if, and, or, not"
        )


Operand = Quantity | float | npt.ArrayLike


class Constant(Quantity):
    """Numbers that never change."""

    def __init__(self, values: npt.ArrayLike) -> None:
        if type(values) in (bool, int, float):
            self.precision = Precision.WEAK
        self.values = np.array(values, np.float64).ravel()
        super().__init__(self.values.size)


class Array(Quantity):
    """An array of MuJoCo's data or model, flat."""

    def __init__(self, owner: str, name: str, size: int) -> None:
        """Name it; `owner` is "data" or "model"."""
        super().__init__(size)
        self.owner = owner
        self.name = name


class Action(Quantity):
    """The action of a step."""

    precision = Precision.ACTION


class Parameter(Quantity):
    """A number of the environment that may differ between lanes; see `CompiledMujocoEnv`."""

    precision = Precision.WEAK

    def __init__(self, name: str) -> None:
        super().__init__(1)
        self.name = name


class Selection(Quantity):
    """Some elements of another quantity."""

    def __init__(self, whole: Quantity, start: int, size: int, step: int) -> None:
        """Take `size` elements from `start`, `step` apart."""
        super().__init__(size)
        self.precision = whole.precision
        self.whole = whole
        self.start = start
        self.step = step


# Operations that return truths, and those that compute in float64. Others follow their operands.
_TRUTHS = {Op.LESS, Op.LESS_EQUAL, Op.FINITE, Op.BOTH, Op.EITHER, Op.NEGATE_TRUTH, Op.EVERY}
_FLOAT64 = {Op.SINE, Op.COSINE, Op.POWER, Op.WEIGHTED_ROWS, Op.UNIFORM, Op.NORMAL}


class Computed(Quantity):
    """The result of an operation on other quantities."""

    def __init__(
        self, code: int, *operands: Operand, size: int | None = None, width: int = 0
    ) -> None:
        """Make the operation; without `size` all operands are as long, or one number.

        Raises:
            InvalidArgument: operands of different lengths.
        """
        self.code = code
        self.operands = tuple(map(as_quantity, operands))
        self.width = width
        if size is None:
            sizes = {item.size for item in self.operands} - {1}
            if len(sizes) > 1:
                lengths = [item.size for item in self.operands]
                raise InvalidArgument(f"quantities: expected equal lengths, got {lengths}")
            size = sizes.pop() if sizes else 1
        if code in _TRUTHS:
            self.precision = Precision.WEAK
        elif code not in _FLOAT64:
            values = self.operands[1:] if code == Op.SELECT else self.operands
            self.precision = max((item.precision for item in values), key=lambda item: item.value)
        super().__init__(size)


class Before(Quantity):
    """A quantity as it was before the step."""

    def __init__(self, quantity: Quantity) -> None:
        super().__init__(quantity.size)
        self.quantity = quantity


class Draw(Computed):
    """Random numbers of a lane, drawn at the beginning of an episode."""

    condition: Quantity | None = None

    def until(self, condition: Callable[[Quantity], Quantity]) -> Self:
        """Draw all of it again until the condition holds.

        Example:
            >>> goal = uniform(-0.2, 0.2, 2).until(lambda drawn: norm(drawn) < 0.2)
        """
        self.condition = condition(self)
        return self


class Joined(Quantity):
    """Quantities one after another."""

    def __init__(self, *parts: Operand) -> None:
        self.parts = tuple(map(as_quantity, parts))
        if self.parts and all(part.precision is Precision.ACTION for part in self.parts):
            self.precision = Precision.ACTION
        super().__init__(sum(part.size for part in self.parts))


def as_quantity(value: Any) -> Quantity:
    """Return a quantity itself, or numbers as a quantity; else raise ArgumentTypeError."""
    if isinstance(value, Quantity):
        return value
    try:
        return Constant(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"quantity: expected a quantity or numbers, got {value!r} ({type(value).__name__})"
        ) from None


def before(quantity: Quantity) -> Quantity:
    """Return the quantity as it was before the step, for rewards and infos of steps."""
    return Before(quantity)


def joined(*parts: Operand) -> Quantity:
    """Return the parts one after another."""
    return Joined(*parts)


def square(x: Operand) -> Quantity:
    """Return the squares."""
    x = as_quantity(x)
    return Computed(Op.MULTIPLY, x, x)


def root(x: Operand) -> Quantity:
    """Return the square roots."""
    return Computed(Op.ROOT, x)


def sin(x: Operand) -> Quantity:
    """Return the sines, with NumPy's bits."""
    return Computed(Op.SINE, x)


def cos(x: Operand) -> Quantity:
    """Return the cosines, with NumPy's bits."""
    return Computed(Op.COSINE, x)


def clip(x: Operand, low: Operand, high: Operand) -> Quantity:
    """Return the elements, limited to the bounds."""
    return minimum(maximum(x, low), high)


def minimum(x: Operand, y: Operand) -> Quantity:
    """Return the smaller of each two elements."""
    return Computed(Op.SMALLER, x, y)


def maximum(x: Operand, y: Operand) -> Quantity:
    """Return the larger of each two elements."""
    return Computed(Op.LARGER, x, y)


def where(condition: Operand, x: Operand, y: Operand) -> Quantity:
    """Return elements of `x` where the condition holds, else of `y`."""
    return Computed(Op.SELECT, condition, x, y)


def finite(x: Operand) -> Quantity:
    """Return where the elements are finite numbers."""
    return Computed(Op.FINITE, x)


def every(x: Operand) -> Quantity:
    """Return whether all elements hold."""
    return Computed(Op.EVERY, x, size=1)


def total(x: Operand) -> Quantity:
    """Return the sum of all elements, added in NumPy's order."""
    return Computed(Op.SUM, x, size=1)


def norm(x: Operand) -> Quantity:
    """Return the Euclidean length."""
    return root(total(square(x)))


def weighted_rows(weights: Quantity, rows: Quantity) -> Quantity:
    """Return the sum of rows [n, width], each times its weight [n]: [width].

    Raises:
        InvalidArgument: the size of `rows` is not a multiple of that of `weights`.
    """
    if weights.size == 0 or rows.size % weights.size:
        raise InvalidArgument(
            f"rows: expected a multiple of {weights.size} elements, got {rows.size}"
        )
    width = rows.size // weights.size
    return Computed(Op.WEIGHTED_ROWS, weights, rows, size=width, width=width)


def uniform(low: Operand, high: Operand, size: int) -> Draw:
    """Return draws of `Generator.uniform(low, high, size)` from the lane's stream."""
    return Draw(Op.UNIFORM, low, as_quantity(high) - low, size=size)


def standard_normal(size: int) -> Draw:
    """Return draws of `Generator.standard_normal(size)` from the lane's stream."""
    return Draw(Op.NORMAL, size=size)
