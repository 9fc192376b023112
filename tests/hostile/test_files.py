"""Targets of every kind, full disks, SIGTERM: an existing file is kept or replaced as a whole."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import cli
from gymcore.base.new_file import NewFile
from gymcore.compat.gym26.wrappers import Monitor, VideoRecorder
from gymcore.rendering.video_files import VideoWriter, find_ffmpeg
from gymcore.utils.save_video import save_video

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore:.*Overwriting existing")]

FRAME = np.zeros((16, 16, 3), np.uint8)


# --- functions that write files -------------------------------------------------------------------


def command(*words: object) -> None:
    code = cli.main([*map(str, words), "--overwrite", "--no-progress"])
    if code:
        raise OSError(f"exit code {code}")


def collect(path: Path) -> None:
    command("collect", "CartPole-v1", "--num-steps", 64, "--out", path)


def plot(path: Path) -> None:
    command("collect", "CartPole-v1", "--num-steps", 64, "--plot", path)


def train(path: Path) -> None:
    command("train", "CartPole-v1", "--total-steps", 1, "--out", path)


def curve(path: Path) -> None:
    checkpoint = path.with_name("new.npz")
    try:
        command("train", "CartPole-v1", "--total-steps", 1, "--out", checkpoint, "--plot", path)
    finally:
        checkpoint.unlink(missing_ok=True)


def video(path: Path) -> None:
    command("video", "CartPole-v1", "--steps", 2, "--out", path)


def write_video(path: Path) -> None:
    with VideoWriter(path, 10) as writer:
        writer.write(FRAME)


def record_video(path: Path) -> None:
    env = gym.wrappers.RecordVideo(
        gym.make("CartPole-v1", render_mode="rgb_array"), str(path.parent), disable_logger=True
    )
    env.reset(seed=1)
    try:
        env.step(0)
    finally:
        env.close()


def save_frames(path: Path) -> None:
    save_video([FRAME], str(path.parent), fps=10)


def write_metadata(path: Path) -> None:
    env = gym.make("CartPole-v1", render_mode="rgb_array")
    VideoRecorder(env, str(path.with_name("episode.mp4"))).close()


def write_statistics(path: Path) -> None:
    env = Monitor(gym.make("CartPole-v1"), str(path.parent), False, resume=True, uid="1")
    env.reset(seed=1)
    env.step(0)
    # Part of the statistics' file name: the number that the monitor has chosen before.
    env.file_infix = "0.1"
    env.close()


def new_file(path: Path) -> None:
    with NewFile(path) as new:
        new.part.write_text("new")


WRITERS: dict[str, Callable[[Path], None]] = {
    "a.npz": collect,
    "a.png": plot,
    "b.npz": train,
    "b.png": curve,
    "a.mp4": video,
    "b.gif": write_video,
    "rl-video-episode-0.mp4": record_video,
    "rl-video-episode-0.mp4 ": save_frames,
    "episode.meta.json": write_metadata,
    "openaigym.episode_batch.0.1.stats.json": write_statistics,
    "new": new_file,
}

# --- possible targets -----------------------------------------------------------------------------


def make_directory(path: Path) -> None:
    path.mkdir()


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def make_device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:  # only root may make one: a link to one will do
        path.symlink_to("/dev/null")


def make_file(path: Path) -> None:
    path.write_text("of another program")


def link_to(make: Callable[[Path], None] | None) -> Callable[[Path], None]:
    def make_link(path: Path) -> None:
        path.symlink_to("target")
        if make is not None:
            make(path.with_name("target"))

    return make_link


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


MAKERS = (make_directory, make_fifo, make_socket, make_device)
REFUSED = [*MAKERS, link_to_itself, *map(link_to, (None, make_file, *MAKERS))]


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Yield a new folder that every user can read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@contextlib.contextmanager
def not_root() -> Iterator[None]:
    """Be another user for a while: permissions do not apply to root."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def contents(folder: Path) -> dict[str, Any]:
    """Return everything below a folder that a program could have changed."""
    return {
        str(path): (
            path.lstat().st_mode,
            path.lstat().st_ino,
            path.is_symlink() and os.readlink(path),
            stat.S_ISREG(path.lstat().st_mode) and path.read_bytes(),
        )
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("name", WRITERS)
def test_only_regular_files_are_replaced(name: str, scratch: Path) -> None:
    for number, make in enumerate(REFUSED):
        folder = scratch / str(number)
        folder.mkdir()
        path = folder / name.strip()
        make(path)
        before = contents(folder)
        with pytest.raises(OSError):
            WRITERS[name](path)
        assert contents(folder) == before, number


@pytest.mark.parametrize("name", WRITERS)
def test_files_are_replaced_whole(name: str, scratch: Path) -> None:
    path = scratch / name.strip()
    for mode in (None, 0o644, 0o444):  # free, a file, a read-only file in a folder of ours
        if mode is not None:
            path.write_text("old")
            path.chmod(mode)
        WRITERS[name](path)
        assert path.stat().st_size > 3 or path.read_text() == "new"
        assert [each.name for each in scratch.iterdir() if each.suffix == ".part"] == []


@pytest.mark.parametrize("name", WRITERS)
def test_read_only_folders_stay_as_they_are(
    name: str, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", find_ffmpeg())  # found as the current user
    path = scratch / name.strip()
    path.write_text("old")
    scratch.chmod(0o555)
    before = contents(scratch)
    with not_root(), pytest.raises(OSError):
        WRITERS[name](path)
    assert contents(scratch) == before


def run(*words: object, folder: Path, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gymcore", *map(str, words), "--no-progress"],
        cwd=folder,
        # No bytecode: Python 3.11 would keep files that a full disk cut short.
        env=dict(
            os.environ,
            PYTHONPATH=str(Path(gym.__file__).parents[1]),
            PYTHONDONTWRITEBYTECODE="1",
        ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )


def allow_small_files() -> None:
    """Make writing more than 1,000 bytes to a file fail, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "CartPole-v1", "--num-steps", 6400, "--out", "a.npz"),
        ("collect", "CartPole-v1", "--num-steps", 6400, "--plot", "a.png"),
        ("video", "CartPole-v1", "--out", "a.mp4"),
    ],
)
def test_a_full_disk_leaves_the_old_file(words: tuple[object, ...], scratch: Path) -> None:
    (scratch / str(words[-1])).write_text("old")
    program = run(*words, "--overwrite", folder=scratch, preexec_fn=allow_small_files)
    assert program.wait(60) == 2
    assert [(each.name, each.read_text()) for each in scratch.iterdir()] == [(words[-1], "old")]


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "CartPole-v1", "--num-steps", "1e6", "--out", "a.npz"),
        ("collect", "CartPole-v1", "--num-steps", "1e5", "--plot", "a.pdf"),
        ("video", "CartPole-v1", "--steps", "1e5", "--num-envs", "4", "--out", "a.mp4"),
    ],
)
def test_sigterm_leaves_no_temporary_file(
    words: tuple[str, ...], scratch: Path, rounds: Iterator[int], rng: np.random.Generator
) -> None:
    name = words[-1]
    for _ in rounds:
        (scratch / name).write_text("old")
        program = run(*words, "--overwrite", folder=scratch)
        end = time.monotonic() + 60
        while not any(scratch.glob(".*.part")) and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.2 if name == "a.mp4" else 0.02))
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) in (0, 128 + signal.SIGTERM)
        assert os.listdir(scratch) == [name]
        replaced = (scratch / name).read_bytes() != b"old"
        assert replaced == (program.returncode == 0)
