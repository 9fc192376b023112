"""The scaling benchmark prints a row for every engine that is installed."""

from __future__ import annotations

import json
import os

import pytest

from tests.benchmarks.scripts import script

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="needs a system that lets programs choose CPUs"
)


@pytest.mark.slow
def test_rows_files_and_missing_engines(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    numbers, picture = tmp_path / "scaling.json", tmp_path / "scaling.png"
    words = ["--only", "Taxi", "Brief", "--cpus", 2, "--repeats", 2, "--seconds", 0.01]
    done = script("benchmarks/scaling.py", *words, "--json", numbers, "--plot", picture)
    assert done.returncode == 0, done.stderr
    rows = json.loads(numbers.read_text())
    counts = sorted({min(k, len(os.sched_getaffinity(0))) for k in (1, 2)})
    engines = {(row["env_id"], row["kind"], row["engine"]) for row in rows}
    assert engines - {("Taxi-v3", kind, "envpool") for kind in ("weak", "strong")} == {
        ("Taxi-v3", "weak", "gymcore"),
        ("Taxi-v3", "weak", "gymcore-default"),
        ("Taxi-v3", "strong", "gymcore"),
        ("Taxi-v3", "strong", "gymcore-default"),
        ("Brief", "workers", "gymcore-AsyncVectorEnv"),
    }
    for row in rows:
        assert [int(k) for k in row["rates"]] == counts
        assert all(len(rates) == 2 and min(rates) > 0 for rates in row["rates"].values())
    assert ("Taxi-v3", "weak", "envpool") in engines or "Taxi-v3 weak, envpool: " in done.stderr
    assert picture.stat().st_size > 0


def test_an_interpreter_that_does_not_exist(tmp_path):
    done = script("benchmarks/scaling.py", "--python", f"envpool={tmp_path / 'python'}")
    assert done.returncode == 2 and "expected LIBRARY=PATH of an interpreter" in done.stderr
