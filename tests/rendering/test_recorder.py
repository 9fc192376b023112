"""Recorder: starts, ends and names of videos, and the files left by failures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymcore import error
from gymcore.rendering.recorder import Recorder
from tests.videos import grays


def frame(value: int) -> np.ndarray:
    return np.full((32, 48, 3), value, np.uint8)


def test_the_triggered_episode_is_recorded(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), "x", fps=10, episode_trigger=lambda episode: episode == 1)
    for value in (0, 50, 100):
        recorder.begin_episode()
        assert recorder.recording == (value == 50)
        if recorder.recording:
            recorder.record([frame(value)])
    assert os.listdir(tmp_path) == ["x-episode-1.mp4"]
    assert grays(tmp_path / "x-episode-1.mp4") == [50]


def test_a_video_of_a_length_begins_at_a_step(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), fps=10, step_trigger=lambda step: step == 2, video_length=2)
    for value in range(0, 80, 10):
        recorder.count_step()
        if recorder.recording:
            recorder.record([frame(value)])
    assert grays(tmp_path / "rl-video-step-2.mp4") == [20, 30, 40]


def test_lanes_are_side_by_side_and_lists_are_given_back(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), fps=10, aspect_ratio=3.0)
    recorder.begin(tmp_path / "a.mp4")
    recorder.add([[frame(0), frame(10)], [frame(30)]])
    assert (recorder.frame_cols, recorder.frame_rows) == (2, 1)
    lists: list[list[Any]] = [[frame(30)], []]
    assert [len(lane) for lane in recorder.with_history(lists)] == [3, 1]
    assert [len(lane) for lane in recorder.with_history(lists)] == [1, 0]
    recorder.finish()
    assert grays(tmp_path / "a.mp4", (32, 96)) == [20]  # the mean of 10 and 30


def test_add_raises_and_record_warns(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), fps=10)
    with pytest.raises(AssertionError, match="recording wasn't started"):
        recorder.add([frame(0)])
    recorder.begin(tmp_path / "a.mp4")
    recorder.add([frame(0)])
    with pytest.raises(error.ArgumentTypeError, match="numpy array, got instead"):
        recorder.add(["text"])
    assert recorder.recording
    with pytest.warns(UserWarning, match="Recording stopped: lanes have frames of different"):
        recorder.record([frame(0), frame(0)[1:]])
    assert not recorder.recording
    assert grays(tmp_path / "a.mp4") == [0]


def test_discard_leaves_no_file(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), fps=10)
    recorder.begin(tmp_path / "a.mp4")
    recorder.add([frame(0)])
    recorder.discard()
    recorder.finish()  # has no effect
    assert not recorder.recording and os.listdir(tmp_path) == []
