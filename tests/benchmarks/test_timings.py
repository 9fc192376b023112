"""The timings of `benchmarks/` run; they are too short here to mean anything."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.scripts import script

pytestmark = pytest.mark.slow

# Only the required plugins: importing all takes longer than many timings.
PLUGINS = ("-p", "pytest_benchmark.plugin", "-p", "pytest_timeout")


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_every_timing_runs_once():
    """Except Gymnasium's spaces and the largest batches: the same functions, but slow."""
    ran = script(
        "-m", "pytest", "benchmarks", "-q", "--benchmark-disable", "-p", "no:cacheprovider",
        *PLUGINS, "-k", "not (bench_spaces and gymnasium) and not 65536 and not unread",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert " passed" in ran.stdout and "failed" not in ran.stdout


def test_a_timing_notes_its_rate(tmp_path):
    ran = script(
        "-m", "pytest", "benchmarks/bench_step.py", "-q", "-p", "no:cacheprovider", *PLUGINS,
        "-k", "single and Pendulum", "--benchmark-max-time=0.01", "--benchmark-warmup=off",
        f"--benchmark-json={tmp_path / 'timing.json'}",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:]
    (timing,) = json.loads((tmp_path / "timing.json").read_text())["benchmarks"]
    assert timing["extra_info"]["steps_per_second"] > 0
