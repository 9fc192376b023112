"""The script for processor time prints one row per id and number of lanes."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "processor_time.py"


def test_a_row_each(monkeypatch, capsys):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    words = ["CartPole-v1", "--lanes", "2", "3", "--rounds", "1", "--seconds", "0.02"]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    rows = capsys.readouterr().out.splitlines()[1:]
    number = r"\d+\.\d"
    for lanes, row in zip((2, 3), rows, strict=True):
        assert re.match(rf"\| CartPole-v1 \| {lanes} \| {number} \| {number} \| {number} \|", row)
