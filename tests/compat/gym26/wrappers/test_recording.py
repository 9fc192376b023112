"""RecordVideo, VideoRecorder and Monitor of Gym 0.26 and 0.21."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.compat import to_done_api
from gymcore.compat.gym26.wrappers import (
    HumanRendering,
    Monitor,
    RecordVideo,
    RenderCollection,
    VideoRecorder,
    capped_cubic_video_schedule,
)
from gymcore.rendering import recorder as recorders
from gymcore.rendering import video_files
from gymcore.vector import SyncVectorEnv
from tests.compat.gym26.scripted import Scripted


class FakeWriter:
    """A writer that records the first number of each frame instead of encoding it."""

    files: dict[str, list[int]] = {}  # noqa: RUF012

    def __init__(self, path: str, fps: float, overwrite: bool = True) -> None:
        self.path = path
        self.name = Path(path).name
        self.files[self.name] = []
        self.fps = fps
        self.frames = 0
        self.closed = False

    def write(self, frame: Any) -> None:
        self.files[self.name].append(int(frame.flat[0]))
        self.frames += 1

    def close(self) -> None:
        self.closed = True

    discard = close


@pytest.fixture
def videos(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    monkeypatch.setattr(recorders, "VideoWriter", FakeWriter)
    FakeWriter.files = {}
    return FakeWriter.files


def play(env: Any, episodes: int = 1, length: int = 3) -> None:
    for _ in range(episodes):
        env.reset()
        for _ in range(length):
            env.step(None)


def test_a_video_ends_with_its_episode(videos: dict[str, list[int]], tmp_path: Path) -> None:
    env = RecordVideo(Scripted(render_mode="rgb_array"), str(tmp_path / "v"), lambda e: e != 1)
    env.reset()
    for _ in range(2):
        env.step(None)
    assert env.recording
    env.step(None)
    assert not env.recording and env.episode_id == 1 and env.step_id == 3
    play(env, episodes=2)
    env.close()
    assert videos == {
        "rl-video-episode-0.mp4": [0, 1, 2, 3],
        "rl-video-episode-2.mp4": [0, 1, 2, 3],
    }
    metadata = json.loads((tmp_path / "v" / "rl-video-episode-2.meta.json").read_text())
    assert metadata == {"step_id": 6, "episode_id": 2, "content_type": "video/mp4"}


def test_from_steps_on_and_of_a_length(videos: dict[str, list[int]], tmp_path: Path) -> None:
    env = RecordVideo(
        Scripted(render_mode="rgb_array"),
        str(tmp_path / "v"),
        step_trigger=lambda step: step % 4 == 2,
        video_length=2,
        name_prefix="x",
    )
    play(env, episodes=2)
    env.close()
    # From step 2: its frame, the last frame of the episode, and the first frame of the next.
    assert videos == {"x-step-2.mp4": [2, 3, 0], "x-step-6.mp4": [3]}


def test_nothing_between_the_end_and_the_reset(
    videos: dict[str, list[int]], tmp_path: Path
) -> None:
    class Goes(Scripted):
        def step(self, action: Any) -> Any:
            return self.observe(), 0.0, True, False, {}

    env = RecordVideo(Goes(render_mode="rgb_array"), str(tmp_path / "v"), lambda e: True)
    play(env, episodes=1, length=3)
    assert env.step_id == 1 and videos == {"rl-video-episode-0.mp4": [0, 0]}


def test_a_batch_records_its_first_lane(videos: dict[str, list[int]], tmp_path: Path) -> None:
    lanes = [lambda: Scripted(render_mode="rgb_array"), lambda: Scripted([1.0], "truncated")]
    envs = SyncVectorEnv(
        [lanes[0], lambda: Scripted([1.0], "truncated", render_mode="rgb_array")],
        autoreset_mode="SameStep",
    )
    envs = RecordVideo(envs, str(tmp_path / "v"), lambda episode: episode < 2)
    envs.reset()
    for _ in range(8):
        envs.step(np.zeros((2, 2), np.float32))
    envs.close()
    # A video ends with the frame after the reset, which the last step of its episode makes.
    assert videos == {"rl-video-episode-0.mp4": [0, 1, 2, 0], "rl-video-episode-1.mp4": [1, 2, 0]}
    assert envs.episode_id == 2


def test_arguments(tmp_path: Path) -> None:
    env = Scripted(render_mode="rgb_array")
    with pytest.raises(AssertionError, match="exactly one trigger"):
        RecordVideo(env, str(tmp_path / "v"), bool, bool)
    with pytest.warns(UserWarning, match="Overwriting existing videos"):
        wrapped = RecordVideo(env, str(tmp_path))
    assert wrapped.episode_trigger is capped_cubic_video_schedule and wrapped.secret == "found"


def test_the_schedule() -> None:
    chosen = [i for i in range(2500) if capped_cubic_video_schedule(i)]
    assert chosen == [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000]


def test_real_files(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    env = RecordVideo(gymcore.make("CartPole-v1", render_mode="rgb_array"), str(tmp_path / "v"))
    env.reset(seed=1)
    while env.recording:
        env.step(0)
    assert (tmp_path / "v" / "rl-video-episode-0.mp4").stat().st_size > 1000
    env.reset()
    env.step(0)
    del env  # never closed: the frames so far are saved
    assert (tmp_path / "v" / "rl-video-episode-1.mp4").exists()


def test_a_recorder_by_itself(videos: dict[str, list[int]], tmp_path: Path) -> None:
    env = Scripted(render_mode="rgb_array")
    recorder = VideoRecorder(env, path=str(tmp_path / "one.mp4"), metadata={"a": 1})
    assert recorder.functional and recorder.frames_per_sec == 30
    recorder.capture_frame()
    recorder.close()
    recorder.close()
    assert videos == {"one.mp4": [0]}
    assert json.loads(Path(recorder.metadata_path).read_text())["a"] == 1
    with pytest.raises(error.ClosedEnvironmentError):
        recorder.capture_frame()
    off = VideoRecorder(env, enabled=False)
    off.capture_frame()
    off.close()
    assert not off.functional
    with pytest.raises(error.Error, match="at most one of"):
        VideoRecorder(env, path="a.mp4", base_path="b")
    with pytest.raises(error.Error, match=r"ends in \.mp4"):
        VideoRecorder(env, path="a.avi")


def test_an_environment_without_frames(videos: dict[str, list[int]], tmp_path: Path) -> None:
    class Blank(Scripted):
        def render(self) -> Any:
            return None

    recorder = VideoRecorder(Blank(), base_path=str(tmp_path / "b"))
    with pytest.warns(UserWarning, match="returned None"):
        recorder.capture_frame()
    recorder.capture_frame()
    recorder.close()
    assert recorder.broken and recorder.metadata["broken"] and recorder.metadata["empty"]


# Monitor


def test_monitor(videos: dict[str, list[int]], tmp_path: Path) -> None:
    env = Monitor(Scripted(render_mode="rgb_array"), str(tmp_path), uid="u", mode="evaluation")
    play(env, episodes=3)
    env.reset()
    env.step(None)
    assert env.get_total_steps() == 10
    env.close()
    assert env.get_episode_lengths() == [3, 3, 3, 1]
    assert env.get_episode_rewards() == [6.0, 6.0, 6.0, 1.0]
    assert videos == {
        "openaigym.video.0.u.video000000.mp4": [0, 1, 2, 3],
        "openaigym.video.0.u.video000001.mp4": [0, 1, 2, 3],
    }
    assert [Path(video).name for video, _ in env.videos] == list(videos)
    stats = json.loads((tmp_path / "openaigym.episode_batch.0.u.stats.json").read_text())
    assert stats["episode_lengths"] == [3, 3, 3, 1] and stats["episode_types"] == ["e"] * 4
    with pytest.raises(error.Error, match="use 'force=True'"):
        Monitor(Scripted(), str(tmp_path))
    assert Monitor(Scripted(), str(tmp_path), resume=True).file_infix.startswith("3.")
    Monitor(Scripted(), str(tmp_path), force=True)
    assert list(tmp_path.iterdir()) == []


def test_monitor_of_the_done_interface(tmp_path: Path) -> None:
    env = Monitor(to_done_api(Scripted([1.0, 2.0])), str(tmp_path), False, write_upon_reset=True)
    for _ in range(2):
        assert env.reset().tolist() == [0.0]
        done = False
        while not done:
            *_, done, _info = env.step(None)
    env.close()
    assert env.get_episode_rewards() == [3.0, 3.0] and env.seed(3) == [3]


def test_monitor_arguments(tmp_path: Path) -> None:
    with pytest.raises(error.InvalidArgument, match="mode: expected"):
        Monitor(Scripted(), str(tmp_path), mode="both")
    with pytest.raises(TypeError, match="video_callable: expected"):
        Monitor(Scripted(), str(tmp_path), video_callable=3)


# RenderCollection, HumanRendering


def test_rendering_wrappers_forward() -> None:
    env = RenderCollection(Scripted(render_mode="rgb_array"))
    env.reset()
    assert len(env.render()) == 1 and env.secret == "found"
    assert HumanRendering(Scripted(render_mode="rgb_array")).secret == "found"
    with pytest.raises(AttributeError, match="prohibited"):
        env._secret  # noqa: B018
    assert video_files.VIDEO_FORMATS == ("mp4", "gif")
