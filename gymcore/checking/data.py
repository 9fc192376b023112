"""Comparisons of observations and infos, for equality and for shared memory."""

from __future__ import annotations

import numpy as np


def data_equivalence(data_1: object, data_2: object, exact: bool = False) -> bool:
    """Return whether two observations, infos or other nested data are equal and of equal types.

    Args:
        data_1: Arrays, numbers, strings, and dicts, tuples and lists of these.
        data_2: Data to compare with `data_1`.
        exact: Whether arrays must be equal. Otherwise numbers in arrays may differ by 1e-5,
            relative and absolute. Numbers outside arrays must always be equal.

    Returns:
        Whether types, keys (in any order), lengths, dtypes, shapes and values agree. NaN is not
        equal to itself.

    Examples:
        >>> data_equivalence({"x": np.array([1.0])}, {"x": np.array([1.000001])})
        True
        >>> data_equivalence({"x": np.array([1.0])}, {"x": np.array([1.000001])}, exact=True)
        False
        >>> data_equivalence(1, 1.0)
        False
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, dict) and isinstance(data_2, dict):
        return data_1.keys() == data_2.keys() and all(
            data_equivalence(value, data_2[key], exact) for key, value in data_1.items()
        )
    if isinstance(data_1, (tuple, list)) and isinstance(data_2, (tuple, list)):
        return len(data_1) == len(data_2) and all(
            data_equivalence(first, second, exact)
            for first, second in zip(data_1, data_2, strict=True)
        )
    if isinstance(data_1, np.ndarray) and isinstance(data_2, np.ndarray):
        if data_1.shape != data_2.shape or data_1.dtype != data_2.dtype:
            return False
        if data_1.dtype == object:
            return all(
                data_equivalence(first, second, exact)
                for first, second in zip(data_1.ravel(), data_2.ravel(), strict=True)
            )
        if exact or data_1.dtype.kind not in "biufc":
            return bool(np.all(data_1 == data_2))
        return bool(np.allclose(data_1, data_2, rtol=1e-5, atol=1e-5))
    return bool(data_1 == data_2)


def data_shares_objects(data_1: object, data_2: object) -> bool:
    """Return whether changing one of two observations or infos in place would change the other.

    This is the case if they have the same dict, or arrays that share memory, in the same place of
    nested dicts, tuples and object arrays. Other objects are assumed to be independent.

    Examples:
        >>> position = np.zeros(2)
        >>> data_shares_objects({"position": position}, {"position": position[:1]})
        True
        >>> data_shares_objects({"position": position}, {"position": position.copy()})
        False
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, dict) and isinstance(data_2, dict):
        return data_1 is data_2 or any(
            data_shares_objects(value, data_2[key])
            for key, value in data_1.items()
            if key in data_2
        )
    if isinstance(data_1, tuple) and isinstance(data_2, tuple):
        return any(map(data_shares_objects, data_1, data_2))
    if not isinstance(data_1, np.ndarray) or not isinstance(data_2, np.ndarray):
        return False
    if data_1.dtype == object and data_2.dtype == object:
        return data_1 is data_2 or any(map(data_shares_objects, data_1.flat, data_2.flat))
    try:
        return np.shares_memory(data_1, data_2, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return np.may_share_memory(data_1, data_2)
