"""Functions that programs import beside Acrobot: angles, bounds, Runge-Kutta.

The environment does not use these: its equations are in `gymcore_ext.physics.acrobot`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument

__all__ = ["bound", "rk4", "wrap"]


def wrap(x: float, m: float, M: float) -> float:
    """Bring a number into [m, M] by adding or subtracting the width of the interval.

    Args:
        x: The number, an angle for instance.
        m: Lower bound.
        M: Upper bound.

    Raises:
        InvalidArgument: no numbers for which that comes to an end (a `ValueError`).

    Example:
        >>> wrap(190, -180, 180)
        -170
    """
    width = M - m
    if not (np.isfinite(x) and np.isfinite(width) and width > 0):
        raise InvalidArgument(f"wrap: expected a finite x and m < M, got x={x}, m={m}, M={M}")
    while x > M and x - width != x:
        x = x - width
    while x < m and x + width != x:
        x = x + width
    return x


def bound(x: float, m: Any, M: float | None = None) -> float:
    """Clip a number to [m, M].

    Args:
        x: The number.
        m: Lower bound, or both bounds if `M` is None.
        M: Upper bound.

    Raises:
        ArgumentTypeError: one bound alone (a `TypeError`).

    Example:
        >>> bound(5, 0, 1), bound(-5, (0, 1))
        (1, 0)
    """
    if M is None:
        try:
            m, M = m[0], m[1]
        except (TypeError, IndexError):
            raise ArgumentTypeError(f"m: expected two bounds where M is None, got {m!r}") from None
    clipped: float = min(max(x, m), M)
    return clipped


def rk4(
    derivs: Callable[[Any], npt.ArrayLike], y0: npt.ArrayLike, t: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Integrate an autonomous differential equation by the classical Runge-Kutta method.

    Args:
        derivs: From a state [n] to its derivatives [n].
        y0: The state at `t[0]`, float64 [n]; not changed.
        t: Times; one step from each to the next.

    Returns:
        The first four numbers of the state at `t[-1]`: of Acrobot's, what is not a torque.

    Raises:
        InvalidArgument: no times, or a state that is no row of numbers (a `ValueError`).

    Example:
        >>> rk4(lambda y: -y, [1.0, 2.0], [0, 0.1, 0.2]).round(4)
        array([0.8187, 1.6375])
    """
    state = np.array(y0, np.float64)
    if state.ndim != 1 or not len(t):
        raise InvalidArgument(
            f"rk4: expected a state [n] and at least one time, got shape {state.shape} and t={t!r}"
        )
    for before, after in itertools.pairwise(t):
        step = after - before
        half = step / 2.0
        first = np.asarray(derivs(state))
        second = np.asarray(derivs(state + half * first))
        third = np.asarray(derivs(state + half * second))
        last = np.asarray(derivs(state + step * third))
        state = state + step / 6.0 * (first + 2 * second + 2 * third + last)
    return state[:4]
