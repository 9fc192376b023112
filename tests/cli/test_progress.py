"""Reports of progress: a bar on a terminal, lines otherwise."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from gymcore.cli import progress as module
from gymcore.cli.progress import progress


def test_lines_become_rarer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    with progress("training", 200, "steps", silent=False, done=20) as bar:
        bar.set_postfix_str("return 9")
        for now in (1.0, 2.0, 5.0, 6.0, 13.0, 14.0):  # noqa: B007
            bar.update(10)
    assert capsys.readouterr().err.splitlines() == [
        "training: 20 %, return 9",
        "training: 30 %, return 9",
        "training: 40 %, return 9",
    ]


def test_a_terminal_has_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("training", 200, "steps", silent=False) as bar:
        bar.update(50)
    assert "training:" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with progress("training", 200, "steps", silent=True) as bar:
        bar.update(200)
    assert capsys.readouterr().err == ""
