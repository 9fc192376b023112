from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from gymcore.cli import npz_file
from gymcore.cli.common import CliError
from gymcore.cli.npz_file import check_target, save

ARRAYS = {"a": np.arange(6).reshape(2, 3), "b": np.array("text")}


def test_the_file_holds_the_arrays_and_loads_without_pickle(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    size = save(path, ARRAYS, overwrite=False)
    assert size == path.stat().st_size
    with np.load(path, allow_pickle=False) as data:
        assert sorted(data) == ["a", "b"]
        np.testing.assert_array_equal(data["a"], ARRAYS["a"])
        assert str(data["b"]) == "text"
    assert os.listdir(tmp_path) == ["data.npz"]


def test_the_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    (tmp_path / "other").write_text("")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_an_existing_file_survives_unless_overwriting_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"precious")
    with pytest.raises(CliError, match="exists already; --overwrite replaces it"):
        check_target(path, overwrite=False, size=0)
    with pytest.raises(CliError, match="exists already"):
        save(path, ARRAYS, overwrite=False)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["data.npz"]
    check_target(path, overwrite=True, size=0)
    save(path, ARRAYS, overwrite=True)
    with np.load(path) as data:
        assert sorted(data) == ["a", "b"]


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"precious")

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(CliError, match="No space left on device"):
        save(path, ARRAYS, overwrite=True)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["data.npz"]


def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    def interrupted(file, **arrays):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    assert os.listdir(tmp_path) == []


def test_without_hard_links_the_file_is_renamed_if_the_name_is_free(tmp_path, monkeypatch) -> None:
    def no_links(source, target):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(npz_file.os, "link", no_links)
    save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    with pytest.raises(CliError, match="exists already"):
        save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    assert os.listdir(tmp_path) == ["data.npz"]


def test_targets_that_cannot_be_written_are_refused_beforehand(tmp_path, monkeypatch) -> None:
    with pytest.raises(CliError, match="is a directory"):
        check_target(tmp_path, overwrite=True, size=0)
    with pytest.raises(CliError, match="there is no directory"):
        check_target(tmp_path / "missing" / "data.npz", overwrite=False, size=0)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(npz_file.shutil, "disk_usage", lambda path: usage._replace(free=2**20))
    check_target(tmp_path / "data.npz", overwrite=False, size=2**20)
    with pytest.raises(CliError, match=r"2 MiB needed, 1 MiB free"):
        check_target(tmp_path / "data.npz", overwrite=False, size=2**21)
    monkeypatch.setattr(npz_file.os, "access", lambda path, mode: False)
    with pytest.raises(CliError, match="not writable"):
        check_target(tmp_path / "data.npz", overwrite=False, size=0)
