"""Running the same code under gymcore and under Gymnasium, and comparing the outcomes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import gymnasium

import gymcore


@dataclass
class Outcome:
    """Outcome of a call: its value or exception, and its warnings."""

    value: Any
    error: BaseException | None
    warnings: list[tuple[str, str]]


def normal(text: str) -> str:
    """Return `text` without package names, addresses and colors."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return re.sub("gymnasium|Gymnasium|gymcore", "gym", text)


def outcome(call: Callable[[], Any]) -> Outcome:
    """Make the call, and catch everything."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as problem:
            error = problem
    return Outcome(value, error, [(w.category.__name__, normal(str(w.message))) for w in caught])


def compare(
    scenario: Callable[[ModuleType], Any], *, message: bool = True, warns: bool = True
) -> Outcome:
    """Run `scenario` with each package and assert the same outcome; return gymcore's.

    An exception of gymcore may have an additional base class: it must be caught by the same
    `except`. Values are compared by their text.

    Args:
        scenario: Code to run; it gets the package.
        message: Whether an exception's message must begin with Gymnasium's.
        warns: Whether the warnings must be the same.
    """
    ours = outcome(lambda: scenario(gymcore))
    theirs = outcome(lambda: scenario(gymnasium))
    if theirs.error is not None:
        assert ours.error is not None, f"no {theirs.error!r}"
        caught_by = [cls.__name__ for cls in type(ours.error).__mro__]
        assert type(theirs.error).__name__ in caught_by, f"{ours.error!r} for {theirs.error!r}"
        if message:
            assert normal(str(ours.error)).startswith(normal(str(theirs.error)).rstrip())
    elif ours.error is not None:
        raise ours.error
    assert normal(repr(ours.value)) == normal(repr(theirs.value))
    if warns:
        assert ours.warnings == theirs.warnings
    return ours
