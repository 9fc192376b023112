"""Quantities of a simulation: expressions that compiled code evaluates in every lane.

A quantity is a float64 vector of known length. `Simulation` provides positions, velocities, all
other arrays of MuJoCo's data and model, and the action. Arithmetic, comparisons, slices and the
functions of this module make new quantities; they compute nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from functools import reduce
from math import isqrt
from typing import Self

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument

# Operations by their numbers in gymcore_ext/mujoco/program.pxd.
Op = IntEnum(
    "Op",
    "COPY ADD SUBTRACT MULTIPLY DIVIDE ABSOLUTE NEGATIVE ROOT SINE COSINE EXPONENTIAL LOG1P COSH "
    "TANH ARCSINH ARCTAN2 POWER SMALLER LARGER SELECT LESS LESS_EQUAL FINITE BOTH EITHER SUM EVERY "
    "DOT FUSED_DOT COEFFICIENTS SPLINE CONTACTS UNIFORM NORMAL INTEGER STORE REPEAT_UNLESS "
    "SKIP_UNLESS CALL",
    start=0,
)


class Precision(Enum):
    """The effect of a quantity on the dtype of an operation, by NumPy's promotion rules."""

    WEAK = 0  # a Python number or a truth value: the other operand decides
    ACTION = 1  # has the dtype of the action: float32 or float64
    FLOAT64 = 2


def _operator(code: int, doc: str, *, swapped: bool = False) -> Callable[..., Quantity]:
    """Return a method for an operator; `swapped` exchanges its operands."""

    def method(self: Quantity, other: Operand) -> Quantity:
        return Computed(code, other, self) if swapped else Computed(code, self, other)

    method.__doc__ = doc
    return method


class Quantity:
    """A vector of `size` float64 numbers; a quantity of size 1 is broadcast.

    `+ - * / **` and comparisons (1.0 for true, 0.0 for false) work element by element, also with
    numbers and arrays; `& | ~` combine truth values; `[index]` and `[start:stop:step]` select.

    As in NumPy, costs of an action have its dtype: results of arithmetic, `square`, `total`,
    `minimum`, `maximum`, `clip` and `where` on actions and Python numbers alone are rounded to
    float32 if the action is float32.

    Examples:
        >>> speed = Constant([3.0, 4.0])
        >>> (speed * 2.0)[1:].size, norm(speed).size
        (1, 1)
    """

    # Makes NumPy arrays defer to the operators of this class.
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
                raise InvalidArgument(f"index: expected a slice with a positive step, got {index}")
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
    __pow__ = _operator(Op.POWER, "Return the powers, by C's `pow` as for NumPy's scalars.")
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
        return where(self, 0.0, 1.0)

    def __bool__(self) -> bool:
        raise ArgumentTypeError(
            "a quantity has no value before a simulation runs: use where(), &, | and ~ instead of "
            "if, and, or, not"
        )


Operand = Quantity | float | npt.ArrayLike


class Constant(Quantity):
    """Constant numbers."""

    def __init__(self, values: npt.ArrayLike) -> None:
        if type(values) in (bool, int, float):
            self.precision = Precision.WEAK
        self.values = np.array(values, np.float64).ravel()
        super().__init__(self.values.size)


class Array(Quantity):
    """An array of MuJoCo's data or model, with rank 1."""

    def __init__(self, owner: str, name: str, size: int) -> None:
        """Store the array's name; `owner` is "data" or "model"."""
        super().__init__(size)
        self.owner = owner
        self.name = name


class Float32Array(Array):
    """A float32 array of MuJoCo's model, which a start can write, and no expression can read."""


class Action(Quantity):
    """The action of a step."""

    precision = Precision.ACTION


class InitialState(Quantity):
    """Positions and velocities of reset options [nq + nv], nan where the description decides."""


class Parameter(Quantity):
    """A parameter of the environment, which may differ between lanes; see `Weight`."""

    precision = Precision.WEAK

    def __init__(self, name: str) -> None:
        super().__init__(1)
        self.name = name


class Selection(Quantity):
    """Some elements of another quantity."""

    def __init__(self, whole: Quantity, start: int, size: int, step: int) -> None:
        """Select `size` elements from index `start` on, at distances of `step`."""
        super().__init__(size)
        if isinstance(whole, Selection):
            start, step = whole.start + start * whole.step, step * whole.step
        self.whole: Quantity = whole.whole if isinstance(whole, Selection) else whole
        self.precision = whole.precision
        self.start: int = start
        self.step: int = step


# Operations that return truth values, and those in float64. Others depend on their operands.
_TRUTHS = {Op.LESS, Op.LESS_EQUAL, Op.FINITE, Op.BOTH, Op.EITHER, Op.EVERY}
_FLOAT64 = {*range(Op.SINE, Op.POWER + 1), *range(Op.DOT, Op.CALL)}


