"""Checking what `AsyncVectorEnv` is made with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gymcore.core import Env
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.utils.cpus import usable_cpus
from gymcore.vector.engine_options import check_threads, positive
from gymcore.vector.vector_env import AutoresetMode
from gymcore.vector.workers.plan import Bounds, split_lanes

__all__ = ["AsyncOptions", "checked_timeout"]


class AsyncOptions(NamedTuple):
    """Options that have been checked.

    Attributes:
        env_fns: The functions.
        autoreset_mode: When an ended environment is reset.
        bounds: Lanes `[lo, hi)` of each worker.
        batch_size: How many results `recv` returns.
    """

    env_fns: tuple[Callable[[], Env[Any, Any]], ...]
    autoreset_mode: AutoresetMode
    bounds: Bounds
    batch_size: int

    @classmethod
    def checked(
        cls,
        env_fns: Iterable[Callable[[], Env[Any, Any]]],
        autoreset_mode: str | AutoresetMode,
        max_concurrency: int | None,
        num_workers: int | None,
        batch_size: int | None,
        on_worker_death: str,
        num_threads: int | None,
    ) -> AsyncOptions:
        """Check the arguments of `AsyncVectorEnv`; see there.

        Raises:
            InvalidArgument: An impossible value (a `ValueError`).
            ArgumentTypeError: One of the wrong type (a `TypeError`).
        """
        functions = tuple(env_fns)
        if not functions:
            raise InvalidArgument("env_fns: expected at least one function, got none")
        for i, function in enumerate(functions):
            if not callable(function):
                raise ArgumentTypeError(f"env_fns[{i}]: expected a function, got {type(function)}")
        n = len(functions)
        mode = AutoresetMode(autoreset_mode)
        if on_worker_death not in ("raise", "restart"):
            raise InvalidArgument(
                f"on_worker_death: expected 'raise' or 'restart', got {on_worker_death!r}"
            )
        workers = usable_cpus() if num_workers is None else positive("num_workers", num_workers)
        if max_concurrency is not None:
            workers = min(workers, _checked_concurrency(max_concurrency))
        size = n if batch_size is None else positive("batch_size", batch_size, n)
        check_threads(num_threads)  # only to refuse what other engines refuse
        return cls(functions, mode, split_lanes(n, min(workers, n)), size)


def _checked_concurrency(max_concurrency: Any) -> int:
    try:
        count = positive("max_concurrency", max_concurrency)
    except ArgumentTypeError:
        raise InvalidArgument(
            f"`max_concurrency` must be an integer or None, got {type(max_concurrency)}."
        ) from None
    except InvalidArgument:
        raise InvalidArgument(
            f"`max_concurrency` must be a positive or None, got {max_concurrency}."
        ) from None
    return count


def checked_timeout(timeout: Any) -> float | None:
    """Return a time-out (s) that something can be compared with; None is for ever.

    Raises:
        ArgumentTypeError: No number (a `TypeError`).
        InvalidArgument: nan (a `ValueError`).
    """
    if timeout is None:
        return None
    if not isinstance(timeout, (int, float, np.number)):
        raise ArgumentTypeError(f"timeout: expected seconds or None, got {timeout!r}")
    if math.isnan(timeout):
        raise InvalidArgument("timeout: expected seconds or None, got nan")
    return timeout  # type: ignore[return-value]
