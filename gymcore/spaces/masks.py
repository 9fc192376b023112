"""Checks of the masks and probabilities of `sample` that several spaces share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error

# `Generator.choice` accepts probabilities whose sum is this close to one.
_SUM_TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))


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
    """Return whether the elements sum to one, as closely as NumPy's `choice` requires."""
    return abs(float(probability.sum()) - 1.0) <= _SUM_TOLERANCE


def pick(rng: np.random.Generator, values: npt.NDArray[Any]) -> Any:
    """Draw one of `values` as `rng.choice(values)` does, in a quarter of the time."""
    return values[rng.integers(len(values))]


def check_array(mask: Any, name: str, dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    """Raise if a mask or probability, called `name` in messages, has another type or shape."""
    if not isinstance(mask, np.ndarray):
        raise error.InvalidMask(
            f"The expected type of the {name} is np.ndarray, actual type: {type(mask)}"
        )
    if mask.dtype != dtype:
        raise error.InvalidMask(
            f"The expected dtype of the {name} is np.{dtype.__name__}, actual dtype: {mask.dtype}"
        )
    if mask.shape != shape:
        raise error.InvalidMask(
            f"The expected shape of the {name} is {shape}, actual shape: {mask.shape}"
        )


def split_pair(mask: Any, name: str, space: str, parts: str) -> tuple[Any, Any]:
    """Return the two parts of the mask of a space whose elements are drawn in two steps."""
    expected = f"Expects the `{name}` of a {space} to be a tuple ({parts} {name})"
    if not isinstance(mask, (tuple, list)):
        raise error.FailedTypeCheck(f"{expected}, actual type: {type(mask)}")
    if len(mask) != 2:
        raise error.InvalidMask(f"{expected}, actual length: {len(mask)}")
    return mask[0], mask[1]
