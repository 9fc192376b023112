"""RecordVideo for single environments: side by side with Gymnasium's, and its files."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest

import gymcore
from gymcore import error
from gymcore.rendering.video_files import VideoEncodingFailed
from gymcore.wrappers import RecordVideo
from tests.videos import grays, make_film_env, read_video, skip_gymnasiums_encoding

pytestmark = pytest.mark.slow

FilmEnv = make_film_env(gymcore)


def follow(gym: ModuleType, folder: Path, mode: str, resets: bool, **kwargs: Any) -> Any:
    """Return the wrapper's attributes during three episodes, and the names of its files."""
    env = gym.wrappers.RecordVideo(make_film_env(gym)(mode), str(folder), **kwargs)
    seen: list[Any] = []

    def note() -> None:
        seen.append((env.recording, env.step_id, env.episode_id, len(env.recorded_frames)))

    note()
    env.reset(seed=1)
    note()
    for _ in range(12):
        ended = env.step(0)[2]
        note()
        if ended and resets:
            env.reset()
            note()
    if mode == "rgb_array_list":
        seen.append(len(env.render()))
        seen.append(len(env.render()))
    env.close()
    note()
    return seen, env.video_length, env.frames_per_sec, sorted(os.listdir(folder))


@pytest.mark.parametrize(
    ("mode", "arguments"),
    [
        ("rgb_array", {}),
        ("rgb_array_list", {"episode_trigger": lambda i: True, "name_prefix": "abc", "fps": 7}),
        ("rgb_array", {"episode_trigger": lambda i: i == 1, "video_length": 2}),
        ("rgb_array", {"episode_trigger": lambda i: i == 0, "video_length": 7}),
        ("rgb_array", {"step_trigger": lambda i: i % 5 == 0, "gc_trigger": None}),
        ("rgb_array_list", {"step_trigger": lambda i: i % 6 == 0, "video_length": 3}),
        ("rgb_array", {"step_trigger": lambda i: i < 3, "video_length": 1}),
        (
            "rgb_array",
            {
                "step_trigger": lambda i: i == 2,
                "episode_trigger": lambda i: i == 1,
                "video_length": 3,
            },
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Overwriting existing videos")
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_begins_and_ends_like_gymnasium(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, arguments: dict[str, Any]
) -> None:
    skip_gymnasiums_encoding(monkeypatch)
    ours = follow(gymcore, tmp_path / "ours", mode, True, **arguments)
    assert ours == follow(gymnasium, tmp_path / "theirs", mode, True, **arguments)


@pytest.mark.filterwarnings("ignore:.*Overwriting existing videos")
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_without_resets_like_gymnasium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_gymnasiums_encoding(monkeypatch)
    ours = follow(gymcore, tmp_path / "ours", "rgb_array", False)
    assert ours == follow(gymnasium, tmp_path / "theirs", "rgb_array", False)


@pytest.mark.parametrize("mode", [None, "human", "ansi"])
def test_render_modes_without_pictures_like_gymnasium(tmp_path: Path, mode: Any) -> None:
    messages = []
    for gym in (gymcore, gymnasium):
        with pytest.raises(ValueError) as caught:
            gym.wrappers.RecordVideo(make_film_env(gym)(mode), str(tmp_path))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_every_frame_is_in_the_file(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(length=9), str(tmp_path / "new" / "folder"), video_length=0)
    env.reset()
    for _ in range(9):
        env.step(0)
    assert [path.suffix for path in (tmp_path / "new" / "folder").iterdir()] == [".part"]
    env.close()
    assert os.listdir(tmp_path / "new" / "folder") == ["rl-video-episode-0.mp4"]
    path = tmp_path / "new" / "folder" / "rl-video-episode-0.mp4"
    assert grays(path) == list(range(0, 100, 10))


def test_a_gif(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(), str(tmp_path / "films"), format="gif")
    env.reset()
    for _ in range(3):
        env.step(0)
    env.close()
    assert (
        read_video(tmp_path / "films" / "rl-video-episode-0.gif")[:, 0, 0, 0] == [0, 10, 20, 30]
    ).all()


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    old = tmp_path / "rl-video-episode-0.mp4"
    old.write_text("old")
    with pytest.warns(UserWarning, match="Overwriting existing videos"):
        env = RecordVideo(FilmEnv(), str(tmp_path))
    env.reset()
    assert old.read_text() == "old"
    env.close()
    assert len(read_video(old)) == 1


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = RecordVideo(
        FilmEnv(), str(tmp_path / "f"), episode_trigger=lambda i: False, disable_logger=False
    )
    with pytest.raises(AssertionError, match="stop_recording was called, but no recording"):
        env.stop_recording()
    env.reset()
    env.start_recording("one")
    env.step(0)
    env.step(0)
    env.start_recording("two")
    env.step(0)
    env.stop_recording()
    env.start_recording("none")
    with pytest.warns(UserWarning, match="zero frames to save"):
        env.stop_recording()
    env.close()
    env.close()
    assert sorted(os.listdir(tmp_path / "f")) == ["one.mp4", "two.mp4"]
    assert grays(tmp_path / "f" / "one.mp4") == [10, 20]
    assert "one.mp4 (2 frames)" in capsys.readouterr().out


def test_frames_of_lists_are_given_back_until_the_collector_forgets(tmp_path: Path) -> None:
    inner = gymcore.wrappers.RenderCollection(FilmEnv())
    env = RecordVideo(inner, str(tmp_path / "f"), episode_trigger=lambda i: True)
    env.reset()
    env.step(0)
    env.step(0)
    assert len(env.render()) == 3
    env.step(0)
    env.reset()
    assert len(env.render()) == 1, "as without RecordVideo"
    env.close()


def test_frames_that_are_not_pictures_stop_it(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(frame="text"), str(tmp_path / "a"))
    with pytest.warns(UserWarning) as caught:
        env.reset()
    assert "numpy array, got instead <class 'str'>" in str(caught[-1].message)
    assert not env.recording
    env = RecordVideo(FilmEnv(), str(tmp_path / "b"))
    env.reset()
    env.unwrapped.frame = np.zeros((8, 8, 3), np.uint8)
    with pytest.warns(UserWarning, match="expected 48 x 32 pixels as in previous frames"):
        env.step(0)
    env.step(0)
    assert grays(tmp_path / "b" / "rl-video-episode-0.mp4") == [0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"format": "avi"},
        {"video_length": -1},
        {"video_length": "3"},
        {"step_trigger": 3},
        {"episode_trigger": "x"},
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(error.Error, match=next(iter(arguments))):
        RecordVideo(FilmEnv(), str(tmp_path / "f"), **arguments)
    assert not (tmp_path / "f").exists()


def test_an_exception_in_step_finishes_the_file(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(), str(tmp_path / "f"))
    env.reset()
    env.step(0)
    env.unwrapped.fail = True
    with pytest.raises(OSError, match="broken"):
        env.step(0)
    assert grays(tmp_path / "f" / "rl-video-episode-0.mp4") == [0, 10]


def test_deletion_finishes_the_file_and_warns(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(), str(tmp_path / "f"))
    env.reset()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del env
        gc.collect()
    assert any("Did you call close()?" in str(one.message) for one in caught)
    assert grays(tmp_path / "f" / "rl-video-episode-0.mp4") == [0]


def test_the_end_of_the_program_finishes_the_file(tmp_path: Path) -> None:
    program = (
        "import gymcore; from tests.videos import make_film_env; "
        "env = gymcore.wrappers.RecordVideo(make_film_env()(), 'f'); env.reset(); env.step(0); "
        "raise SystemExit(3)"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 3, done.stderr.decode()
    assert grays(tmp_path / "f" / "rl-video-episode-0.mp4") == [0, 10]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_child_leaves_the_video_to_its_parent(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(), str(tmp_path / "f"))
    env.reset()
    child = os.fork()
    if child == 0:
        try:
            env.close()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    env.step(0)
    env.close()
    assert grays(tmp_path / "f" / "rl-video-episode-0.mp4") == [0, 10]


def test_no_process_and_no_frame_is_left(tmp_path: Path) -> None:
    frames: list[weakref.ref] = []

    class Watched(FilmEnv):
        def picture(self) -> Any:
            frame = np.full((32, 48, 3), self.elapsed % 250, np.uint8)
            frames.append(weakref.ref(frame))
            return frame

        def step(self, action: Any) -> Any:
            self.elapsed += 1
            return 1, 1.0, False, False, {}

    env = RecordVideo(Watched(), str(tmp_path / "f"))
    env.reset()
    env.unwrapped.waiting.clear()
    for _ in range(300):
        env.step(0)
    assert len(frames) >= 301
    assert sum(frame() is not None for frame in frames) == 0
    env.close()
    assert not [one for one in psutil.Process().children() if "ffmpeg" in one.name()]


def test_ffmpeg_that_dies_is_a_typed_error(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(), str(tmp_path / "f"))
    env.reset()
    (ffmpeg,) = [one for one in psutil.Process().children() if "ffmpeg" in one.name()]
    ffmpeg.kill()
    with pytest.raises(VideoEncodingFailed, match=r"rl-video-episode-0\.mp4"):
        for _ in range(100):
            env.step(0)
    assert not env.recording
    env.step(0)
    env.close()
    assert os.listdir(tmp_path / "f") == []


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install imageio-ffmpeg`"):
        RecordVideo(FilmEnv(), str(tmp_path / "f"))


def test_only_the_number_of_frames_is_known(tmp_path: Path) -> None:
    env = RecordVideo(FilmEnv(), str(tmp_path / "f"))
    env.reset()
    assert len(env.recorded_frames) == 1 and env.recorded_frames
    with pytest.raises(TypeError, match="are not kept"):
        list(env.recorded_frames)
    env.close()
    assert not env.recorded_frames


def test_the_spec_makes_it_again(tmp_path: Path) -> None:
    env = gymcore.make("CartPole-v1", render_mode="rgb_array")
    env = RecordVideo(env, str(tmp_path / "f"), video_length=3, gc_trigger=None)
    spec = env.spec
    assert spec is not None
    assert gymcore.envs.registration.EnvSpec.from_json(spec.to_json()) == spec


@pytest.mark.soak
def test_memory_is_flat(tmp_path: Path) -> None:
    class Large(FilmEnv):
        noise = np.random.default_rng(0).integers(0, 256, (400, 600, 3), np.uint8)

        def picture(self) -> Any:
            return np.roll(self.noise, self.elapsed, axis=1) // 8 + np.uint8(self.elapsed % 100)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return 0, {}

        def step(self, action: Any) -> Any:
            self.elapsed += 1
            return 1, 1.0, False, False, {}

    env = RecordVideo(Large(), str(tmp_path / "f"))
    env.reset()
    process = psutil.Process()
    sizes = []
    for _ in range(100):
        for _ in range(100):
            env.step(0)
        sizes.append(process.memory_info().rss)
    env.close()
    assert max(sizes) - sizes[0] < 10e6, [size // 10**6 for size in sizes[::10]]
