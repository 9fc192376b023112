"""`match` statements become `if` statements in the same lines."""

from __future__ import annotations

import pytest

from gymcore.jit.conversion.matches import without_matches


def test_cases_become_conditions():
    text = """\
def f(self, x):
    match self.mode:  # a comment
        case "é" | Mode.WILD if x > 2: return 1
        case None | True:
            match x:
                case 3:  # three
                    return 2
        case _:
            return 3
    match x:
        case _ if self.mode:
            return 4
"""
    expected = """\
def f(self, x):
    if True:  # a comment
        if (self.mode == 'é' or self.mode == Mode.WILD) and (x > 2): return 1
        elif self.mode is None or self.mode is True:
            if True:
                if x == 3:  # three
                    return 2
        else:
            return 3
    if True:
        if self.mode:
            return 4
"""
    assert without_matches(text) == expected.rstrip("\n")


@pytest.mark.parametrize(
    "text",
    [
        "match f(x):\n    case 1:\n        pass",
        "match x:\n    case [a, b]:\n        pass",
        "match x:\n    case 1:\n        pass\n    case y:\n        pass",
        "match x:\n    case (1 |\n            2):\n        pass",
        "match (x):\n    case 1:\n        pass",
    ],
)
def test_other_statements_stay(text):
    assert without_matches(text) == text
