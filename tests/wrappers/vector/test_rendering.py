"""RecordVideo, HumanRendering and RenderCollection for vector environments."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers import RenderCollection as SingleRenderCollection
from gymcore.wrappers.vector import HumanRendering, RecordVideo, RenderCollection
from tests.testing_env import assert_same
from tests.videos import grays, make_film_env, read_video, skip_gymnasiums_encoding
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.walk_env import make_walk_env

MODE_VALUES = [mode.value for mode in MODES]


def make_envs(
    gym: ModuleType = gymcore,
    mode: str = "NextStep",
    n: int = 4,
    kind: Any = "rgb_array",
    **kw: Any,
) -> Any:
    """Return environments; lane i has episodes of 4 + i steps."""
    lanes = [functools.partial(make_film_env(gym), kind, 4 + i, **kw) for i in range(n)]
    return gym.vector.SyncVectorEnv(lanes, autoreset_mode=gym.vector.AutoresetMode(mode))


# RecordVideo


def follow(gym: ModuleType, folder: Path, mode: str, **kwargs: Any) -> Any:
    """Return the wrapper's attributes, and the names of its files."""
    env = gym.wrappers.vector.RecordVideo(make_envs(gym, mode), str(folder), **kwargs)
    seen: list[Any] = []

    def note() -> None:
        about = (env.recording, env.step_id, env.episode_id, len(env.recorded_frames))
        seen.append((*about, bool(env.has_autoreset), env.frame_cols, env.frame_rows))

    note()
    env.reset(seed=1)
    note()
    for _ in range(9):
        result = env.step(np.zeros(4, np.int64))
        note()
        ended = result[2] | result[3]
        if mode == "Disabled" and ended.any():
            env.reset(options={"reset_mask": ended})
            note()
    env.close()
    note()
    return seen, env.autoreset_mode.value, sorted(os.listdir(folder))


@pytest.mark.slow
@in_modes(
    "arguments",
    [
        {"episode_trigger": lambda i: True},
        {"episode_trigger": lambda i: i > 0, "video_length": 2, "record_first_only": True},
        {"step_trigger": lambda i: i == 2, "name_prefix": "x"},
    ],
)
@pytest.mark.filterwarnings("ignore:.*Overwriting existing videos")
@pytest.mark.filterwarnings("ignore:.*autoreset mode is same-step")
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_begins_and_ends_like_gymnasium(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: AutoresetMode, arguments: dict[str, Any]
) -> None:
    skip_gymnasiums_encoding(monkeypatch)
    ours = follow(gymcore, tmp_path / "ours", mode.value, **arguments)
    assert ours == follow(gymnasium, tmp_path / "theirs", mode.value, **arguments)


def test_lanes_are_side_by_side(tmp_path: Path) -> None:
    env = RecordVideo(make_envs(n=3), str(tmp_path / "f"), (16, 9))
    env.reset()
    for _ in range(3):
        env.step(np.zeros(3, np.int64))
    env.reset(options={"reset_mask": np.array([False, True, True])})
    env.close()
    found = read_video(tmp_path / "f" / "rl-video-episode-0.mp4", (64, 96))
    centers = found[:, [16, 16, 48, 48], [24, 72, 24, 72], 0]
    expected = [[10 * k] * 3 + [0] for k in range(4)] + [[30, 0, 0, 0]]
    np.testing.assert_allclose(centers, expected, atol=2)


def test_the_first_lane_alone_and_a_gif(tmp_path: Path) -> None:
    env = RecordVideo(make_envs(), str(tmp_path / "f"), record_first_only=True, format="gif")
    env.reset()
    env.step(np.zeros(4, np.int64))
    env.close()
    assert grays(tmp_path / "f" / "rl-video-episode-0.gif") == [0, 10]


def test_same_step_says_what_is_missing(tmp_path: Path) -> None:
    """The engine cannot take the frame before the reset; rendering would take it from a list."""
    with pytest.warns(UserWarning, match="will not contain the last frame of the episode"):
        RecordVideo(make_envs(mode="SameStep", kind="rgb_array_list"), str(tmp_path / "f"))


