"""save_video and its schedule, compared with Gymnasium's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils import save_video as theirs

from gymcore import error
from gymcore.utils.save_video import capped_cubic_video_schedule, save_video
from tests.videos import grays

FRAMES = [np.full((32, 48, 3), 10 * k, np.uint8) for k in range(10)]


def test_schedule_like_gymnasium() -> None:
    numbers = range(4000)
    expected = [theirs.capped_cubic_video_schedule(i) for i in numbers]
    assert [capped_cubic_video_schedule(i) for i in numbers] == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"episode_index": 8},
        {"episode_index": 9},
        {"step_trigger": lambda i: i % 4 == 0, "video_length": 2, "name_prefix": "x"},
        {"step_trigger": lambda i: i % 4 == 0, "step_starting_index": 10, "episode_index": 3},
        {"step_trigger": lambda i: i == 3, "episode_trigger": lambda i: True, "video_length": 2},
    ],
)
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_same_files_as_gymnasium(tmp_path: Path, arguments: dict[str, Any]) -> None:
    save_video(FRAMES, str(tmp_path / "ours"), fps=10, **arguments)
    theirs.save_video(FRAMES, str(tmp_path / "theirs"), fps=10, **arguments)
    assert sorted(os.listdir(tmp_path / "ours")) == sorted(os.listdir(tmp_path / "theirs"))


def test_what_is_in_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trigger = lambda step: step in (10, 14, 19)  # noqa: E731
    save_video(
        FRAMES,
        str(tmp_path),
        step_trigger=trigger,
        video_length=3,
        step_starting_index=10,
        save_logger="bar",
        durations=[0.1] * 10,
    )
    assert grays(tmp_path / "rl-video-step-10.mp4") == [0, 10, 20]
    assert grays(tmp_path / "rl-video-step-14.mp4") == [40, 50, 60]
    assert grays(tmp_path / "rl-video-step-19.mp4") == [90]
    assert "rl-video-step-14.mp4 (3 frames)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("frames", "kwargs", "kind", "match"),
    [
        (tuple(FRAMES), {"fps": 10}, TypeError, "Expected a list of frames, got a <class 'tuple'>"),
        (FRAMES, {}, ValueError, "Please provide either 'fps' or 'durations'"),
        (FRAMES, {"durations": [1.0, 2.0]}, ValueError, "durations"),
        (FRAMES, {"durations": 3}, TypeError, "durations"),
        (FRAMES, {"fps": 10, "speed": 3}, TypeError, "'speed'"),
        ([], {"fps": 10}, error.InvalidArgument, "frames"),
        (FRAMES, {"fps": 10, "video_length": 0}, error.InvalidArgument, "video_length"),
        (FRAMES, {"fps": 10, "video_length": -1}, error.InvalidArgument, "video_length"),
    ],
)
def test_wrong_arguments(
    tmp_path: Path, frames: Any, kwargs: dict[str, Any], kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match):
        save_video(frames, str(tmp_path), **kwargs)
    assert not os.listdir(tmp_path)
