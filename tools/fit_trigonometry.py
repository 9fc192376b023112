"""Fit the polynomials that ``gymcore_ext/include/gymcore/math.h`` uses for sine and cosine.

Run ``python tools/fit_trigonometry.py``; it prints the coefficients as C hexadecimal literals with
the largest error of each fit, and the three-part split of pi/2. Needs mpmath.
"""

from __future__ import annotations

import itertools
import math

from mpmath import cos, lu_solve, matrix, mp, mpf, pi, polyval, sin, sqrt

mp.prec = 200

# Largest reduced argument, pi/4, with a margin for a quotient that was rounded the other way.
LIMIT = (pi / 4 * (1 + mpf(2) ** -20)) ** 2


def sine_tail(z: mpf) -> mpf:
    """Return (sin(x) / x - 1) / z with z = x * x, finite at zero."""
    if z < mpf(10) ** -20:
        return -mpf(1) / 6 + z / 120
    x = sqrt(z)
    return (sin(x) / x - 1) / z


def cosine_tail(z: mpf) -> mpf:
    """Return (cos(x) - 1 + z / 2) / z ** 2 with z = x * x, finite at zero."""
    if z < mpf(10) ** -12:
        return mpf(1) / 24 - z / 720 + z * z / 40320
    return (cos(sqrt(z)) - 1 + z / 2) / z**2


def remez(function, weight, terms: int, fixed: list[mpf]) -> list[mpf]:
    """Return minimax coefficients, lowest first, of weight * (polynomial - function) on [0, LIMIT].

    The lowest coefficients are held at ``fixed``: each coefficient is rounded to double, and the
    remaining ones are fitted again to compensate for the rounding.
    """
    free = terms - len(fixed)
    points = [LIMIT * (1 - cos(pi * (k + mpf(1) / 2) / (free + 1))) / 2 for k in range(free + 1)]

    def residual(z: mpf, coefficients: list[mpf]) -> mpf:
        return weight(z) * (polyval(coefficients[::-1], z) - function(z))

    for _ in range(12):
        system, target = matrix(free + 1, free + 1), matrix(free + 1, 1)
        for row, z in enumerate(points):
            for column in range(free):
                system[row, column] = weight(z) * z ** (column + len(fixed))
            system[row, free] = (-1) ** row
            target[row] = -residual(z, fixed or [mpf(0)])
        solution = lu_solve(system, target)
        coefficients = fixed + [solution[k] for k in range(free)]
        grid = [LIMIT * k / 600 for k in range(1, 601)]
        errors = [residual(z, coefficients) for z in grid]
        signs = [0, *[k for k in range(1, 600) if errors[k] * errors[k - 1] < 0], 600]
        extrema = [
            max(range(lo, hi), key=lambda k: abs(errors[k])) for lo, hi in itertools.pairwise(signs)
        ]
        if len(extrema) != free + 1:
            break
        points = [grid[k] for k in extrema]
    return coefficients


def fit(name: str, function, weight, terms: int) -> None:
    """Print the coefficients of one fit and its largest error relative to the fitted function."""
    rounded: list[mpf] = []
    while len(rounded) < terms:
        rounded.append(mpf(float(remez(function, weight, terms, rounded)[len(rounded)])))
    worst = max(
        abs(weight(z) * (polyval(rounded[::-1], z) - function(z)))
        for z in (LIMIT * k / 500 for k in range(501))
    )
    for power, coefficient in enumerate(rounded):
        print(f"#define GYMCORE_{name}_{power} {float(coefficient).hex()}")
    print(f"/* {name}: largest error of the fit 2^{float(mp.log(worst, 2)):.1f} */")


def split_half_pi() -> None:
    """Split pi/2: two parts of 33 bits (products with |n| < 2^20 are exact), and the rest."""
    rest = pi / 2
    for part in (1, 2):
        exponent = math.floor(mp.log(rest, 2))
        scale = mpf(2) ** (32 - exponent)
        head = mp.floor(rest * scale) / scale
        print(f"#define GYMCORE_HALF_PI_{part} {float(head).hex()}")
        rest -= head
    print(f"#define GYMCORE_HALF_PI_3 {float(rest).hex()}")
    print(f"#define GYMCORE_TWO_OVER_PI {float(2 / pi).hex()}")


if __name__ == "__main__":
    fit("SINE", sine_tail, lambda z: z, 6)
    fit("COSINE", cosine_tail, lambda z: z * z, 6)
    split_half_pi()
