"""benchmarks/ping_pong.py runs and measures where there are a C compiler and futexes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which(os.environ.get("CC", "cc")) is None,
    reason="needs Linux and a C compiler",
)
def test_measures_the_channel_against_raw_futexes(tmp_path):
    out = tmp_path / "rows.json"
    script = str(ROOT / "benchmarks" / "ping_pong.py")
    words = [sys.executable, script, "--rounds", "50", "--repeats", "2", "--json", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), (
        done.stderr
    )  # 1: the bar is missed, as may happen on a busy machine
    assert "bar: blocking" in done.stdout
    rows = json.loads(out.read_text())["rows"]
    assert {row["way"] for row in rows} <= {"blocking", "spinning"}
    assert {row["processes"] for row in rows} >= {"one CPU", "anywhere"}
    for row in rows:
        assert row["raw_us"] > 0 and row["channel_us"] > 0
        assert row["ratio"] == pytest.approx(row["channel_us"] / row["raw_us"])
