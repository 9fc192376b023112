"""Properties that access attributes of the wrapped object."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gymcore.base.forwarded import forwarded, overridable, settable


class Outer:
    read = forwarded("read", "Only read.")
    written = settable("written", "Read and written.")
    own = overridable("own", "Read, or set here.")

    def __init__(self, env: Any) -> None:
        self.env = env


def test_attributes_are_those_of_the_wrapped_object() -> None:
    inner = SimpleNamespace(read=1, written=2, own=3)
    outer = Outer(inner)
    assert (outer.read, outer.written, outer.own) == (1, 2, 3)
    inner.read, inner.written, inner.own = 4, 5, 6
    assert (outer.read, outer.written, outer.own) == (4, 5, 6)


def test_which_attributes_can_be_set() -> None:
    inner = SimpleNamespace(read=1, written=2, own=3)
    outer = Outer(inner)
    with pytest.raises(AttributeError):
        outer.read = 7
    outer.written, outer.own = 8, 9
    assert vars(inner) == {"read": 1, "written": 8, "own": 3}
    assert (outer.read, outer.written, outer.own) == (1, 8, 9)
    outer.own = None
    assert outer.own == 3


def test_docstrings_and_missing_attributes() -> None:
    assert Outer.written.__doc__ == "Read and written."
    with pytest.raises(AttributeError, match="read"):
        _ = Outer(SimpleNamespace()).read
