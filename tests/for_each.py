"""One test for many small cases, where pytest's overhead per test would exceed the case itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., None]


def for_each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], object] = repr
) -> Callable[[Test], Test]:
    """Parametrize like `pytest.mark.parametrize`, but as one test whose cases share its fixtures.

    Every case runs. A failed test lists each case that failed; its cause is the first failure.
    """
    single = isinstance(names, str) and "," not in names
    parameters = names.replace(",", " ").split() if isinstance(names, str) else names
    rows = [(case,) if single else tuple(case) for case in cases]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            failures: list[tuple[str, Exception]] = []
            for row in rows:
                try:
                    test(*args, **kwargs, **dict(zip(parameters, row, strict=True)))
                except Exception as failure:
                    failures.append((", ".join(str(ids(value)) for value in row), failure))
            if failures:
                lines = "".join(f"\n[{id}] {failure!r}"[:500] for id, failure in failures)
                raise AssertionError(
                    f"{len(failures)} of {len(rows)} cases failed:{lines}"
                ) from failures[0][1]

        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
