"""Video files: reading returns the frames that were written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymcore import error
from gymcore.rendering import video_files
from gymcore.rendering.video_files import VideoEncodingFailed, VideoWriter, as_rgb
from tests.videos import read_video


def shades(n: int, size: tuple[int, int]) -> list[np.ndarray]:
    return [np.full((*size, 3), 20 * k, np.uint8) for k in range(n)]


@pytest.mark.parametrize("size", [(2, 2), (33, 47), (48, 31)])
@pytest.mark.parametrize("suffix", ["mp4", "gif"])
def test_frames_of_any_size(tmp_path: Path, suffix: str, size: tuple[int, int]) -> None:
    frames = shades(5, size)
    path = tmp_path / f"a b%d.{suffix}"
    with VideoWriter(path, 25) as video:
        for frame in frames:
            video.write(frame)
    even = tuple(side + side % 2 for side in size) if suffix == "mp4" else size
    found = read_video(path, even).astype(int)
    assert found.shape == (5, *even, 3)
    assert abs(found.mean(axis=(1, 2, 3)) - np.arange(0, 100, 20)).max() < 3
    assert os.listdir(tmp_path) == [path.name]


def test_a_quick_gif_leaves_frames_out(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "a.gif", 100) as video:
        for frame in shades(10, (8, 8)):
            video.write(frame)
    assert 5 <= len(read_video(tmp_path / "a.gif", (8, 8))) <= 6


def test_no_frames_no_file(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "a.mp4", 10) as video:
        pass
    assert video.closed and not os.listdir(tmp_path)
    with pytest.raises(error.ClosedEnvironmentError):
        video.write(np.zeros((2, 2, 3), np.uint8))


def test_discarded(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_text("old")
    video = VideoWriter(tmp_path / "a.mp4", 10)
    video.write(np.zeros((2, 2, 3), np.uint8))
    video.discard()
    video.close()
    assert os.listdir(tmp_path) == ["a.mp4"] and (tmp_path / "a.mp4").read_text() == "old"


def test_frames_are_the_callers(tmp_path: Path) -> None:
    frame = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    before = frame.copy()
    with VideoWriter(tmp_path / "a.mp4", 10) as video:
        video.write(frame)
        video.write(frame[::-1, ::-1])
        with pytest.raises(error.InvalidArgument, match=r"expected 4 x 4 pixels .* got 4 x 2"):
            video.write(frame[:2])
    assert (frame == before).all() and video.frames == 2


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    video = VideoWriter(tmp_path / "missing" / "a.mp4", 10)
    with pytest.raises(
        VideoEncodingFailed, match=r"cannot write .*a\.mp4: directory .* does not exist"
    ):
        video.write(np.zeros((2, 2, 3), np.uint8))
    assert video.closed


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    for name in ("a.mp4", "b.mp4.part"):
        (tmp_path / name).symlink_to("victim")
    video = VideoWriter(tmp_path / "a.mp4", 10)
    with pytest.raises(VideoEncodingFailed, match=r"a\.mp4 is a symbolic link"):
        video.write(np.zeros((2, 2, 3), np.uint8))
    with VideoWriter(tmp_path / "b.mp4", 10) as video:
        video.write(np.zeros((2, 2, 3), np.uint8))
    (tmp_path / "c.mp4").write_text("precious")
    video = VideoWriter(tmp_path / "c.mp4", 10, overwrite=False)
    with pytest.raises(VideoEncodingFailed, match=r"c\.mp4 exists already"):
        video.write(np.zeros((2, 2, 3), np.uint8))
    assert (tmp_path / "victim").read_text() == (tmp_path / "c.mp4").read_text() == "precious"
    assert len(os.listdir(tmp_path)) == 5


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_interrupt_while_ffmpeg_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(*args: Any, **kwargs: Any) -> None:
        started.append(popen(*args, **kwargs))
        raise KeyboardInterrupt

    popen = subprocess.Popen
    video = VideoWriter(tmp_path / "a.mp4", 10)
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt):
        video.write(np.zeros((2, 2, 3), np.uint8))
    started[0].communicate(bytes(12))
    assert os.listdir(tmp_path) == []


def test_an_ffmpeg_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(video_files._OUTPUT, "mp4", ("-c:v", "nonsense", "-f", "mp4"))
    video = VideoWriter(tmp_path / "a.mp4", 10)
    with pytest.raises(VideoEncodingFailed, match="nonsense"):
        for _ in range(1000):
            video.write(np.zeros((64, 64, 3), np.uint8))
    assert video.closed and not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("path", "fps", "kwargs", "match"),
    [
        ("a.avi", 10, {}, r"ends in \.mp4 or \.gif, got 'a\.avi'"),
        ("a", 10, {"format": "webm"}, "'mp4' or 'gif', got 'webm'"),
        ("a.mp4", 0, {}, "fps"),
        ("a.mp4", float("nan"), {}, "fps"),
        ("a.mp4", "10", {}, "fps"),
    ],
)
def test_wrong_arguments(path: str, fps: float, kwargs: dict, match: str) -> None:
    with pytest.raises(error.Error, match=match):
        VideoWriter(path, fps, **kwargs)


def test_no_ffmpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install imageio-ffmpeg`"):
        VideoWriter("a.mp4", 10)


def test_kinds_of_frames() -> None:
    gray = np.array([[0, 300]], np.int32)
    assert as_rgb(gray).tolist() == [[[0] * 3, [255] * 3]]
    assert as_rgb(np.zeros((2, 3, 1), np.uint8)).shape == (2, 3, 3)
    assert as_rgb(np.full((1, 1, 4), 9, np.uint8)).tolist() == [[[9, 9, 9]]]
    assert as_rgb(np.array([[[-1.0, 7.9, np.nan]]])).tolist() == [[[0, 7, 0]]]
    depth = np.array([[1.0, 3.0, np.inf, np.nan]], np.float32)
    assert as_rgb(depth)[0, :, 0].tolist() == [0, 255, 255, 0]
    assert as_rgb(np.full((2, 2), 4.0)).max() == 0
    frame = np.zeros((2, 2, 3), np.uint8)
    assert as_rgb(frame) is frame
    for wrong in ("text", None, [[1]], np.array([["a"]])):
        with pytest.raises(error.ArgumentTypeError, match="array of numbers"):
            as_rgb(wrong)
    for shape in ((3,), (2, 2, 2), (0, 2, 3), (1, 2, 2, 3)):
        with pytest.raises(error.InvalidArgument, match="shape"):
            as_rgb(np.zeros(shape, np.uint8))