class Computed(Quantity):
    """The result of an operation on other quantities."""

    def __init__(self, code: int, *operands: Operand, size: int | None = None) -> None:
        """Make the operation; without `size`, the operands have equal lengths, or length 1.

        Raises:
            InvalidArgument: If the operands have different lengths.
        """
        self.code = code
        self.operands = tuple(map(as_quantity, operands))
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


class Variable(Quantity):
    """Numbers that the statements of a start assign, 0 before that."""


class Fresh(Variable):
    """Whether a start is the first one since the lane was seeded: for what is drawn once a seed."""

    precision = Precision.WEAK

    def __init__(self) -> None:
        super().__init__(1)


class WeightedRows(Quantity):
    """The sum of rows [n, size], multiplied by their weights [n]."""

    def __init__(self, weights: Quantity, rows: Quantity) -> None:
        super().__init__(rows.size // weights.size)
        self.weights = weights
        self.rows = rows


class Before(Quantity):
    """A quantity as it was before the step."""

    def __init__(self, quantity: Quantity) -> None:
        super().__init__(quantity.size)
        self.quantity = quantity


class Draw(Computed):
    """Random numbers, which a lane draws at the beginning of an episode."""

    condition: Quantity | None = None

    def until(self, condition: Callable[[Quantity], Quantity]) -> Self:
        """Repeat the draw until the condition holds; return the draw itself.

        Examples:
            >>> goal = uniform(-0.2, 0.2, 2).until(lambda drawn: norm(drawn) < 0.2)
        """
        self.condition = condition(self)
        return self


class Joined(Quantity):
    """The concatenation of quantities."""

    def __init__(self, *parts: Operand) -> None:
        self.parts = tuple(map(as_quantity, parts))
        if self.parts and all(part.precision is Precision.ACTION for part in self.parts):
            self.precision = Precision.ACTION
        super().__init__(sum(part.size for part in self.parts))


def places_of(quantity: Quantity) -> list[tuple[object, ...]]:
    """Return where each number comes from, whatever bounds it is clipped to, as a value to compare.

    Examples:
        >>> positions = Array("data", "qpos", 3)
        >>> places_of(clip(positions[1:], -1.0, 1.0))
        [('data', 'qpos', 1), ('data', 'qpos', 2)]
    """
    if isinstance(quantity, Array):
        return [(quantity.owner, quantity.name, k) for k in range(quantity.size)]
    if isinstance(quantity, Selection):
        places = places_of(quantity.whole)[quantity.start :: quantity.step]
        return places[: quantity.size]
    if isinstance(quantity, Joined):
        return [place for part in quantity.parts for place in places_of(part)]
    if isinstance(quantity, Computed) and quantity.code in (Op.SMALLER, Op.LARGER):
        return places_of(quantity.operands[0])
    if isinstance(quantity, Computed) and len(quantity.operands) == 1:
        return [(quantity.code, *place) for place in places_of(quantity.operands[0])]
    return [(id(quantity), k) for k in range(quantity.size)]


def as_quantity(value: npt.ArrayLike | Quantity) -> Quantity:
    """Return a quantity, or numbers as a quantity; raise `ArgumentTypeError` for anything else."""
    if isinstance(value, Quantity):
        return value
    try:
        return Constant(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"quantity: expected a quantity or numbers, got {value!r} ({type(value).__name__})"
        ) from None


def before(quantity: Quantity) -> Quantity:
    """Return the quantity as it was before the step, for rewards and infos of steps."""
    return Before(quantity)


def joined(*parts: Operand) -> Quantity:
    """Return the concatenation of the parts."""
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Quantity) else Joined(*parts)


def square(x: Operand) -> Quantity:
    """Return the squares."""
    x = as_quantity(x)
    return Computed(Op.MULTIPLY, x, x)


def root(x: Operand) -> Quantity:
    """Return the square roots."""
    return Computed(Op.ROOT, x)


def sin(x: Operand) -> Quantity:
    """Return the sines, bit-identical to NumPy's."""
    return Computed(Op.SINE, x)


def cos(x: Operand) -> Quantity:
    """Return the cosines, bit-identical to NumPy's."""
    return Computed(Op.COSINE, x)


def exp(x: Operand) -> Quantity:
    """Return the exponentials, bit-identical to NumPy's."""
    return Computed(Op.EXPONENTIAL, x)


def log1p(x: Operand) -> Quantity:
    """Return the logarithms of 1 + x, bit-identical to NumPy's."""
    return Computed(Op.LOG1P, x)


def cosh(x: Operand) -> Quantity:
    """Return the hyperbolic cosines, bit-identical to NumPy's."""
    return Computed(Op.COSH, x)


def tanh(x: Operand) -> Quantity:
    """Return the hyperbolic tangents, bit-identical to NumPy's."""
    return Computed(Op.TANH, x)


def arcsinh(x: Operand) -> Quantity:
    """Return the inverse hyperbolic sines, bit-identical to NumPy's."""
    return Computed(Op.ARCSINH, x)


def arctan2(y: Operand, x: Operand) -> Quantity:
    """Return the angles of points (x, y), bit-identical to NumPy's."""
    return Computed(Op.ARCTAN2, y, x)


