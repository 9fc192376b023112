"""Checks of sampling arguments that several spaces share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error

# `Generator.choice` accepts probabilities whose sum is this close to one.
_SUM_TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))


@functools.cache
def dtype_limits(dtype: np.dtype[Any]) -> tuple[int, int] | tuple[float, float]:
    """Return the lowest and the highest finite value of a dtype, as Python numbers.

    Comparisons with Python numbers never wrap around.
    """
    if dtype.kind == "f":
        floats = np.finfo(dtype)
        return float(floats.min), float(floats.max)
    if dtype.kind == "b":
        return 0, 1
    integers = np.iinfo(dtype)
    return int(integers.min), int(integers.max)


def reject_both(mask: Any, probability: Any) -> None:
    """Raise if `mask` and `probability` are both given."""
    if mask is not None and probability is not None:
        raise error.InvalidArgument(
            "Only one of `mask` or `probability` can be provided, "
            f"actual values: mask={mask}, probability={probability}"
        )


def is_binary(mask: npt.NDArray[np.int8], highest: int = 1) -> bool:
    """Tell whether all elements of an int8 array lie in 0..`highest`."""
    return bool(np.asarray(mask).view(np.uint8).max(initial=0) <= highest)


def is_in_unit_interval(probability: npt.NDArray[np.float64]) -> bool:
    """Tell whether all elements lie in [0, 1]; NaN does not."""
    return bool(((probability >= 0.0) & (probability <= 1.0)).all())


def sums_to_one(probability: npt.NDArray[np.float64]) -> bool:
    """Tell whether the elements sum to one, as closely as NumPy's `choice` asks for."""
    return abs(float(probability.sum()) - 1.0) <= _SUM_TOLERANCE


def pick(rng: np.random.Generator, values: npt.NDArray[Any]) -> Any:
    """Draw one of `values`: the element and the draw of `rng.choice(values)`, at a quarter of it.

    Args:
        rng: The generator.
        values: A non-empty 1-d array.

    Returns:
        A NumPy scalar.
    """
    return values[rng.integers(len(values))]


def check_nested_masks(mask: Any, nvec: Any, is_mask: bool) -> None:
    """Raise if nested tuples of masks (or of probabilities) do not mirror `nvec`."""
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
            check_nested_masks(sub_mask, sub_nvec, is_mask)
        return
    if not isinstance(mask, np.ndarray):
        raise error.InvalidMask(f"Expects the sub mask to be np.ndarray, actual type: {type(mask)}")
    if mask.shape != (nvec,):
        raise error.InvalidMask(
            "Expects the mask length to be equal to the number of actions, "
            f"mask length: {len(mask) if mask.ndim else mask.shape}, action: {nvec}"
        )
    dtype = np.int8 if is_mask else np.float64
    if mask.dtype != dtype:
        raise error.InvalidMask(
            f"Expects the mask dtype to be np.{dtype.__name__}, actual dtype: {mask.dtype}"
        )
    if is_mask:
        if not is_binary(mask):
            raise error.InvalidMask(f"Expects all masks values to 0 or 1, actual values: {mask}")
        return
    if not is_in_unit_interval(mask):
        raise error.InvalidMask(
            f"Expects all masks values to be between 0 and 1, actual values: {mask}"
        )
    if not sums_to_one(mask):
        raise error.InvalidMask(
            f"Expects the sum of all mask values to be 1, actual sum: {mask.sum()}"
        )