@pytest.mark.parametrize("first_only", [False, True])
def test_same_step_films_the_last_frame(tmp_path: Path, first_only: bool) -> None:
    env = RecordVideo(
        make_envs(mode="SameStep", n=2),
        str(tmp_path / "f"),
        episode_trigger=lambda i: i == 1,
        record_first_only=first_only,
    )
    env.reset()
    shown = [env.step(np.zeros(2, np.int64))[4].get("final_info", {}) for _ in range(12)]
    env.close()
    # Lane 0 has episodes of 4 steps, lane 1 of 5; only episode 1 of lane 0 is recorded.
    assert ["final_frame" in one for one in shown] == [k in (4, 7) for k in range(12)]
    size = (32, 48) if first_only else (64, 48)
    found = read_video(tmp_path / "f" / "rl-video-episode-1.mp4", size)
    expected = [0, 10, 20, 30, 40]
    np.testing.assert_allclose(found[:, 16, 24, 0], expected, atol=2)


def test_same_step_films_more_than_an_episode_as_before(tmp_path: Path) -> None:
    env = RecordVideo(
        make_envs(mode="SameStep", n=1),
        str(tmp_path / "f"),
        episode_trigger=lambda i: i == 0,
        video_length=6,
        name_prefix="x",
    )
    env.reset()
    for _ in range(8):
        assert "final_frame" not in env.step(np.zeros(1, np.int64))[4].get("final_info", {})
    env.close()
    assert grays(tmp_path / "f" / "x-episode-0.mp4") == [0, 10, 20, 30, 0, 10, 20]


def test_lists_of_frames(tmp_path: Path) -> None:
    """Gymnasium raises AttributeError."""
    env = RecordVideo(make_envs(kind="rgb_array_list", n=2), str(tmp_path / "f"))
    env.reset()
    env.step(np.zeros(2, np.int64))
    assert [len(lane) for lane in env.render()] == [2, 2]
    assert [len(lane) for lane in env.render()] == [0, 0]
    env.close()
    assert grays(tmp_path / "f" / "rl-video-episode-0.mp4", (64, 48)) == [0, 10]


