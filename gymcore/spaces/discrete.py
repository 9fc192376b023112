"""The space of a range of integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces.masks import (
    check_array,
    check_binary,
    check_probabilities,
    normalized,
    pick,
    reject_both,
)
from gymcore.spaces.space import ArraySpace, DType, IntegerT_co, PickledState, dtype_limits

__all__ = ["Discrete"]


class Discrete(ArraySpace[IntegerT_co]):
    """The integers `start`, `start + 1`, ..., `start + n - 1`.

    Attributes:
        n: Number of elements, a NumPy scalar of the dtype of the space, or int64 if the number does
            not fit (256 elements of uint8).
        start: Smallest element, a NumPy scalar of the dtype of the space.

    Examples:
        >>> space = Discrete(3, start=-1, seed=0)
        >>> space
        Discrete(3, start=-1)
        >>> 1 in space, 2 in space
        (True, False)
        >>> int(space.sample(mask=np.array([0, 0, 1], dtype=np.int8)))
        1
    """

    dtype: DType
    n: np.integer
    start: np.integer

    def __init__(
        self,
        n: SupportsIndex,
        seed: SupportsIndex | np.random.Generator | None = None,
        start: SupportsIndex = 0,
        dtype: npt.DTypeLike = np.int64,
    ) -> None:
        """Create the space.

        Args:
            n: Number of elements, at least 1.
            seed: Seed or generator for `sample`.
            start: Smallest element.
            dtype: Integer dtype of the elements.

        Raises:
            ArgumentTypeError: If `n` or `start` is not an integer, or `dtype` not an integer dtype.
            InvalidArgument: If `n` is not positive, or an element does not fit the dtype.
            OverflowError: If `start` does not fit the dtype, or `n` does not fit into 64 bits.
        """
        if dtype is None:
            raise error.ArgumentTypeError("Invalid Discrete dtype, cannot be None.")
        self.dtype = np.dtype(dtype)
        if self.dtype.kind not in "iu":
            raise error.ArgumentTypeError(
                f"Invalid Discrete dtype ({self.dtype}), must be an integer dtype"
            )
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool):
            raise error.ArgumentTypeError(f"Expects `n` to be an integer, actual dtype: {type(n)}")
        if not isinstance(start, (int, np.integer)) or isinstance(start, bool):
            raise error.ArgumentTypeError(
                f"Expects `start` to be an integer, actual type: {type(start)}"
            )
        count, first = int(n), int(start)
        if count <= 0:
            raise error.InvalidArgument(f"n (counts) have to be positive, actual value: {n}")
        lowest, highest = dtype_limits(self.dtype)
        fits = first + count - 1 <= highest
        # All 256 values of uint8 are a space, although 256 is not a uint8.
        wide = count > highest and fits and self.dtype.itemsize < 8
        for value in (count, first):
            if not (lowest <= value <= highest or (wide and value == count)):
                raise OverflowError(f"Python integer {value} out of bounds for {self.dtype}")
        if not fits:
            raise error.InvalidArgument(
                f"the last element, start + n - 1 = {first + count - 1}, does not fit "
                f"the dtype {self.dtype}"
            )
        self.__dict__.update(
            n=np.int64(count) if wide else self.dtype.type(count), start=self.dtype.type(first)
        )
        self._find_limits()
        super().__init__((), self.dtype, seed)

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; changing `n` or `start` also updates the limits used by `contains`."""
        super().__setattr__(name, value)
        if name in ("n", "start"):
            self._find_limits()

    def _find_limits(self) -> None:
        """Store the range as Python ints, which compare faster than NumPy scalars."""
        first = int(self.__dict__.get("start", 0))
        self._range = (first, first + int(self.__dict__.get("n", 0)))

    def sample(
        self,
        mask: npt.NDArray[np.int8] | None = None,
        probability: npt.NDArray[np.float64] | None = None,
    ) -> IntegerT_co:
        """Draw a random element; `Space.sample` lists the exceptions.

        Args:
            mask: int8 array of shape `(n,)`, 1 where the element may be drawn and 0 elsewhere. If
                all entries are 0, `start` is returned.
            probability: Floating array of shape `(n,)`, the probability of each element, with a sum
                of 1. At most one of the two may be given.

        Returns:
            A NumPy scalar of the dtype of the space; all elements, or all that the mask allows,
            are equally likely.

        Examples:
            >>> int(Discrete(4, seed=1).sample(probability=np.array([0.0, 0.0, 1.0, 0.0])))
            2
        """
        new: Callable[[int], IntegerT_co] = self.dtype.type
        if mask is not None:
            reject_both(mask, probability)
            return new(self._range[0] + self._draw_allowed(mask))
        if probability is not None:
            return new(self._range[0] + self._draw_weighted(probability))
        number: IntegerT_co = self.np_random.integers(*self._range, dtype=self.dtype.type)
        return number

    def _draw_allowed(self, mask: npt.NDArray[np.int8]) -> int:
        """Draw the offset from `start` of an element allowed by the mask."""
        check_array(mask, "sample mask", np.int8, (int(self.n),))
        check_binary(mask, "All values of the sample mask should be 0 or 1")
        allowed = mask.nonzero()[0]
        return int(pick(self.np_random, allowed)) if len(allowed) else 0

    def _draw_weighted(self, probability: npt.NDArray[np.float64]) -> int:
        """Draw the offset from `start` of an element with the given probabilities."""
        check_array(probability, "sample probability", np.float64, (int(self.n),))
        check_probabilities(
            probability,
            "All values of the sample probability should be between 0 and 1",
            "The sum of the sample probability should be equal to 1",
        )
        return int(self.np_random.choice(len(probability), p=normalized(probability)))

    def contains(self, x: Any) -> bool:
        """Return whether `x` is one of the integers.

        Args:
            x: A Python int, a NumPy integer or a 0-d integer array can be an element, the last two
                only if their dtype can be cast safely to that of the space. Anything else is not
                an element.

        Returns:
            True if `x` is an element.
        """
        # Most training loops call this once per step, so the common types are checked first.
        kind = type(x)
        if kind is not int and kind is not self.dtype.type and not isinstance(x, int):
            if not isinstance(x, (np.generic, np.ndarray)) or x.shape != ():
                return False
            if x.dtype.kind not in "iu" or not np.can_cast(x.dtype, self.dtype):
                return False
        first, stop = self._range
        return first <= index(x) < stop

    def to_jsonable(self, sample_n: Iterable[SupportsIndex]) -> list[int]:
        """Convert elements to Python ints; see `Space.to_jsonable`."""
        return [int(sample) for sample in sample_n]

    def from_jsonable(self, sample_n: Iterable[int]) -> list[np.integer]:
        """Convert ints back to elements; see `Space.from_jsonable`."""
        return [self.dtype.type(sample) for sample in sample_n]

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start != 0 else ""
        dtype = f", dtype={self.dtype}" if self.dtype != np.int64 else ""
        return f"Discrete({self.n}{start}{dtype})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Discrete)
            and self.dtype == other.dtype
            and self._range == other._range
        )

    def __setstate__(self, state: PickledState) -> None:
        """Restore a pickled space, including older ones without `start`."""
        restored = dict(state)
        restored.setdefault("start", self.__dict__.get("start", np.int64(0)))
        super().__setstate__(restored)
        self._find_limits()
