"""NewFile: a file appears whole or not at all, and replaces regular files only."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from gymcore.base.new_file import NewFile, check_target
from gymcore.rendering.video_files import VideoWriter
from tests.interrupts import at_every_instruction


def text_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    with NewFile(tmp_path / "a.txt") as new:
        new.part.write_text("new")
        assert not new.path.exists() and new.part.parent == tmp_path
    assert text_of(tmp_path) == {"a.txt": "new"}
    (tmp_path / "other").touch()
    assert len({stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}) == 1


def test_names_of_temporary_files_differ(tmp_path: Path) -> None:
    assert NewFile(tmp_path / "a").part != NewFile(tmp_path / "a").part


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt, SystemExit])
def test_after_a_failure_the_old_file_is_there(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(failure), NewFile(tmp_path / "a") as new:
        new.part.write_text("half")
        raise failure
    assert text_of(tmp_path) == {"a": "old"}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["text", "video"])
def test_an_interrupt_at_any_instruction_leaves_no_temporary_file(
    tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("interrupts")
    path = folder / "a.mp4"

    def write_text() -> None:
        with NewFile(path) as new:
            new.part.write_text("new")

    def begin_video() -> None:
        writer = VideoWriter(path, 10)
        writer._ffmpeg = "true"  # ends at once
        writer._begin(2, 2)
        writer.discard()

    for _ in at_every_instruction({"text": write_text, "video": begin_video}[kind]):
        assert text_of(folder) in ({}, {path.name: "new"})


def test_files_that_come_meanwhile_stay(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError), NewFile(tmp_path / "a", overwrite=False) as new:
        new.path.write_text("theirs")
    assert text_of(tmp_path) == {"a": "theirs"}
    with pytest.raises(OSError, match="symbolic link"), NewFile(tmp_path / "a") as new:
        new.path.rename(tmp_path / "b")
        new.path.symlink_to("b")
    assert text_of(tmp_path) == {"a": "theirs", "b": "theirs"}


def test_the_working_directory_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new = NewFile("a")
    monkeypatch.chdir("/")
    new.finish()
    assert text_of(tmp_path) == {"a": ""}


@pytest.mark.parametrize("overwrite", [True, False])
def test_nothing_but_regular_files_is_replaced(
    tmp_path_factory: pytest.TempPathFactory, overwrite: bool
) -> None:
    folder = tmp_path_factory.mktemp("targets")
    (folder / "file").write_text("old")
    (folder / "directory").mkdir()
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    for name in ("file", "directory", "fifo", "socket", "nowhere"):
        (folder / f"link to {name}").symlink_to(name)
    (folder / "link to itself").symlink_to("link to itself")
    (folder / "link to a device").symlink_to("/dev/null")
    names = sorted(path.name for path in folder.iterdir() if path.name != "file")
    before = [(name, (folder / name).lstat()) for name in names]
    for name in [*names, "missing/a", "file/a", "x" * 300]:
        with pytest.raises(OSError):
            check_target(folder / name, overwrite=overwrite)
        with pytest.raises(OSError):
            NewFile(folder / name, overwrite=overwrite)
    assert [(name, (folder / name).lstat()) for name in names] == before
    assert len(list(folder.iterdir())) == len(names) + 1
    with pytest.raises(OSError, match="not a regular file"):
        check_target("/dev/null", overwrite=overwrite)
