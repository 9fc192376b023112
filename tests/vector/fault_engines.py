"""The engines that a fault test runs over: by default, and with `pytest -m soak`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

import gymcore.vector.async_vector_env  # noqa: F401 (here once, not in each forked test)

# Mark that excludes a test by default.
SOAK = pytest.mark.soak

# The engines: "sync", or "shm" or "pipes" with a start method.

_ASYNC = [f"{m}-{method}" for method in ("fork", "spawn", "forkserver") for m in ("shm", "pipes")]


def engines(*, sync: bool = True, more: Sequence[str] = ()) -> Any:
    """Parametrize a test over `engine`.

    Args:
        sync: Whether to include the engine without processes.
        more: Engines of other start methods than "fork" to run by default. Starting them is slow,
            so the others run only with `pytest -m soak`.
    """
    default = ["shm-fork", "pipes-fork", *more]
    return pytest.mark.parametrize(
        "engine",
        (["sync"] if sync else [])
        + [pytest.param(one, marks=() if one in default else SOAK) for one in _ASYNC],
    )


def engines_and(
    names: str, values: Iterable[Any], *, sync: bool = False, more: Sequence[str] = ()
) -> Any:
    """Parametrize a test over `engine` and other parameters.

    By default all values run with "sync" and "shm-fork", the first value also with "pipes-fork" and
    `more`. All other combinations run with `pytest -m soak`.

    Args:
        names: Names of the other parameters, separated by commas.
        values: Their values; tuples, if there are several parameters.
        sync: As for `engines`.
        more: As for `engines`.
    """
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    cases = [("sync", *row) for row in rows] if sync else []
    for engine in _ASYNC:
        for k, row in enumerate(rows):
            often = engine == "shm-fork" or (k == 0 and engine in ("pipes-fork", *more))
            cases.append(pytest.param(engine, *row, marks=() if often else SOAK))
    return pytest.mark.parametrize(f"engine,{names}", cases)


ASYNC = engines(sync=False)
