"""RenderCollection and HumanRendering, side by side with Gymnasium's."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.rendering.window import load_pygame
from gymcore.wrappers import HumanRendering, RenderCollection, rendering
from tests.parity import compare


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


METADATA = {"render_modes": ["rgb_array", "human", "ansi", "listed_list"], "render_fps": 1000}


def make_env(
    gym: ModuleType,
    mode: str | None = "rgb_array",
    metadata: Any = METADATA,
    frame: Callable[[int], Any] = lambda count: np.full((3, 4, 3), count, np.uint8),
) -> Any:
    """Return an environment whose frames show the number of earlier calls of render."""

    class Rendered(gym.Env):
        observation_space = action_space = gym.spaces.Discrete(2)

        def __init__(self) -> None:
            self.render_mode = mode
            self.count = 0
            self.closed = 0

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return 0, {"seed": seed, "options": options}

        def step(self, action: Any) -> Any:
            return action, 1.0, False, True, {}

        def render(self) -> Any:
            self.count += 1
            return frame(self.count)

        def close(self) -> None:
            self.closed += 1

    Rendered.metadata = metadata
    return Rendered()


# RenderCollection


@pytest.mark.parametrize("pop_frames", [True, False])
@pytest.mark.parametrize("reset_clean", [True, False])
@pytest.mark.parametrize("mode", ["rgb_array", "ansi", "other", "listed"])
def test_collection_like_gymnasium(mode: str, reset_clean: bool, pop_frames: bool) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = gym.wrappers.RenderCollection(make_env(gym, mode), pop_frames, reset_clean)
        results = [env.render(), env.render_mode, env.metadata, env.env.metadata]
        for length in (2, 1):
            results.append(env.reset(seed=1, options={"a": 1}))
            results += [env.step(action) for action in range(length)]
            results += [list(env.render()), list(env.render())]
        results += [env.step(3), env.reset(), env.frame_list, env.render() is env.render()]
        return [*results, env.pop_frames, env.reset_clean]

    compare(scenario)


@pytest.mark.parametrize("mode", [None, "rgb_array_list", "_list"])
def test_modes_that_cannot_be_collected(mode: str | None) -> None:
    compare(lambda gym: gym.wrappers.RenderCollection(make_env(gym, mode)))


def test_collection_of_something_else() -> None:
    with pytest.raises(
        TypeError, match=r"Expected env to be a `gymcore\.Env` but got <class 'int'>"
    ):
        RenderCollection(3)  # type: ignore[arg-type]


def test_collected_frames_survive_an_environment_without_metadata() -> None:
    env = RenderCollection(make_env(gymcore, metadata={}))
    assert env.metadata == {"render_modes": ["rgb_array_list"]}


def test_collection_through_make(registries: None) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        gym.register("Rendered-v0", entry_point=lambda render_mode=None: make_env(gym, render_mode))
        env = gym.wrappers.RenderCollection(gym.make("Rendered-v0", render_mode="rgb_array"), False)
        spec = env.spec
        spec.entry_point = "a:b"
        return [spec.to_json(), spec.additional_wrappers]

    compare(scenario)


def test_cart_pole_frames() -> None:
    env = gymcore.make("CartPole-v1", render_mode="rgb_array_list")
    env.reset(seed=1)
    env.step(0)
    frames = env.render()
    assert isinstance(frames, list)
    assert [frame.shape for frame in frames] == [(400, 600, 3)] * 2
    assert env.render() == []
    env.close()


# HumanRendering


@pytest.mark.parametrize("mode", [None, "ansi", "human", "rgb_array", "depth_array_list"])
def test_modes_that_can_be_shown_like_gymnasium(mode: str | None) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = gym.wrappers.HumanRendering(make_env(gym, mode))
        return [env, env.render_mode, env.screen_size, env.window, env.clock]

    compare(scenario)


@pytest.mark.parametrize(
    "metadata",
    [
        {"render_modes": ["rgb_array"], "render_fps": 5},
        {"render_modes": ["rgb_array", "human"], "render_fps": 5},
        {"render_modes": ["rgb_array"]},
        {},
    ],
)
def test_metadata_like_gymnasium(metadata: Any) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = gym.wrappers.HumanRendering(make_env(gym, metadata=metadata))
        return [env.metadata, env.env.metadata]

    compare(scenario)


class ShownFrames:
    """A replacement for the window that keeps the frames shown, [height, width, 3]."""

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        self.title = title
        self.size = size
        self.is_open = True
        self.frames: list[np.ndarray] = []
        windows.append(self)

    def show(self, frame: Any) -> None:
        import pygame

        self.frames.append(pygame.surfarray.array3d(frame).transpose(1, 0, 2))

    def close(self) -> None:
        self.is_open = False


windows: list[ShownFrames] = []


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ShownFrames]]:
    pygame = load_pygame()
    pygame.display.init()
    monkeypatch.setattr(rendering, "Window", ShownFrames)
    windows.clear()
    yield windows
    pygame.quit()


def test_every_reset_and_step_is_shown(shown: list[ShownFrames]) -> None:
    picture = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)
    env = HumanRendering(make_env(gymcore, frame=lambda count: picture + count))
    assert shown == []
    assert env.reset(seed=3, options={}) == (0, {"seed": 3, "options": {}})
    assert env.step(1) == (1, 1.0, False, True, {})
    assert env.render() is None
    assert len(shown) == 1
    np.testing.assert_array_equal(shown[0].frames, [picture + 1, picture + 2])
    assert (shown[0].size, env.screen_size) == ((5, 2), (5, 2))
    assert shown[0].title == "Rendered"


def test_the_window_is_called_like_the_environment(shown: list[ShownFrames]) -> None:
    env = HumanRendering(gymcore.make("CartPole-v1", render_mode="rgb_array"))
    env.reset()
    assert shown[0].title == "CartPole-v1"
    env.close()


def test_closing(shown: list[ShownFrames]) -> None:
    env = HumanRendering(make_env(gymcore))
    env.reset()
    env.close()
    env.close()
    assert not shown[0].is_open
    assert (env.window, env.clock, env.unwrapped.closed) == (None, None, 2)
    env.step(0)
    assert len(shown) == 2, "an environment that is used again gets a new window"


def test_closing_without_a_window() -> None:
    env = HumanRendering(make_env(gymcore))
    env.close()
    assert env.unwrapped.closed == 1


def test_a_window_that_somebody_closed_is_opened_again(shown: list[ShownFrames]) -> None:
    env = HumanRendering(make_env(gymcore))
    env.reset()
    shown[0].is_open = False
    env.step(0)
    assert len(shown) == 2


def test_a_new_size_gets_a_new_window(shown: list[ShownFrames]) -> None:
    env = HumanRendering(
        make_env(gymcore, frame=lambda count: np.zeros((count, 2 * count, 3), np.uint8))
    )
    env.reset()
    env.step(0)
    assert [window.size for window in shown] == [(2, 1), (4, 2)]
    assert not shown[0].is_open


def test_the_last_of_a_list_of_frames_is_shown(shown: list[ShownFrames]) -> None:
    frames: list[np.ndarray] = []
    env = HumanRendering(make_env(gymcore, "rgb_array_list", frame=lambda count: frames))
    env.reset()
    assert shown == [], "Gymnasium raises IndexError"
    frames += [np.full((2, 2, 3), value, np.uint8) for value in (1, 2)]
    env.step(0)
    assert shown[0].frames[0].max() == 2


def test_a_collection_can_be_shown(shown: list[ShownFrames]) -> None:
    env = HumanRendering(RenderCollection(make_env(gymcore)))
    env.reset()
    env.step(0)
    assert [int(frame.max()) for frame in shown[0].frames] == [1, 2]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (np.array([[0.0, 1.0], [2.0, 4.0]]), [[0, 63], [127, 255]]),
        (np.array([[3.0, 3.0]]), [[0, 0]]),
        (np.array([[7, 200]], np.uint8), [[7, 200]]),
    ],
)
def test_depth_is_shown_in_gray(
    shown: list[ShownFrames], frame: np.ndarray, expected: list[list[int]]
) -> None:
    env = HumanRendering(make_env(gymcore, "depth_array", frame=lambda count: frame))
    env.reset()
    for channel in range(3):
        np.testing.assert_array_equal(shown[0].frames[0][:, :, channel], expected)


@pytest.mark.parametrize("frame", ["text", None, [1]])
def test_frames_that_are_no_arrays_like_gymnasium(frame: Any) -> None:
    compare(
        lambda gym: gym.wrappers.HumanRendering(make_env(gym, frame=lambda count: frame)).reset()
    )


def test_a_list_mode_that_gives_no_list() -> None:
    env = HumanRendering(make_env(gymcore, "rgb_array_list"))
    with pytest.raises(AssertionError, match=r"return a list, actually returned <class 'numpy.nd"):
        env.reset()


@pytest.mark.parametrize("shape", [(2,), (2, 2, 4), (1, 2, 2, 3)])
def test_frames_of_another_shape(shape: tuple[int, ...]) -> None:
    env = HumanRendering(make_env(gymcore, frame=lambda count: np.zeros(shape, np.uint8)))
    with pytest.raises(
        ValueError, match=r"\[height, width, 3\] or \[height, width\], actual shape"
    ):
        env.reset()


def test_without_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = HumanRendering(make_env(gymcore))
    with pytest.raises(gymcore.error.DependencyNotInstalled, match="run `pip install pygame-ce`"):
        env.reset()


def test_two_windows_in_one_process() -> None:
    """In a separate process: SDL keeps its video driver until the process ends."""
    program = """
