"""The space of arrays of integers, each with its own range."""

from __future__ import annotations

from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.masks import (
    check_binary,
    check_dtype,
    check_probabilities,
    normalized,
    pick,
    reject_both,
)
from gymcore.spaces.space import (
    MAX_EXACT,
    Array,
    ArraySpace,
    DType,
    IntegerT_co,
    PickledState,
    dtype_limits,
)
from gymcore_ext.spaces import identical

__all__ = ["MultiDiscrete"]

NestedArrays: TypeAlias = "Array | tuple[NestedArrays, ...]"


def _as_integers(values: npt.ArrayLike, dtype: DType, name: str) -> Array:
    """Return a new integer array; raise if the conversion would change a number."""
    array = np.asarray(values)
    result = np.array(values, dtype=dtype)
    if array.dtype.kind in "iufb" and not np.array_equal(array, result):
        raise error.InvalidArgument(f"{name}: {array} cannot be represented as {dtype}")
    return result


def _as_tuples(mask: object, axes: int) -> Any:
    """Return an array with one axis more than the space as tuples; other values unchanged."""
    if axes and isinstance(mask, np.ndarray) and mask.ndim == axes + 1:
        return tuple(_as_tuples(row, axes - 1) for row in mask)
    return mask


class MultiDiscrete(ArraySpace[npt.NDArray[IntegerT_co]]):
    """Integer arrays of one shape; element `i` is in `start[i]`, ..., `start[i] + nvec[i] - 1`.

    Attributes:
        nvec: Number of values of each element, array of the shape of the space, and of its dtype
            unless a number does not fit (256 values of uint8), which makes it int64.
        start: Smallest value of each element, array of the shape and dtype of the space.

    Examples:
        >>> space = MultiDiscrete([5, 2, 2], seed=0)
        >>> space.sample()
        array([3, 0, 0])
        >>> space[0]
        Discrete(5)
        >>> [4, 1, 2] in space
        False
    """

    dtype: DType
    nvec: Array
    start: Array

    def __init__(
        self,
        nvec: npt.ArrayLike,
        dtype: npt.DTypeLike = np.int64,
        seed: SupportsIndex | np.random.Generator | None = None,
        start: npt.ArrayLike | None = None,
    ) -> None:
        """Create the space.

        Args:
            nvec: Number of values of each element, at least 1; its shape is the shape of the space.
            dtype: Integer dtype of the elements.
            seed: Seed or generator for `sample`.
            start: Smallest value of each element, same shape as `nvec`. None is all zeros.

        Raises:
            InvalidArgument: If `dtype` is not an integer dtype, `nvec` is not positive, the shapes
                differ, or a value does not fit the dtype.
            OverflowError: If a Python int in `nvec` or `start` does not fit the dtype.
        """
        if dtype is None:
            raise error.InvalidArgument(
                "MultiDiscrete dtype must be explicitly provided, cannot be None."
            )
        self.dtype = np.dtype(dtype)
        if self.dtype.kind not in "iu":
            raise error.InvalidArgument(
                f"Invalid MultiDiscrete dtype ({self.dtype}), must be an integer dtype"
            )
        highest = dtype_limits(self.dtype)[1]
        wide = self.dtype if self.dtype.itemsize == 8 else np.dtype(np.int64)
        self.nvec = _as_integers(nvec, wide, "nvec")
        if (self.nvec <= highest).all():
            self.nvec = self.nvec.astype(self.dtype)
        if start is None:
            self.start = np.zeros(self.nvec.shape, self.dtype)
        else:
            self.start = _as_integers(start, self.dtype, "start")
        if self.start.shape != self.nvec.shape:
            raise error.InvalidArgument(
                "start and nvec (counts) should have the same shape, "
                f"got {self.start.shape} and {self.nvec.shape}"
            )
        if (self.nvec <= 0).any():
            raise error.InvalidArgument(
                f"nvec (counts) have to be positive, actual value: {self.nvec}"
            )
        if (self.start > highest - (self.nvec - 1)).any():
            _as_integers(nvec, self.dtype, "nvec")  # raises if a number does not fit by itself
            raise error.InvalidArgument(
                f"the last values, start + nvec - 1, do not all fit the dtype {self.dtype}: "
                f"start={self.start}, nvec={self.nvec}"
            )
        super().__init__(self.nvec.shape, self.dtype, seed)

    def sample(
        self,
        mask: NestedArrays | None = None,
        probability: NestedArrays | None = None,
    ) -> npt.NDArray[IntegerT_co]:
        """Draw a random element; `Space.sample` lists the exceptions.

        Args:
            mask: A tuple of int8 arrays, one per element of `nvec` and of that length: 1 where the
                value may be drawn, 0 elsewhere (if all are 0, the smallest value is returned). For
                an `nvec` of more axes, tuples of tuples of the same nesting. An array with one axis
                more than the space, such as `infos["action_mask"]` of a batch, is accepted too.
            probability: Floating arrays in the same form, the probabilities of the values, each
                with a sum of 1. At most one of the two may be given.

        Returns:
            A new array of the shape and dtype of the space.

        Examples:
            >>> mask = (np.array([0, 1, 0], dtype=np.int8), np.array([1, 0], dtype=np.int8))
            >>> MultiDiscrete([3, 2]).sample(mask=mask)
            array([1, 0])
        """
        mask, probability = (_as_tuples(each, self.nvec.ndim) for each in (mask, probability))
        if mask is not None:
            reject_both(mask, probability)
            _check_masks(mask, self.nvec, is_mask=True)
            return np.array(self._draw_allowed(mask, self.start), dtype=self.dtype)
        if probability is not None:
            _check_masks(probability, self.nvec, is_mask=False)
            return np.array(self._draw_weighted(probability, self.start), dtype=self.dtype)
        values = self.np_random.random(self.nvec.shape) * self.nvec
        offsets = values.astype(self.nvec.dtype)
        large = self.nvec > MAX_EXACT
        if large.any():
            offsets[large] = self.np_random.integers(self.nvec[large], dtype=self.dtype.type)
        numbers: npt.NDArray[IntegerT_co] = offsets.astype(self.dtype, copy=False) + self.start
        return numbers

    def _draw_allowed(self, mask: NestedArrays, start: Array) -> object:
        """Draw one allowed value for each array in the nested tuples."""
        if isinstance(mask, tuple):
            return [self._draw_allowed(*pair) for pair in zip(mask, start, strict=True)]
        allowed = mask.nonzero()[0]
        return int(start) + (int(pick(self.np_random, allowed)) if len(allowed) else 0)

    def _draw_weighted(self, probability: NestedArrays, start: Array) -> object:
        """Draw one value with the given probabilities for each array in the nested tuples."""
        if isinstance(probability, tuple):
            return [self._draw_weighted(*pair) for pair in zip(probability, start, strict=True)]
        possible = probability.nonzero()[0]
        p = normalized(probability[possible])
        return int(start) + int(self.np_random.choice(possible, p=p))

    def contains(self, x: object) -> bool:
        """Return whether `x` is an array of the right shape with every value in its range.

        Args:
            x: An integer or bool array; a list or tuple is converted to one.

        Returns:
            True if the dtype of `x` can be cast safely to that of the space, the shapes are equal,
            and every value is in its range.
        """
        if isinstance(x, (list, tuple)):
            try:
                x = np.array(x)
            except (ValueError, TypeError, OverflowError):
                return False
        elif isinstance(x, np.integer) and self._shape == ():
            x = np.asarray(x)
        if not isinstance(x, np.ndarray) or x.shape != self._shape:
            return False
        dtype = x.dtype
        if dtype is not self.dtype and (
            dtype.kind not in "iub" or not np.can_cast(dtype, self.dtype)
        ):
            return False
        # See `Box.contains` for the search for a zero byte.
        return (
            b"\0" not in (x >= self.start).tobytes()
            and b"\0" not in (x <= self.start + (self.nvec - 1)).tobytes()
        )

    def __getitem__(self, index: Any) -> Discrete | MultiDiscrete:
        """Return the space of some of the elements.

        Args:
            index: An index for `nvec`.

        Returns:
            A `Discrete` for one element, otherwise a `MultiDiscrete`, with a copy of the random
            state of this space.
        """
        nvec, start = self.nvec[index], self.start[index]
        subspace: Discrete | MultiDiscrete
        if nvec.ndim == 0:
            subspace = Discrete(int(nvec), start=int(start), dtype=self.dtype)
        else:
            subspace = MultiDiscrete(nvec, start=start, dtype=self.dtype)
        return subspace._with_generator_of(self)

    def __len__(self) -> int:
        if self.nvec.ndim >= 2:
            logger.warn(
                "Getting the length of a multi-dimensional MultiDiscrete space.", stacklevel=2
            )
        return len(self.nvec)

    def __repr__(self) -> str:
        start = f", start={self.start}" if (self.start != 0).any() else ""
        return f"MultiDiscrete({self.nvec}{start})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultiDiscrete)
            and self.dtype == other.dtype
            and (identical(self.nvec, other.nvec) or np.array_equal(self.nvec, other.nvec))
            and (identical(self.start, other.start) or np.array_equal(self.start, other.start))
        )

    def __setstate__(self, state: PickledState) -> None:
        """Restore a pickled space, including older ones without `start`."""
        restored = dict(state)
        if "start" not in restored and "nvec" in restored:
            restored["start"] = np.zeros_like(restored["nvec"])
        super().__setstate__(restored)


