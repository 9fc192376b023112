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


def split_pair(mask: Any, name: str, space: str, parts: str) -> tuple[Any, Any]:
    """Return the two parts of the mask of a space whose elements are drawn in two steps.

    Args:
        mask: What the caller gave.
        name: "mask" or "probability".
        space: The class of the space, for the message.
        parts: What the two parts are, for the message.
    """
    expected = f"Expects the `{name}` of a {space} to be a tuple ({parts} {name})"
    if not isinstance(mask, (tuple, list)):
        raise error.FailedTypeCheck(f"{expected}, actual type: {type(mask)}")
    if len(mask) != 2:
        raise error.InvalidMask(f"{expected}, actual length: {len(mask)}")
    return mask[0], mask[1]