import gymcore
from gymcore.rendering.window import load_pygame
from gymcore.wrappers import HumanRendering
first, second = (
    HumanRendering(gymcore.make(name, render_mode="rgb_array"))
    for name in ("CartPole-v1", "Pendulum-v1")
)
for env in (first, second):
    env.reset(seed=1)
assert first.window is not second.window
first.close()
assert second.window.is_open
second.step(second.action_space.sample())
second.close()
print("shown")
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("shown\n", 0), result.stderr


# --- copies ---------------------------------------------------------------------------------------

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize(
    ("kind", "batch"),
    [("human", False), *itertools.product(["wrapper", "video", "collection"], [False, True])],
)
def test_copies_have_their_own_windows_and_files(kind, batch, way, tmp_path):
    """The copy goes on from the same state; closing it leaves the window and the video alone."""
    pytest.importorskip("pygame")
    mode = "human" if kind == "human" else "rgb_array"
    if batch:
        env = gymcore.make_vec("CartPole-v1", num_envs=2, render_mode=mode)
    else:
        env = gymcore.make("CartPole-v1", render_mode=mode)
    package = gymcore.wrappers.vector if batch else gymcore.wrappers
    if kind == "wrapper":
        env = package.HumanRendering(env)
    elif kind == "video":
        pytest.importorskip("imageio_ffmpeg")
        env = package.RecordVideo(env, str(tmp_path / "videos"))
    elif kind == "collection":
        env = package.RenderCollection(env)
    action = np.ones(2, np.int64) if batch else 1
    with env:
        env.reset(seed=1)
        env.step(action)
        again = COPIES[way](env)
        if kind == "wrapper":
            assert env.window.is_open
            assert again.window is None
        if kind == "video":
            assert env.recording
            assert not again.recording
        if way != "copy":  # of which the wrapped environment is the same
            assert np.array_equal(again.step(action)[0], env.step(action)[0])
            again.close()
        del again
        env.step(action)
        if kind == "wrapper":
            assert env.window.is_open
        if kind == "video":
            assert env.recording