def _check_masks(mask: object, nvec: Array, is_mask: bool) -> None:
    """Raise unless nested tuples of masks (or of probabilities) match the structure of `nvec`."""
    if np.ndim(nvec):
        if not isinstance(mask, tuple):
            raise error.InvalidMask(
                f"Expects the mask to be a tuple for sub_nvec ({nvec}), actual type: {type(mask)}"
            )
        if len(mask) != len(nvec):
            raise error.InvalidMask(
                "Expects the mask length to be equal to the number of actions, "
                f"mask length: {len(mask)}, nvec length: {len(nvec)}"
            )
        for sub_mask, sub_nvec in zip(mask, nvec, strict=True):
            _check_masks(sub_mask, sub_nvec, is_mask)
        return
    if not isinstance(mask, np.ndarray):
        raise error.InvalidMask(f"Expects the sub mask to be np.ndarray, actual type: {type(mask)}")
    if mask.shape != (nvec,):
        raise error.InvalidMask(
            "Expects the mask length to be equal to the number of actions, "
            f"mask length: {len(mask) if mask.ndim else mask.shape}, action: {nvec}"
        )
    dtype = np.int8 if is_mask else np.float64
    check_dtype(mask, dtype, f"Expects the mask dtype to be np.{dtype.__name__}")
    if is_mask:
        check_binary(mask, "Expects all masks values to 0 or 1")
    else:
        check_probabilities(
            mask,
            "Expects all masks values to be between 0 and 1",
            "Expects the sum of all mask values to be 1",
        )
