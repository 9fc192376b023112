"""Reading videos back, and an environment whose frames identify themselves."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.rendering.video_files import find_ffmpeg

SIZE = (32, 48)


def read_video(path: Path | str, size: tuple[int, int] = SIZE) -> np.ndarray:
    """Return the frames of a video file of a known height and width, [n, height, width, 3]."""
    command = [find_ffmpeg(), "-v", "error", "-i", str(path), "-fps_mode", "passthrough"]
    done = subprocess.run(
        [*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True
    )
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, *size, 3)


def grays(path: Path | str, size: tuple[int, int] = SIZE) -> list[int]:
    """Return the mean gray of each frame, rounded to tens."""
    return [round(float(frame.mean()) / 10) * 10 for frame in read_video(path, size)]


def skip_gymnasiums_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Gymnasium write empty videos: moviepy needs a second for each."""
    clips = pytest.importorskip("moviepy.video.io.ImageSequenceClip")
    monkeypatch.setattr(
        clips.ImageSequenceClip, "write_videofile", lambda clip, path, **_: Path(path).touch()
    )


@functools.cache
def make_film_env(gym: ModuleType = gymcore) -> type:
    """Return a class of environments whose frames have a gray of ten times their step's number."""

    class FilmEnv(gym.Env):
        metadata = {  # noqa: RUF012
            "render_modes": ["rgb_array", "rgb_array_list", "human", "ansi"],
            "render_fps": 10,
        }
        observation_space = action_space = gym.spaces.Discrete(5)

        def __init__(self, render_mode: Any = "rgb_array", length: int = 4, frame: Any = None):
            self.render_mode = render_mode
            self.length = length
            self.frame = frame
            self.elapsed = 0
            self.fail = False
            self.waiting: list[Any] = []

        def picture(self) -> Any:
            if self.frame is not None:
                return self.frame
            return np.full((*SIZE, 3), self.elapsed * 10, np.uint8)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.elapsed = 0
            self.waiting = [self.picture()]
            return 0, {}

        def step(self, action: Any) -> Any:
            if self.fail:
                raise OSError("broken")
            self.elapsed += 1
            self.waiting.append(self.picture())
            return 1, 1.0, self.elapsed >= self.length, False, {}

        def render(self) -> Any:
            if self.render_mode != "rgb_array_list":
                return self.picture()
            frames, self.waiting = self.waiting, []
            return frames

    return FilmEnv
