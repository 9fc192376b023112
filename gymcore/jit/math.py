"""The functions of the built-in kernels, and `powf`.

The functions of the kernels have the same bits on every machine: each performs the operations of
its counterpart in `gymcore_ext/include/gymcore/math.h`, in the same order. Numba inlines them, and
loops that call them are vectorized.
"""

from __future__ import annotations

import math
from math import sqrt

import numpy as np

__all__ = [
    "clip",
    "cos",
    "floor",
    "mod_two_pi",
    "powf",
    "round_half_even",
    "select",
    "sin",
    "sincos",
    "sqrt",
]

_HALF_PI = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))
)
_HALF_PI_1, _HALF_PI_2, _HALF_PI_3 = _HALF_PI
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
_TURNS_PER_RADIAN = float.fromhex("0x1.45f306dc9c883p-3")
_TWO_PI = 2.0 * math.pi
_TWO_PI_HEAD, _TWO_PI_REST = float.fromhex("0x1.921fb5p+2"), float.fromhex("0x1.110b46p-24")
_ROUND_SHIFT = 6755399441055744.0

_S0, _S1, _S2, _S3, _S4, _S5 = map(
    float.fromhex,
    (
        *("-0x1.5555555555549p-3", "0x1.111111110f928p-7", "-0x1.a01a019c340cep-13"),
        *("0x1.71de359aecad6p-19", "-0x1.ae5e832295e33p-26", "0x1.5d9b4fce7d9b1p-33"),
    ),
)
_C0, _C1, _C2, _C3, _C4, _C5 = map(
    float.fromhex,
    (
        *("0x1.555555555554cp-5", "-0x1.6c16c16c15046p-10", "0x1.a01a019c43e0ep-16"),
        *("-0x1.27e4f780ec494p-22", "0x1.1ee971b7d5564p-29", "-0x1.8f67fc082dccep-37"),
    ),
)


def select(condition: bool, yes: float, no: float) -> float:
    """Return `yes` if the condition holds, otherwise `no`; both are always computed."""
    return yes if condition else no


def powf(x: float, y: float) -> float:
    """Return the power of two numbers of type np.float32.

    It calls the C library, as NumPy does for numbers; for arrays, NumPy may compute other bits.
    """
    return float(np.float32(x) ** np.float32(y))


def round_half_even(x: float) -> float:
    """Return the nearest integer as a float, with ties to even, for `|x| < 2^51`."""
    return (x + _ROUND_SHIFT) - _ROUND_SHIFT


def floor(x: float) -> float:
    """Return the largest integer not above x as a float, for `|x| < 2^51`."""
    nearest = (x + _ROUND_SHIFT) - _ROUND_SHIFT
    return nearest - (1.0 if nearest > x else 0.0)


def sincos(x: float) -> tuple[float, float]:
    """Return sine and cosine of x (radians), with an error of at most 0.85 ulp for `|x| <= 2^18`.

    Examples:
        >>> sincos(0.5)
        (0.479425538604203, 0.8775825618903728)
    """
    shifted = x * _TWO_OVER_PI + _ROUND_SHIFT
    n = shifted - _ROUND_SHIFT
    first = x - n * _HALF_PI_1
    second_product = n * _HALF_PI_2
    second = first - second_product
    rest = n * _HALF_PI_3 - ((first - second) - second_product)
    y = second - rest
    tail = (second - y) - rest

    z = y * y
    cube = z * y
    s = _S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * _S5)))
    sine_y = y - ((z * (0.5 * tail - cube * s) - tail) - cube * _S0)
    c = z * (_C0 + z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * _C5)))))
    half = 0.5 * z
    head = 1.0 - half
    cosine_y = head + (((1.0 - head) - half) + (z * c - y * tail))

    # The lowest bits of the sum are those of the integer n; converting n would not be vectorized.
    quadrant = int(np.float64(shifted).view(np.int64))
    sine = cosine_y if quadrant & 1 else sine_y
    cosine = sine_y if quadrant & 1 else cosine_y
    return -sine if quadrant & 2 else sine, -cosine if (quadrant + 1) & 2 else cosine


def sin(x: float) -> float:
    """Return the sine of x (radians); see `sincos`."""
    return sincos(x)[0]


def cos(x: float) -> float:
    """Return the cosine of x (radians); see `sincos`."""
    return sincos(x)[1]


def mod_two_pi(x: float) -> float:
    """Return `x % (2 pi)`, for `|x| <= 2^30`."""
    shifted = x * _TURNS_PER_RADIAN + _ROUND_SHIFT
    turns = shifted - _ROUND_SHIFT
    remainder = (x - turns * _TWO_PI_HEAD) - turns * _TWO_PI_REST
    return remainder + _TWO_PI if remainder < 0.0 else remainder


def clip(x: float, low: float, high: float) -> float:
    """Return the number in `[low, high]` that is nearest to x."""
    raised = low if x < low else x
    return high if raised > high else raised
