"""Quantities of a simulation, as expressions that compiled code evaluates in every lane.

A quantity is a vector of float64 whose length is known. `Simulation` has those to begin with:
positions, velocities, any other array of MuJoCo's data or model, and the action. Arithmetic,
comparisons, slices and the functions of this module make new ones. Nothing is computed when an
expression is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument

if TYPE_CHECKING:
    from typing_extensions import Self

# Operations by their numbers in gymcore_ext/mujoco/program.pxd.
(
    COPY,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    SQUARE,
    ABSOLUTE,
    ROOT,
    SINE,
    COSINE,
    SMALLER,
    LARGER,
    CLIP,
    SELECT,
    LESS,
    LESS_EQUAL,
    FINITE,
    BOTH,
    EITHER,
    NEGATE_TRUTH,
    NEGATIVE,
    SUM,
    EVERY,
    WEIGHTED_ROWS,
    UNIFORM,
    NORMAL,
    REPEAT_UNLESS,
) = range(27)


class Quantity:
    """A vector of `size` float64 numbers; one of size 1 goes with any other.

    `+ - * /` and comparisons (1.0 where they hold, else 0.0) work element by element, also with
    numbers and arrays; `& | ~` combine truths; `[index]` and `[start:stop:step]` select.

    Example:
        >>> speed = Constant([3.0, 4.0])
        >>> (speed * 2.0)[1:].size, norm(speed).size
        (1, 1)
    """

    # NumPy arrays leave operators to this class.
    __array_ufunc__ = None

    def __init__(self, size: int) -> None:
        """Note the length."""
        self.size = size

    def __len__(self) -> int:
        """Return how many numbers it has."""
        return self.size

    def __getitem__(self, index: int | slice) -> Quantity:
        """Return one element, or those of a slice."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self.size)
            if step < 1:
                raise InvalidArgument(f"index: expected a slice that goes forward, got {index}")
            return Selection(self, start, max(0, -(-(stop - start) // step)), step)
        at = range(self.size)[index]
        return Selection(self, at, 1, 1)

    def __add__(self, other: Operand) -> Quantity:
        """Return the sums."""
        return Computed(ADD, self, other)

    def __radd__(self, other: Operand) -> Quantity:
        """Return the sums."""
        return Computed(ADD, other, self)

    def __sub__(self, other: Operand) -> Quantity:
        """Return the differences."""
        return Computed(SUBTRACT, self, other)

    def __rsub__(self, other: Operand) -> Quantity:
        """Return the differences."""
        return Computed(SUBTRACT, other, self)

    def __mul__(self, other: Operand) -> Quantity:
        """Return the products."""
        return Computed(MULTIPLY, self, other)

    def __rmul__(self, other: Operand) -> Quantity:
        """Return the products."""
        return Computed(MULTIPLY, other, self)

    def __truediv__(self, other: Operand) -> Quantity:
        """Return the quotients."""
        return Computed(DIVIDE, self, other)

    def __rtruediv__(self, other: Operand) -> Quantity:
        """Return the quotients."""
        return Computed(DIVIDE, other, self)

    def __neg__(self) -> Quantity:
        """Return the negatives."""
        return Computed(NEGATIVE, self)

    def __abs__(self) -> Quantity:
        """Return the absolute values."""
        return Computed(ABSOLUTE, self)

    def __lt__(self, other: Operand) -> Quantity:
        """Return where this is less."""
        return Computed(LESS, self, other)

    def __le__(self, other: Operand) -> Quantity:
        """Return where this is not more."""
        return Computed(LESS_EQUAL, self, other)

    def __gt__(self, other: Operand) -> Quantity:
        """Return where this is more."""
        return Computed(LESS, other, self)

    def __ge__(self, other: Operand) -> Quantity:
        """Return where this is not less."""
        return Computed(LESS_EQUAL, other, self)

    def __and__(self, other: Operand) -> Quantity:
        """Return where both hold."""
        return Computed(BOTH, self, other)

    def __or__(self, other: Operand) -> Quantity:
        """Return where one of them holds."""
        return Computed(EITHER, self, other)

    def __invert__(self) -> Quantity:
        """Return where this does not hold."""
        return Computed(NEGATE_TRUTH, self)

    def __bool__(self) -> bool:
        """Refuse: an expression has no value yet."""
        raise ArgumentTypeError(
            "a quantity has no value before a simulation runs: use where(), &, | and ~ in place of "
            "if, and, or, not"
        )


Operand = Quantity | float | npt.ArrayLike


class Constant(Quantity):
    """Numbers that never change."""

    def __init__(self, values: npt.ArrayLike) -> None:
        """Keep a copy of a number or a vector."""
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


class Parameter(Quantity):
    """A number of the environment that lanes may differ in; see `CompiledMujocoEnv`."""

    def __init__(self, name: str) -> None:
        """Name the column."""
        super().__init__(1)
        self.name = name


class Selection(Quantity):
    """Some elements of another quantity."""

    def __init__(self, whole: Quantity, start: int, size: int, step: int) -> None:
        """Take `size` elements from `start`, `step` apart."""
        super().__init__(size)
        self.whole = whole
        self.start = start
        self.step = step


class Computed(Quantity):
    """What an operation makes of other quantities."""

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
            sizes = {one.size for one in self.operands} - {1}
            if len(sizes) > 1:
                raise InvalidArgument(
                    f"quantities: expected equal lengths, got {[one.size for one in self.operands]}"
                )
            size = sizes.pop() if sizes else 1
        super().__init__(size)


class Before(Quantity):
    """What a quantity was before the step."""

    def __init__(self, quantity: Quantity) -> None:
        """Note the quantity."""
        super().__init__(quantity.size)
        self.quantity = quantity


class Draw(Computed):
    """Random numbers of a lane, drawn at the beginning of an episode."""

    condition: Quantity | None = None

    def until(self, condition: Callable[[Quantity], Quantity]) -> Self:
        """Draw all of it again until the condition holds, as it should soon.

        Example:
            >>> goal = uniform(-0.2, 0.2, 2).until(lambda drawn: norm(drawn) < 0.2)
        """
        self.condition = condition(self)
        return self


class Joined(Quantity):
    """Quantities one after another."""

    def __init__(self, *parts: Operand) -> None:
        """Put the parts in a row."""
        self.parts = tuple(map(as_quantity, parts))
        super().__init__(sum(part.size for part in self.parts))


def as_quantity(value: Any) -> Quantity:
    """The quantity itself, or numbers as one.

    Raises:
        ArgumentTypeError: neither.
    """
    if isinstance(value, Quantity):
        return value
    try:
        return Constant(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"quantity: expected a quantity or numbers, got {value!r} ({type(value).__name__})"
        ) from None


def before(quantity: Quantity) -> Quantity:
    """What the quantity was before the step. For rewards and infos of steps."""
    return Before(quantity)


def joined(*parts: Operand) -> Quantity:
    """The parts one after another."""
    return Joined(*parts)


def square(x: Operand) -> Quantity:
    """The squares."""
    return Computed(SQUARE, x)


def root(x: Operand) -> Quantity:
    """The square roots."""
    return Computed(ROOT, x)


def sin(x: Operand) -> Quantity:
    """The sines, with NumPy's bits."""
    return Computed(SINE, x)


def cos(x: Operand) -> Quantity:
    """The cosines, with NumPy's bits."""
    return Computed(COSINE, x)


def clip(x: Operand, low: Operand, high: Operand) -> Quantity:
    """The elements, or the bound that they exceed."""
    return Computed(CLIP, x, low, high)


def minimum(x: Operand, y: Operand) -> Quantity:
    """The smaller of each two elements."""
    return Computed(SMALLER, x, y)


def maximum(x: Operand, y: Operand) -> Quantity:
    """The larger of each two elements."""
    return Computed(LARGER, x, y)


def where(condition: Operand, x: Operand, y: Operand) -> Quantity:
    """Elements of `x` where the condition holds, of `y` where it does not."""
    return Computed(SELECT, condition, x, y)


def finite(x: Operand) -> Quantity:
    """Where the elements are numbers, and not infinite."""
    return Computed(FINITE, x)


def every(x: Operand) -> Quantity:
    """Whether all elements hold."""
    return Computed(EVERY, x, size=1)


def total(x: Operand) -> Quantity:
    """The sum of all elements, added up in NumPy's order."""
    return Computed(SUM, x, size=1)


def norm(x: Operand) -> Quantity:
    """The Euclidean length."""
    return root(total(square(x)))


def weighted_rows(weights: Quantity, rows: Quantity) -> Quantity:
    """The sum of rows [n, width], each times its weight [n]: [width].

    Raises:
        InvalidArgument: `rows` has not the same number of elements for every weight.
    """
    if weights.size == 0 or rows.size % weights.size:
        raise InvalidArgument(
            f"rows: expected a multiple of {weights.size} elements, got {rows.size}"
        )
    width = rows.size // weights.size
    return Computed(WEIGHTED_ROWS, weights, rows, size=width, width=width)


def uniform(low: Operand, high: Operand, size: int) -> Draw:
    """Draws of `Generator.uniform(low, high, size)` from the lane's stream."""
    return Draw(UNIFORM, low, as_quantity(high) - low, size=size)


def standard_normal(size: int) -> Draw:
    """Draws of `Generator.standard_normal(size)` from the lane's stream."""
    return Draw(NORMAL, size=size)
