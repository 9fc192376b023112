"""A batch that cannot be made raises, and leaves no half-made object behind."""

from __future__ import annotations

from typing import Any

import pytest

from gymcore import error
from gymcore_ext.engine.batch import Batch
from gymcore_ext.physics.pendulum import kernel


@pytest.mark.parametrize(
    ("num_envs", "options", "raised", "message"),
    [
        (0, {}, error.InvalidArgument, "num_envs: expected at least 1, got 0"),
        (-3, {}, error.InvalidArgument, "num_envs: expected at least 1, got -3"),
        (2, {"isa": "vax"}, ValueError, "expected one of baseline"),
        (2, {"num_threads": 0}, error.InvalidArgument, "num_threads: expected at least 1, got 0"),
        (2, {"limit": -1}, error.InvalidArgument, "limit: expected 0 for none"),
        (2, {"color": "red"}, TypeError, "color"),
        (2**45, {}, MemoryError, f"no memory for {2**45} lanes of pendulum"),
        # 69 bytes per lane: the product is 64 modulo 2^64.
        (pow(69, -1, 2**64) * 64 % 2**63, {}, MemoryError, "lanes of pendulum"),
    ],
)
def test_wrong_arguments(
    num_envs: int, options: dict[str, Any], raised: type[Exception], message: str
) -> None:
    for _ in range(3):
        with pytest.raises(raised, match=message):
            Batch(kernel, num_envs, errors=error, **options)


@pytest.mark.parametrize("wrong", [None, object(), "pendulum", pytest])
def test_a_kernel_that_is_none(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"kernel: expected a capsule named gymcore_ext\.kernel"):
        Batch(wrong, 1, errors=error)
