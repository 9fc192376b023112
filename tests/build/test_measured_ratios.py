"""tools/measured_ratios.py writes measured ratios into docs/benchmarks.md, and draws a chart."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

RUN = {
    "bars": [
        {"measure": "CartPole n=64 / EnvPool sync", "measured": "7.5x", "value": 7.5},
        {"measure": "CartPole n=64 / PufferLib native", "measured": "no pufferlib", "value": None},
        {"measure": "seeding 1,000,000 lanes", "measured": "0.1 s", "value": 0.1},
        {"measure": "Acrobot-v1 n=1024 / EnvPool sync", "measured": "3x", "value": 3.0},
    ],
    "versions": {"gymnasium": "1.4.0", "envpool": "9.9"},
    "machine": {"cpu": "Some CPU", "threads": {"usable": 2}, "python": "3.12.1"},
    "repeats": 5,
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools/measured_ratios.py"
    spec = importlib.util.spec_from_file_location("measured_ratios", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_measured_ratios_become_rows(tool):
    assert tool.table(RUN).splitlines() == [
        "| compared with | gymcore's rate is |",
        "|---|---:|",
        "| CartPole-v1, 64 lanes: EnvPool, sync | 7.5x |",
        "| Acrobot-v1, 1024 lanes: EnvPool, sync | 3x |",
        "",
        "Medians of 5 rounds. Some CPU, 2 threads, Python 3.12.1; envpool 9.9, gymnasium 1.4.0.",
    ]


def test_only_what_is_between_the_marks_changes(tool):
    text = f"before\n{tool.BEGIN}\nold\n{tool.END}\nafter\n"
    assert tool.replaced(text, "new") == f"before\n{tool.BEGIN}\nnew\n{tool.END}\nafter\n"


def test_the_page_has_the_marks(tool):
    assert tool.replaced(tool.PAGE.read_text(), "x").count("\nx\n") == 1


def test_the_charts_are_pictures_of_what_was_measured(tool, tmp_path):
    rows = tool.rows_of(f"{tool.BEGIN}\n{tool.table(RUN)}\n{tool.END}\n")
    assert tool.bars_of_the_readme(rows) == [("CartPole: EnvPool", 7.5)]
    bars = tool.bars_against(rows, tool.CHARTS["envpool.png"])
    assert bars == [("CartPole-v1, 64 lanes", 7.5), ("Acrobot-v1, 1024 lanes", 3.0)]
    tool.draw_chart(bars[:1], "title", tmp_path / "images" / "chart.png")
    few = (tmp_path / "images" / "chart.png").stat().st_size
    tool.draw_chart(bars, "title", tmp_path / "images" / "chart.png")
    assert 1000 < few < (tmp_path / "images" / "chart.png").stat().st_size
    page = tool.PAGE.read_text()
    assert len(tool.bars_of_the_readme(tool.rows_of(page))) == len(tool.CHARTED)
    assert all(f"(images/{name})" in page for name in tool.CHARTS)


def test_every_worded_measure_is_one_of_the_benchmarks(tool, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    bars = importlib.import_module("bars")
    monkeypatch.delitem(sys.modules, "bars")
    assert tool.WORDS.keys() <= {bar.measure for bar in bars.bars(threads=2)}
