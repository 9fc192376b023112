"""Whether two observations or infos are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["data_equivalence"]


def data_equivalence(data_1: Any, data_2: Any, exact: bool = False) -> bool:
    """Whether two observations, infos or other nested data are the same, types included.

    Args:
        data_1: Arrays, numbers, texts, and dicts, tuples and lists of these.
        data_2: The same.
        exact: Compare arrays to the bit. Otherwise numbers in arrays may differ by 1e-5, relative
            and absolute. Numbers outside arrays are always compared with `==`.

    Returns:
        Whether types, keys (in any order), lengths, dtypes, shapes and values agree. NaN equals
        nothing.

    Example:
        >>> data_equivalence({"x": np.array([1.0])}, {"x": np.array([1.000001])})
        True
        >>> data_equivalence({"x": np.array([1.0])}, {"x": np.array([1.000001])}, exact=True)
        False
        >>> data_equivalence(1, 1.0)
        False
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, dict):
        return data_1.keys() == data_2.keys() and all(
            data_equivalence(value, data_2[key], exact) for key, value in data_1.items()
        )
    if isinstance(data_1, (tuple, list)):
        return len(data_1) == len(data_2) and all(
            data_equivalence(one, other, exact) for one, other in zip(data_1, data_2, strict=True)
        )
    if isinstance(data_1, np.ndarray):
        if data_1.shape != data_2.shape or data_1.dtype != data_2.dtype:
            return False
        if data_1.dtype == object:
            return all(
                data_equivalence(one, other, exact)
                for one, other in zip(data_1.ravel(), data_2.ravel(), strict=True)
            )
        if exact or data_1.dtype.kind not in "biufc":
            return bool(np.all(data_1 == data_2))
        return bool(np.allclose(data_1, data_2, rtol=1e-5, atol=1e-5))
    return bool(data_1 == data_2)
