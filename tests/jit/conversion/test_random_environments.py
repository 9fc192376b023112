"""Random environments give the same results after conversion."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

from gymcore import jit
from tests.jit.conversion.random_environments import HEAD, TAIL, class_of, sources

pytestmark = pytest.mark.slow


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
    "lines",
    [
        ["self.cells[(self.kept.count if self.queue and self.n > 1 else 2) % 4] += 1"],
        [
            "for k, w in enumerate(self.table):",
            "    self.y = w",
            "for k, c in self.marks:",
            "    k",
        ],
        ["self.queue = []", "if self.queue and self.n > 1:", "    self.x = 1"],
        ["self.queue = []", "if not (self.queue and self.n > 1):", "    self.queue.append(0.5)"],
        ["self.n += 1 if (self.marks or self.queue) and self.n > 1 else 0", "self.queue = []"],
        ["self.x = sum(w for w in self.v if self.queue)", "self.queue = []"],
        ["assert self.queue", "self.queue.append(0.5)"],
    ],
    ids="; ".join,
)
def test_lines_that_were_once_refused(lines, monkeypatch):
    monkeypatch.setenv("GYMCORE_JIT", "0")
    body = "".join(f"        {line}\n" for line in lines)
    jit.convert(class_of(f"{HEAD}{body}{TAIL}"), seeds=2, steps=30)
