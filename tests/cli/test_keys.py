"""`gymcore keys`; test_serve.py uses its keys."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_failed_keys_leave_nothing(run, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run("keys", "")
    assert "DIR: expected a folder, got ''" in capsys.readouterr().err
    write, written = Path.write_bytes, []

    def fill(path, data):  # the disk is full at the last of four files
        written.append(path)
        if len(written) == 4:
            raise OSError("no space")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", fill)
    ran = run("keys", tmp_path / "new" / "folder")
    assert ran.code == 2 and "no space" in ran.err
    assert list(tmp_path.iterdir()) == []
