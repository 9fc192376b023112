"""Random reward expressions: each is refused, fails or returns in time, with little memory."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from gymcore.environment.shaping import EXPRESSION_FUNCTIONS, MODULES, VARIABLES, parse_expression
from gymcore.error import InvalidArgument

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

NUMBERS = (
    *("0", "1", "2", "-1", "0.5", "3", "7", "32", "33", "1000", "30000000", "1000000000", "1e308"),
    *("-1000000000", "18446744073709551616", "True", "False", "1e-300", "64", "-300", "5j", "'x'"),
)
CALLS = (
    *EXPRESSION_FUNCTIONS,
    *(f"{module}.{name}" for module, names in MODULES.items() for name in names),
    *("open", "np.zeros", "np.load", "states.tofile", "__import__", "np.exp.at"),
)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "==", "and", "or", "@", "<<", ",", "if")
PLACES = ("0", "-1", ":", "1:", ":, 0", "'x'", "..., None", "True", "[0, 0, 1]", "None", ":, :, :")


def expression(rng: np.random.Generator, depth: int) -> str:
    """Return text that is often a Python expression."""
    kind = int(rng.integers(8)) if depth else int(rng.integers(2))
    if kind == 0:
        return str(rng.choice(VARIABLES))
    if kind == 1:
        return str(rng.choice(NUMBERS))

    def part() -> str:
        return expression(rng, depth - 1)

    if kind in (2, 3):
        operator = str(rng.choice(OPERATORS))
        if operator == "if":
            return f"({part()} if {part()} else {part()})"
        return f"({part()} {operator} {part()})"
    if kind in (4, 5):
        arguments = ", ".join(part() for _ in range(rng.integers(1, 4)))
        return f"{rng.choice(CALLS)}({arguments})"
    if kind == 6:
        place = part() if rng.random() < 0.4 else str(rng.choice(PLACES))
        return f"{part()}[{place}]"
    return f"{rng.choice(['-', 'not ', '+', '~'])}{part()}"


def changed(rng: np.random.Generator, text: str) -> str:
    """Return the text, sometimes with characters changed, doubled or left out."""
    if rng.random() < 0.8 or not text:
        return text
    at, size = int(rng.integers(len(text))), int(rng.integers(1, 9))
    return str(
        rng.choice(
            [
                text[:at] + text[at + size :],
                text[:at] + text[at : at + size] * 3 + text[at + size :],
                text[:at] + str(rng.choice(list("()[]*:,.'\\{}!=\x00é"))) + text[at:],
            ]
        )
    )


def test_expressions(rng, rounds, limits) -> None:
    images = rng.normal(size=(64, 64))
    variables = [
        dict(zip(VARIABLES, (np.ones(4), 1, 0, 1.0, np.ones(4)), strict=True)),
        dict.fromkeys(VARIABLES, images),
        {name: {"x": np.arange(6).reshape(2, 3)} for name in VARIABLES},
        dict(zip(VARIABLES, (3, [1, 2], True, np.float32(2), 5), strict=True)),
    ]
    evaluated = 0
    for count in rounds:
        text = changed(rng, expression(rng, int(rng.integers(1, 6))))
        with limits(text), contextlib.suppress(InvalidArgument):
            parse_expression(text)(variables[count % 4])
            evaluated += 1
    print(f"{evaluated} expressions evaluated")
