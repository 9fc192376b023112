"""The space of arrays whose elements lie in intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.spaces._box_bounds import (
    Bound,
    cast_bound,
    checked_dtype,
    checked_shape,
    is_float_integer,
)
from gymcore.spaces._box_sampling import draw
from gymcore.spaces._repeated import LaterArray
from gymcore.spaces._typing import ScalarT_co
from gymcore.spaces.space import Space

__all__ = ["Box", "array_short_repr", "is_float_integer"]


def array_short_repr(arr: npt.NDArray[Any]) -> str:
    """Return the one value of a constant array, else the array, as text.

    Args:
        arr: Any array of numbers.

    Returns:
        For example "1.0" for ones, "[0. 1.]" otherwise.
    """
    if arr.size != 0 and np.min(arr) == np.max(arr):
        return str(np.min(arr))
    return str(arr)


class Box(Space[npt.NDArray[ScalarT_co]]):
    """Arrays of one shape and dtype whose every element lies in a closed interval.

    Each element has its own interval: finite, infinite on one side, or the whole line.

    Attributes:
        low: Lower bounds, array of the shape and dtype of the space.
        high: Upper bounds, array of the shape and dtype of the space.
        bounded_below: Where `low` is a bound, bool array of the shape of the space. False where
            it was given as `-inf`.
        bounded_above: Where `high` is a bound, bool array of the shape of the space.

    Example:
        >>> space = Box(low=-1.0, high=np.array([1.0, np.inf], dtype=np.float32))
        >>> space
        Box(-1.0, [ 1. inf], (2,), float32)
        >>> np.array([0.5, 7.0], dtype=np.float32) in space
        True
        >>> space.bounded_above
        array([ True, False])
    """

    dtype: np.dtype[Any]
    _shape: tuple[int, ...]
    if TYPE_CHECKING:
        low: npt.NDArray[Any]
        high: npt.NDArray[Any]
        bounded_below: npt.NDArray[np.bool_]
        bounded_above: npt.NDArray[np.bool_]
    else:
        low, high = LaterArray(), LaterArray()
        bounded_below, bounded_above = LaterArray(), LaterArray()

    def __init__(
        self,
        low: Bound,
        high: Bound,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike = np.float32,
        seed: SupportsIndex | np.random.Generator | None = None,
    ) -> None:
        """Make a box from its bounds.

        Args:
            low: The lower bound: a number for all elements, or an array with one an element;
                `-inf` for none.
            high: The upper bound, likewise; `inf` for none.
            shape: The shape of the elements. None takes the shape of the bounds if one of them is
                an array, `(1,)` if both are numbers.
            dtype: An integer, floating or bool dtype. Unsigned and bool boxes must be bounded.
            seed: A seed or a generator for `sample`.

        Raises:
            InvalidArgument: If dtype, shape and bounds do not fit each other, a bound is NaN or
                outside the range of the dtype, or a lower bound lies above its upper bound.
            ArgumentTypeError: If `shape` is not a sequence of integers.
        """
        self.dtype = checked_dtype(dtype)
        self._shape = checked_shape(shape, low, high)
        self.low, self.bounded_below = cast_bound("low", low, self._shape, self.dtype)
        self.high, self.bounded_above = cast_bound("high", high, self._shape, self.dtype)
        if (self.low > self.high).any():
            raise error.InvalidArgument(
                "Box all low values must be less than or equal to high "
                f"(some values break this), low={self.low}, high={self.high}"
            )
        self.low_repr: str | None = None
        self.high_repr: str | None = None
        super().__init__(self._shape, self.dtype, seed)

    @classmethod
    def _of(cls, shape: tuple[int, ...], dtype: np.dtype[Any], arrays: dict[str, Any]) -> Box[Any]:
        """Return the box of bounds that are known to be good.

        Args:
            shape: The shape of the elements.
            dtype: The dtype of the elements.
            arrays: `low`, `high`, `bounded_below` and `bounded_above`, which are kept; or `_rows`
                in their place.
        """
        box: Box[Any] = cls.__new__(cls)
        box.dtype = dtype
        box._shape = shape
        box.__dict__.update(arrays)
        box.low_repr = box.high_repr = None
        return box

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the elements."""
        return self._shape

    @property
    def is_np_flattenable(self) -> bool:
        """Always True."""
        return True

    def is_bounded(self, manner: str = "both") -> bool:
        """Tell whether all elements are bounded.

        Args:
            manner: "below", "above", or "both" sides.

        Returns:
            True if no element lacks a bound on that side.

        Raises:
            InvalidArgument: If `manner` is none of the three.
        """
        if manner == "both":
            return bool(self.bounded_below.all() and self.bounded_above.all())
        if manner == "below":
            return bool(self.bounded_below.all())
        if manner == "above":
            return bool(self.bounded_above.all())
        raise error.InvalidArgument(
            f"manner is not in {{'below', 'above', 'both'}}, actual value: {manner}"
        )

    def sample(self, mask: None = None, probability: None = None) -> npt.NDArray[ScalarT_co]:
        """Draw a random element.

        An element bounded on both sides is uniform, one bounded on one side exponential from that
        bound, one without bounds standard normal. Integers are rounded down after the draw, which
        is made up to one above the upper bound.

        Args:
            mask: Not supported, must be None.
            probability: Not supported, must be None.

        Returns:
            A new array of the shape and dtype of the space.

        Raises:
            InvalidArgument: If `mask` or `probability` is given.

        Example:
            >>> Box(-1.0, 1.0, shape=(2,), seed=3).sample()
            array([-0.8287017, -0.526379 ], dtype=float32)
        """
        if mask is not None:
            raise error.InvalidArgument(
                f"Box.sample cannot be provided a mask, actual value: {mask}"
            )
        if probability is not None:
            raise error.InvalidArgument(
                f"Box.sample cannot be provided a probability mask, actual value: {probability}"
            )
        return draw(
            self.np_random,
            self.low,
            self.high,
            self.bounded_below,
            self.bounded_above,
            self.dtype,
        )

    def contains(self, x: Any) -> bool:
        """Tell whether `x` has the shape of the space, a dtype that fits, and lies in the bounds.

        Args:
            x: An array, or a NumPy scalar if the space has no axes; anything else is converted to
                an array, with a warning.

        Returns:
            True if the dtype of `x` can be cast safely to that of the space, the shape is equal,
            and every element lies in its interval (NaN does not).
        """
        if not isinstance(x, np.ndarray):
            # A NumPy scalar is what a batch of arrays without axes consists of.
            if not isinstance(x, np.generic) or self._shape:
                logger.warn("Casting input x to numpy array.", stacklevel=2)
            try:
                x = np.asarray(x, dtype=self.dtype)
            except (ValueError, TypeError, OverflowError):
                return False
        dtype = x.dtype
        if dtype is not self.dtype and not np.can_cast(dtype, self.dtype):
            return False
        if x.shape != self._shape:
            return False
        # For small arrays a search for a zero byte takes a fifth of the time of `.all()`.
        return b"\0" not in (x >= self.low).tobytes() and b"\0" not in (x <= self.high).tobytes()

    def to_jsonable(self, sample_n: Iterable[npt.NDArray[Any]]) -> list[Any]:
        """Turn arrays into nested lists.

        Args:
            sample_n: Elements of the space.

        Returns:
            One (nested) list of numbers an element; a number for an element without axes.
        """
        return [sample.tolist() for sample in sample_n]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[npt.NDArray[Any]]:
        """Turn nested lists back into arrays.

        Args:
            sample_n: What `to_jsonable` returned.

        Returns:
            One array of the dtype of the space a sample.
        """
        return [np.asarray(sample, dtype=self.dtype) for sample in sample_n]

    def __repr__(self) -> str:
        """Show the bounds (one number where all are equal), the shape and the dtype."""
        if self.low_repr is None:
            self.low_repr = array_short_repr(self.low)
        if self.high_repr is None:
            self.high_repr = array_short_repr(self.high)
        return f"Box({self.low_repr}, {self.high_repr}, {self._shape}, {self.dtype})"

    def __eq__(self, other: object, /) -> bool:
        """Tell whether `other` is a box of the same shape and dtype with close enough bounds."""
        return (
            isinstance(other, Box)
            and self._shape == other._shape
            and self.dtype == other.dtype
            and np.allclose(self.low, other.low)
            and np.allclose(self.high, other.high)
        )

    def __setstate__(self, state: Iterable[tuple[str, Any]] | Mapping[str, Any]) -> None:
        """Restore a pickled box, also one from before the short texts of the bounds were kept."""
        super().__setstate__(state)
        if not hasattr(self, "low_repr"):
            self.low_repr = array_short_repr(self.low)
        if not hasattr(self, "high_repr"):
            self.high_repr = array_short_repr(self.high)