def clip(x: Operand, low: Operand, high: Operand) -> Quantity:
    """Return the elements, limited to the bounds."""
    return minimum(maximum(x, low), high)


def minimum(x: Operand, y: Operand) -> Quantity:
    """Return the element-wise minimum."""
    return Computed(Op.SMALLER, x, y)


def maximum(x: Operand, y: Operand) -> Quantity:
    """Return the element-wise maximum."""
    return Computed(Op.LARGER, x, y)


def where(condition: Operand, x: Operand, y: Operand) -> Quantity:
    """Return the elements of `x` where the condition holds, and of `y` elsewhere."""
    return Computed(Op.SELECT, condition, x, y)


def finite(x: Operand) -> Quantity:
    """Return where the elements are finite numbers."""
    return Computed(Op.FINITE, x)


def every(x: Operand) -> Quantity:
    """Return whether all elements are true."""
    return Computed(Op.EVERY, x, size=1)


def total(x: Operand) -> Quantity:
    """Return the sum of all elements, added in NumPy's order."""
    return Computed(Op.SUM, x, size=1)


def norm(x: Operand) -> Quantity:
    """Return the Euclidean norm."""
    return root(total(square(x)))


def mean(x: Operand) -> Quantity:
    """Return the mean of all elements, added in NumPy's order."""
    x = as_quantity(x)
    return total(x) / x.size


def smallest(x: Operand) -> Quantity:
    """Return the smallest element."""
    x = as_quantity(x)
    return reduce(minimum, [x[i] for i in range(x.size)])


def product(x: Operand) -> Quantity:
    """Return the product of all elements, multiplied in order."""
    x = as_quantity(x)
    return reduce(lambda left, right: left * right, [x[i] for i in range(x.size)])


def dot(x: Operand, y: Operand) -> Quantity:
    """Return the sum of the products, added in order."""
    x, y = as_quantity(x), as_quantity(y)
    if x.size != y.size:
        raise InvalidArgument(f"dot: expected equal lengths, got {x.size} and {y.size}")
    return Computed(Op.DOT, x, y, size=1)


def length(x: Operand) -> Quantity:
    """Return the Euclidean norm, whose squares are added in order; see also `norm`."""
    return root(dot(x, x))


def in_frame(vectors: Operand, frame: Quantity, *, fused: bool = False) -> Quantity:
    """Return vectors [n * 3] of the world in a frame, a rotation matrix [9] such as a body's.

    Args:
        vectors: The vectors.
        frame: The rotation matrix of the frame.
        fused: Whether sums of products are rounded once (fused multiply-add), as a matrix product
            does on most machines, instead of after each operation.
    """
    vectors = as_quantity(vectors)
    code = Op.FUSED_DOT if fused else Op.DOT
    return joined(
        *(
            Computed(code, vectors[k : k + 3], frame[axis::3], size=1)
            for k in range(0, vectors.size, 3)
            for axis in range(3)
        )
    )


def weighted_rows(weights: Quantity, rows: Quantity) -> Quantity:
    """Return the sum [width] of rows [n, width], multiplied by their weights [n].

    Raises:
        InvalidArgument: If the size of `rows` is not a multiple of that of `weights`.
    """
    if weights.size == 0 or rows.size % weights.size:
        raise InvalidArgument(
            f"rows: expected a multiple of {weights.size} elements, got {rows.size}"
        )
    return WeightedRows(weights, rows)


def spline(grid: Operand, width: int) -> Quantity:
    """Return points [width * width] on the cubic spline through the numbers of a square grid.

    They are evenly spaced, and the corners are those of the grid. If `width` is not n, the bits are
    those of `scipy.ndimage.zoom(grid, width / n)`.

    Args:
        grid: The numbers of the grid [n * n], with n at least 4.
        width: The number of points in a row, at least 2.

    Raises:
        InvalidArgument: If there is another number of numbers or points.
    """
    grid = as_quantity(grid)
    n = isqrt(grid.size)
    if n < 4 or n * n != grid.size:
        raise InvalidArgument(f"grid: expected n * n numbers, n at least 4, got {grid.size}")
    if width < 2:
        raise InvalidArgument(f"width: expected at least 2, got {width}")
    coefficients = Computed(Op.COEFFICIENTS, grid, size=grid.size)
    return Computed(Op.SPLINE, coefficients, size=width * width)


def uniform(low: Operand, high: Operand, size: int) -> Draw:
    """Return draws of `Generator.uniform(low, high, size)` from the lane's stream."""
    return Draw(Op.UNIFORM, low, as_quantity(high) - low, size=size)


def integers(choices: Operand, size: int) -> Draw:
    """Return draws of `Generator.integers(choices, size)` below 2**32 from the lane's stream."""
    return Draw(Op.INTEGER, choices, size=size)


def standard_normal(size: int) -> Draw:
    """Return draws of `Generator.standard_normal(size)` from the lane's stream."""
    return Draw(Op.NORMAL, size=size)
