"""Random environments give the same results after conversion."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

from gymcore import jit
from tests.jit.conversion.random_environments import HEAD, TAIL, class_of, sources


@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.timeout(3000)
def test_converted_classes_equal_the_originals(count, monkeypatch):
    monkeypatch.setenv("GYMCORE_JIT", "0")

    @given(sources)
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    def check(source: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            jit.convert(class_of(source), seeds=2, steps=30)

    check()


@pytest.mark.parametrize(
    "line",
    ["self.cells[(self.kept.count if self.queue and self.pair[0] > 1 else 2) % 4] += 1"],
)
def test_sources_that_were_converted_wrongly(line, monkeypatch):
    monkeypatch.setenv("GYMCORE_JIT", "0")
    jit.convert(class_of(f"{HEAD}        {line}\n{TAIL}"), seeds=2, steps=30)
