"""The space of arrays of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces.masks import check_array, check_probabilities, is_binary, reject_both
from gymcore.spaces.space import Array, ArraySpace

__all__ = ["MultiBinary"]


def _as_size(value: Any) -> int:
    """Return the length of an axis as an int; a float with an integral value is accepted."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    try:
        return index(value)
    except TypeError:
        raise error.InvalidArgument(
            f"Expected n to be an int or a sequence of ints, actual element: {value!r}"
        ) from None


class MultiBinary(ArraySpace[npt.NDArray[np.int8]]):
    """Int8 arrays of one shape that contain only 0 and 1.

    Attributes:
        n: Number of elements if arrays have one axis (int), otherwise the shape (tuple of ints).

    Examples:
        >>> MultiBinary(5, seed=42).sample()
        array([1, 0, 1, 0, 1], dtype=int8)
        >>> MultiBinary((2, 3)).shape
        (2, 3)
    """

    dtype: np.dtype[np.int8]

    def __init__(
        self,
        n: SupportsIndex | Sequence[int] | Array,
        seed: SupportsIndex | np.random.Generator | None = None,
    ) -> None:
        """Create the space.

        Args:
            n: Number of elements, or the shape; all at least 1.
            seed: Seed or generator for `sample`.

        Raises:
            InvalidArgument: If `n` is neither an integer nor a sequence of integers, or is not
                positive.
        """
        self.n: int | tuple[int, ...]
        if (isinstance(n, np.ndarray) and n.ndim > 0) or (
            isinstance(n, Sequence) and not isinstance(n, (str, bytes))
        ):
            self.n = tuple(_as_size(size) for size in n)
            shape = self.n
        else:
            try:
                self.n = index(cast("SupportsIndex", n))
            except TypeError:
                raise error.InvalidArgument(
                    f"Expected n to be an int or a sequence of ints, actual type: {type(n)}"
                ) from None
            shape = (self.n,)
        if min(shape, default=1) <= 0:
            raise error.InvalidArgument(f"n (counts) have to be positive, got {n}")
        super().__init__(shape, np.int8, seed)

    def sample(
        self,
        mask: npt.NDArray[np.int8] | None = None,
        probability: npt.NDArray[np.float64] | None = None,
    ) -> npt.NDArray[np.int8]:
        """Draw a random element; `Space.sample` lists the exceptions.

        Args:
            mask: int8 array of the shape of the space: 0 and 1 fix an entry, 2 leaves it random.
            probability: Floating array of the shape of the space, the probability that an entry is
                1. At most one of the two may be given.

        Returns:
            A new int8 array; all other entries are 0 or 1 with equal probability.

        Examples:
            >>> MultiBinary(3).sample(mask=np.array([0, 1, 1], dtype=np.int8))
            array([0, 1, 1], dtype=int8)
        """
        if mask is not None:
            reject_both(mask, probability)
            check_array(mask, "mask", np.int8, self._shape)
            if not is_binary(mask, highest=2):
                raise error.InvalidMask(
                    f"All values of a mask should be 0, 1 or 2, actual values: {mask}"
                )
            return np.where(mask == 2, self._draw(), mask)
        if probability is not None:
            check_array(probability, "probability", np.float64, self._shape)
            check_probabilities(
                probability, "All values of the sample probability should be between 0 and 1"
            )
            chosen = self.np_random.random(size=self._shape) <= probability
            return np.asarray(chosen, dtype=np.int8)
        return self._draw()

    def _draw(self) -> npt.NDArray[np.int8]:
        """Draw an element whose entries are 0 or 1 with equal probability."""
        return self.np_random.integers(low=0, high=2, size=self._shape, dtype=np.int8)

    def contains(self, x: object) -> bool:
        """Return whether `x` is an array of the right shape that contains only zeros and ones.

        Args:
            x: An array of any dtype except text and records; a list or tuple is converted.

        Returns:
            True if the shapes are equal and every entry equals 0 or 1.
        """
        if isinstance(x, (list, tuple)):
            try:
                x = np.array(x)
            except (ValueError, TypeError, OverflowError):
                return False
        if not isinstance(x, np.ndarray) or x.shape != self._shape or x.dtype.kind in "USV":
            return False
        if x.dtype == np.int8:
            return is_binary(x)
        return bool(np.all((x == 0) | (x == 1)))

    def __repr__(self) -> str:
        return f"MultiBinary({self.n})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiBinary) and self.n == other.n
