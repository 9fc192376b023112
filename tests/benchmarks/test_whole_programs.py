"""benchmarks/whole_programs.py trains with environments of each kind, and draws its results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.benchmarks.scripts import ROOT, script

pytestmark = pytest.mark.slow

pytest.importorskip("torch")
SCRIPT = ROOT / "benchmarks" / "whole_programs.py"


def names() -> list[str]:
    spec = importlib.util.spec_from_file_location("whole_programs", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [*module.PROGRAMS]


@pytest.mark.parametrize("name", ["CartPole: gymcore.make_vec", names()[0]])
def test_a_program_reports_its_processor_time(name: str) -> None:
    ran = script(SCRIPT, "--program", name, "--total-steps", "8192")
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) > 0


def test_the_chart_shows_every_program(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    measured = {"steps": 1000, "seconds": {name: [1.0, 2.0] for name in names()}}
    (tmp_path / "whole.json").write_text(json.dumps(measured))
    ran = script(SCRIPT, "--draw", tmp_path / "whole.json", tmp_path / "chart.png")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