def test_engines_give_the_same_video(tmp_path: Path) -> None:
    found = []
    for engine in ("native", "sync"):
        envs = gymcore.make_vec("CartPole-v1", 2, engine, render_mode="rgb_array")
        env = RecordVideo(envs, str(tmp_path / engine))
        env.reset(seed=1)
        env.step(np.array([0, 1]))
        env.close()
        found.append((tmp_path / engine / "rl-video-episode-0.mp4").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("mode", [None, "human", "ansi"])
def test_render_modes_without_pictures(tmp_path: Path, mode: Any) -> None:
    with pytest.raises(ValueError, match=f"Render mode is {mode}, which is incompatible"):
        RecordVideo(make_envs(kind=mode), str(tmp_path))


@pytest.mark.parametrize("ratio", [(0, 1), (1, -1), 3, "ab", (1, 2, 3), (1, float("inf"))])
def test_wrong_ratios(tmp_path: Path, ratio: Any) -> None:
    with pytest.raises(error.InvalidArgument, match="video_aspect_ratio"):
        RecordVideo(make_envs(), str(tmp_path / "f"), ratio)


@pytest.mark.parametrize("frame", ["text", np.zeros((2, 2, 7), np.uint8)])
def test_frames_that_are_not_pictures_stop_it(tmp_path: Path, frame: Any) -> None:
    env = RecordVideo(make_envs(frame=frame), str(tmp_path / "f"))
    with pytest.warns(UserWarning) as caught:
        env.reset()
    assert "Recording stopped" in str(caught[-1].message)
    assert not env.recording


# RenderCollection


@pytest.mark.parametrize(
    ("mode", "pop", "clean"),
    [
        (mode, pop, clean)
        for mode in MODES
        for pop, clean in ((True, True), (False, True), (True, False))
    ],
)
def test_collection_lane_by_lane(mode: AutoresetMode, pop: bool, clean: bool) -> None:
    make = functools.partial(make_walk_env(), render_mode="rgb_array")
    ours = RenderCollection(SyncVectorEnv([make] * 3, autoreset_mode=mode), pop, clean)
    theirs = SyncVectorEnv(
        [lambda: SingleRenderCollection(make(), pop, clean)] * 3, autoreset_mode=mode
    )
    rng = np.random.default_rng(0)
    assert_same(ours.render(), ([], [], []))
    for env in (ours, theirs):
        env.reset(seed=1)
    ended = np.zeros(3, np.bool_)
    for step in range(60):
        mask = ended if mode is AutoresetMode.DISABLED else rng.random(3) < 0.1
        if mask.any():
            for env in (ours, theirs):
                env.reset(options={"reset_mask": mask.copy()})
        actions = rng.integers(0, 2, 3)
        result = ours.step(actions)
        theirs.step(actions)
        ended = result[2] | result[3]
        if step % 3 == 0:
            assert_same(ours.render(), theirs.render(), f"step {step}")


@pytest.mark.parametrize("mode", MODES)
def test_collection_changes_nothing_else(mode: AutoresetMode) -> None:
    make = functools.partial(make_walk_env(), render_mode="rgb_array")
    check_lane_by_lane(RenderCollection, SingleRenderCollection, make, mode=mode, steps=18)


def test_collection_modes() -> None:
    env = RenderCollection(make_envs())
    assert env.render_mode == "rgb_array_list"
    assert env.metadata["render_modes"].count("rgb_array_list") == 1
    with pytest.raises(ValueError, match="to not end with '_list', got 'rgb_array_list'"):
        RenderCollection(env)
    with pytest.raises(ValueError, match="to be not None"):
        RenderCollection(make_envs(kind=None))


# HumanRendering


class ShownFrames:
    """A replacement for a window that keeps the frames shown."""

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        self.size = size
        self.is_open = True
        self.frames: list[np.ndarray] = []

    def show(self, surface: Any) -> None:
        from gymcore.rendering.window import load_pygame

        self.frames.append(load_pygame().surfarray.array3d(surface).transpose(1, 0, 2))

    def close(self) -> None:
        self.is_open = False


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[ShownFrames]:
    from gymcore.rendering.window import load_pygame
    from gymcore.wrappers import rendering

    windows: list[ShownFrames] = []

    def open_one(title: str, size: tuple[int, int]) -> ShownFrames:
        windows.append(ShownFrames(title, size))
        return windows[-1]

    pygame = load_pygame()
    monkeypatch.setattr(rendering, "Window", open_one)
    monkeypatch.setattr(pygame.event, "pump", lambda: None)
    return windows


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, (96, 64), (400, 100)])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_lane_is_shown(shown: list[ShownFrames], n: int, size: Any) -> None:
    envs = make_envs(n=n)
    env = HumanRendering(envs, size)
    for i, lane in enumerate(envs.envs):
        lane.unwrapped.frame = np.full((32, 48, 3), 40 * (i + 1), np.uint8)
    env.reset()
    env.step(np.zeros(n, np.int64))
    (window,) = shown
    assert window.size == env.screen_size == (size or (48, 32))
    width, height = env.scaled_subenv_size
    assert env.num_rows * env.num_cols >= n
    for frame in window.frames:
        for i in range(n):
            own = abs(frame.astype(int) - 40 * (i + 1)) <= 2  # smoothscale rounds
            shown_pixels = int(own.all(axis=2).sum())  # without the lines between lanes
            assert (width - 1) * (height - 1) <= shown_pixels <= width * height
    env.close()
    assert not window.is_open and env.window is None


def test_depth_and_lists_are_shown(shown: list[ShownFrames]) -> None:
    depth = np.linspace(1, 2, 32 * 48).reshape(32, 48)
    env = HumanRendering(make_envs(kind="depth_array", n=1, frame=depth))
    env.reset()
    assert shown[0].frames[0].max() == 255
    env = HumanRendering(make_envs(kind="rgb_array_list", n=2))
    env.reset()
    env.step([0, 0])
    assert (shown[1].frames[1][10, 20] == 10).all()


def test_like_gymnasium_outside() -> None:
    for gym in (gymcore, gymnasium):
        env = gym.wrappers.vector.HumanRendering(make_envs(gym))
        assert env.render_mode == "human" and env.screen_size is None
        for mode in ("human", None, "ansi"):
            with pytest.raises(ValueError, match=r"to be one of \['rgb_array', .* but got"):
                gym.wrappers.vector.HumanRendering(make_envs(gym, kind=mode))
        env = gym.wrappers.vector.HumanRendering(make_envs(gym, frame="text"))
        with pytest.raises(AssertionError, match=r"to return a numpy array, actually returned \["):
            env.reset()
    with pytest.raises(error.InvalidArgument, match="screen_size"):
        HumanRendering(make_envs(), (0, 3))


def test_no_frame_rate() -> None:
    envs = make_envs()
    envs.metadata = {"render_modes": ["rgb_array"]}
    with pytest.raises(ValueError, match="must specify 'render_fps'"):
        HumanRendering(envs)
