"""gymcore/math.h: errors of sine and cosine against mpmath, and the exact functions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ext.array_math import clip, mod_two_pi, sincos
from tests.ext.instruction_sets import available

Floats = npt.NDArray[np.float64]

# Bound stated in include/gymcore/math.h, in units in the last place of the true value.
BOUND = 0.85
BOUND_AT_LARGE_MULTIPLES = 1.1
HALF_PI = math.pi / 2
QUARTER_PI = math.pi / 4
# pi/2 in units of 2^-PLACES: a double below 2^20 is at least 2^-60 away from its multiples.
PLACES = 220


def ulps(got: float, true: mpmath.mpf) -> float:
    """Return the error of `got` in units in the last place of the true value."""
    if true == 0:
        return 0.0 if got == 0.0 else math.inf
    exponent = max(mpmath.frexp(true)[1] - 53, -1074)
    return float(abs(mpmath.mpf(got) - true) / mpmath.ldexp(1, exponent))


def worst_errors(x: Floats) -> tuple[float, float]:
    """Return the largest error of the sine and of the cosine of the numbers."""
    sine, cosine = sincos(x)
    with mpmath.workprec(150):
        true = [mpmath.cos_sin(mpmath.mpf(angle)) for angle in x.tolist()]
        return (
            max(ulps(got, value[1]) for got, value in zip(sine.tolist(), true, strict=True)),
            max(ulps(got, value[0]) for got, value in zip(cosine.tolist(), true, strict=True)),
        )


def quadrant_edges(random: np.random.Generator, count: int, turns: float) -> Floats:
    """Return numbers near odd multiples of pi/4: the largest reduced arguments and errors."""
    quarter = 2.0 * np.floor(random.uniform(-turns, turns, count)) + 1.0
    return quarter * QUARTER_PI + random.uniform(-(2.0**-8), 2.0**-8, count)


def near_multiples(random: np.random.Generator, count: int) -> Floats:
    """Return numbers at all distances from small multiples of pi/2."""
    near = np.round(random.uniform(-60, 60, count)) * HALF_PI
    return near + random.choice([-1.0, 1.0], count) * 10.0 ** random.uniform(-16, -1, count)


REGIONS = {
    "first quadrant": lambda random, n: random.uniform(-QUARTER_PI, QUARTER_PI, n),
    "states of CartPole": lambda random, n: random.uniform(-0.5, 0.5, n),
    "one turn": lambda random, n: random.uniform(-math.pi, math.pi, n),
    "some turns": lambda random, n: random.uniform(-100.0, 100.0, n),
    "up to 2^18": lambda random, n: random.uniform(-(2.0**18), 2.0**18, n),
    "up to 2^20": lambda random, n: random.uniform(-(2.0**20), 2.0**20, n),
    "quadrant edges, few turns": lambda random, n: quadrant_edges(random, n, 3),
    "quadrant edges, many turns": lambda random, n: quadrant_edges(random, n, 8e4),
    "near multiples of pi/2": near_multiples,
    "tiny": lambda random, n: random.uniform(-1, 1, n) * 2.0 ** random.uniform(-1074, -20, n),
    "every exponent": lambda random, n: (
        random.choice([-1.0, 1.0], n) * 2.0 ** random.uniform(-60, 18, n)
    ),
    "float32 values": lambda random, n: random.uniform(-20, 20, n).astype(np.float32).astype(float),
    "integers": lambda random, n: np.round(random.uniform(-(2.0**18), 2.0**18, n)),
}


@pytest.mark.parametrize("region", REGIONS)
def test_sine_and_cosine_are_within_the_stated_error(region: str) -> None:
    random = np.random.default_rng(sorted(REGIONS).index(region))
    sine_error, cosine_error = worst_errors(REGIONS[region](random, 2000))
    assert sine_error <= BOUND
    assert cosine_error <= BOUND


def test_the_largest_errors_found_so_far_stay_within_the_bound() -> None:
    # The worst of 60 million numbers near odd multiples of pi/4, against a 113-bit library.
    found = [
        "0x1.2d7a27eadf582p+1",
        "0x1.d5809eb9e32d5p+15",
        "0x1.98604558e77d3p+5",
        "0x1.0524809572ba9p+18",
    ]
    errors = worst_errors(np.array([float.fromhex(x) for x in found]))
    assert 0.82 <= max(errors) <= BOUND


def test_powers_of_two_and_their_neighbors() -> None:
    powers = 2.0 ** np.arange(-1074, 19)
    x = np.concatenate([powers, np.nextafter(powers, 0.0), np.nextafter(powers, np.inf)])
    assert max(*worst_errors(x), *worst_errors(-x)) <= BOUND


def half_pi() -> int:
    """Return pi/2 in units of 2^-PLACES."""
    with mpmath.workprec(PLACES + 40):
        return int(mpmath.floor(mpmath.ldexp(mpmath.pi / 2, PLACES)))


def errors_at_multiples(multiples: npt.NDArray[np.int64]) -> Floats:
    """Return errors at the doubles nearest to n pi/2, of the function that is almost zero there.

    The true value is +-(d - d^3 / 6) with d = x - n pi/2 below 2^-32. In integers, for speed.
    """
    unit, one = half_pi(), 1 << PLACES
    exact = [unit * n for n in multiples.tolist()]
    x = np.array([product / one for product in exact])
    sine, cosine = sincos(x)
    small = np.where(multiples % 2 == 0, sine, cosine)
    # sin(n pi/2 + d) and cos(n pi/2 + d) by n mod 4
    signs = np.array([1, -1, -1, 1])[multiples % 4]
    errors = np.empty(len(x))
    for k, (angle, got, sign) in enumerate(
        zip(x.tolist(), small.tolist(), signs.tolist(), strict=True)
    ):
        numerator, denominator = angle.as_integer_ratio()
        difference = numerator * (one // denominator) - exact[k]
        true = sign * (difference - (difference**3 >> (2 * PLACES)) // 6)
        numerator, denominator = got.as_integer_ratio()
        error = abs(numerator * (one // denominator) - true) / one
        errors[k] = error / math.ulp(true / one)
    return errors


def test_next_to_every_multiple_of_half_pi_up_to_2_18() -> None:
    assert errors_at_multiples(np.arange(1, int(2**18 / HALF_PI), 2)).max() <= BOUND
    assert errors_at_multiples(np.arange(2, 2**12, 2)).max() <= BOUND


def test_next_to_multiples_of_half_pi_up_to_2_20() -> None:
    errors = errors_at_multiples(np.arange(int(2**18 / HALF_PI) | 1, int(2**20 / HALF_PI), 2))
    assert errors.max() <= BOUND_AT_LARGE_MULTIPLES
    # The reduction rounds one product, n times the last part of pi/2. The header states two bounds
    # because of 263205 pi/2, which is 2^-52 away from a double.
    assert np.flatnonzero(errors > BOUND).tolist() == [(263205 - int(2**18 / HALF_PI) | 1) // 2]


@pytest.mark.parametrize("exponent", [20, 24, 28, 32, 40, 50])
def test_beyond_2_20_the_error_grows_with_the_argument(exponent: int) -> None:
    x = np.random.default_rng(exponent).uniform(2.0**exponent, 2.0 ** (exponent + 1), 1000)
    sine, cosine = sincos(x)
    with mpmath.workprec(150):
        errors = [
            float(max(abs(s - mpmath.sin(angle)), abs(c - mpmath.cos(angle))))
            for angle, s, c in zip(x.tolist(), sine.tolist(), cosine.tolist(), strict=True)
        ]
    assert (np.array(errors) <= x * 2.0**-52).all()


def test_sine_is_odd_cosine_is_even_and_neither_exceeds_one() -> None:
    random = np.random.default_rng(5)
    near = np.round(random.uniform(0, 2e5, 50_000)) * HALF_PI
    x = np.concatenate([random.uniform(0, 2.0**20, 200_000), near, np.nextafter(near, np.inf)])
    sine, cosine = sincos(x)
    negative_sine, negative_cosine = sincos(-x)
    np.testing.assert_array_equal(negative_sine, -sine)
    np.testing.assert_array_equal(negative_cosine, cosine)
    assert np.abs(sine).max() == 1.0
    assert np.abs(cosine).max() == 1.0


def test_zero_is_exact() -> None:
    sine, cosine = sincos([0.0, -0.0])
    assert sine.tolist() == [0.0, 0.0]
    assert cosine.tolist() == [1.0, 1.0]


def test_numbers_without_an_angle_give_something_and_return() -> None:
    x = np.array([math.nan, math.inf, -math.inf, 1e300, -1.7e308, 2.0**60, 2.0**51])
    sine, cosine = sincos(x)
    assert sine.shape == cosine.shape == mod_two_pi(x).shape == x.shape
    assert np.isnan(sine[0])
    assert np.isnan(cosine[0])


def python_mod(x: Floats) -> Floats:
    return np.array([value % (2 * math.pi) for value in x.tolist()])


@pytest.mark.parametrize("limit", [1e-300, 1e-17, 1.0, 4.0, 7.0, 100.0, 1e6, 2.0**26, 2.0**30])
def test_mod_two_pi_is_python_s_remainder(limit: float) -> None:
    x = np.random.default_rng(int(min(limit, 1e9))).uniform(-limit, limit, 40_000)
    np.testing.assert_array_equal(mod_two_pi(x), python_mod(x))


def test_mod_two_pi_next_to_whole_and_half_turns() -> None:
    random = np.random.default_rng(8)
    turns = np.concatenate([np.arange(-2000, 2000), random.integers(-(2**26), 2**26, 20_000)]) / 2
    x = turns * (2 * math.pi)
    for candidate in (x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)):
        np.testing.assert_array_equal(mod_two_pi(candidate), python_mod(candidate))


def test_mod_two_pi_of_negative_numbers_that_vanish_beside_two_pi() -> None:
    # Python adds 2 pi and rounds: the remainder of a tiny negative number is 2 pi itself.
    assert mod_two_pi([-1e-300, -1e-17]).tolist() == [2 * math.pi, 2 * math.pi]


@given(st.floats(-(2.0**30), 2.0**30))
def test_mod_two_pi_anywhere(x: float) -> None:
    assert float(mod_two_pi(x)) == x % (2 * math.pi)


@given(st.floats(-(2.0**30), 2.0**30))
def test_mod_two_pi_is_the_exact_remainder_rounded_once(x: float) -> None:
    exact = Fraction(x) % Fraction(2 * math.pi)
    assert float(mod_two_pi(x)) == float(exact)


@given(st.floats(), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_clip_is_numpy_s(x: float, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    np.testing.assert_array_equal(clip([x], low, high), np.clip([x], low, high))


def test_clip_with_crossed_bounds_gives_the_upper_one() -> None:
    assert clip([-5.0, 0.0, 5.0], 2.0, 1.0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("isa", available())
def test_every_instruction_set_gives_the_same_bytes(isa: str) -> None:
    random = np.random.default_rng(3)
    x = np.concatenate(
        [make(random, 3000) for make in REGIONS.values()] + [[math.nan, math.inf, 1e300]]
    )
    for count in [*range(40), len(x)]:
        for got, expected in zip(
            (
                *sincos(x[:count], isa=isa),
                mod_two_pi(x[:count], isa=isa),
                clip(x[:count], -1.0, 2.0, isa=isa),
            ),
            (
                *sincos(x[:count], isa="baseline"),
                mod_two_pi(x[:count], isa="baseline"),
                np.clip(x[:count], -1.0, 2.0),
            ),
            strict=True,
        ):
            assert got.tobytes() == expected.tobytes()


def test_one_number_alone_has_the_bits_it_has_in_an_array() -> None:
    x = quadrant_edges(np.random.default_rng(4), 500, 1e4)
    sine, cosine = sincos(x)
    alone = [sincos(angle) for angle in x.tolist()]
    assert np.array([float(one) for one, _ in alone]).tobytes() == sine.tobytes()
    assert np.array([float(other) for _, other in alone]).tobytes() == cosine.tobytes()
