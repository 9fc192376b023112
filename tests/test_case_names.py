"""The names of the cases of tests, which `-k` finds and which are the same in each process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore.spaces import Box
from tests.conftest import pytest_make_parametrize_id

ITSELF: list[Any] = []
ITSELF.append(ITSELF)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"gravity": 1.0}, "{'gravity': 1.0}"),
        ([np.float32(2), None], "[np.float32(2.0), None]"),
        (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])"),
        (Box(0, 1, (2,)), "Box(0.0, 1.0, (2,), float32)"),
        ("x" * 100, None),  # pytest names texts, numbers, functions and classes
        (5, None),
        (len, None),
        (list(range(100)), repr(list(range(100)))[:80]),
        ({"a", "b"}, None),
        ([{"a", "b"}], None),
        ([object()], None),
        ({"key": lambda: None}, None),
        (ITSELF, None),
        (DEEP, None),
    ],
)
def test_names(value: object, name: str | None) -> None:
    assert pytest_make_parametrize_id(value) == name
