"""Names, modules and calls of Gym 0.26, and what they lead to."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import spaces, wrappers
from gymcore.vector import VectorWrapper
from gymcore.wrappers import legacy
from gymcore.wrappers.legacy_paths import LEGACY_MODULES
from tests.wrappers.legacy.scripted import Scripted

SIGNATURES = {
    "AtariPreprocessing": "(env, noop_max=30, frame_skip=4, screen_size=84, "
    "terminal_on_life_loss=False, grayscale_obs=True, grayscale_newaxis=False, scale_obs=False)",
    "AutoResetWrapper": "(env)",
    "ClipAction": "(env)",
    "EnvCompatibility": "(old_env, render_mode=None)",
    "FilterObservation": "(env, filter_keys=None)",
    "FlattenObservation": "(env)",
    "FrameStack": "(env, num_stack, lz4_compress=False)",
    "GrayScaleObservation": "(env, keep_dim=False)",
    "HumanRendering": "(env)",
    "LazyFrames": "(frames, lz4_compress=False)",
    "NormalizeObservation": "(env, epsilon=1e-08)",
    "NormalizeReward": "(env, gamma=0.99, epsilon=1e-08)",
    "OrderEnforcing": "(env, disable_render_order_enforcing=False)",
    "PixelObservationWrapper": "(env, pixels_only=True, render_kwargs=None, "
    "pixel_keys=('pixels',))",
    "RecordEpisodeStatistics": "(env, deque_size=100)",
    "RecordVideo": "(env, video_folder, episode_trigger=None, step_trigger=None, video_length=0, "
    "name_prefix='rl-video')",
    "RenderCollection": "(env, pop_frames=True, reset_clean=True)",
    "RescaleAction": "(env, min_action, max_action)",
    "ResizeObservation": "(env, shape)",
    "StepAPICompatibility": "(env, output_truncation_bool=True)",
    "TimeAwareObservation": "(env)",
    "TimeLimit": "(env, max_episode_steps=None)",
    "TransformObservation": "(env, f)",
    "TransformReward": "(env, f)",
    "VectorListInfo": "(env)",
}


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_signatures(name: str) -> None:
    signature = inspect.signature(getattr(legacy, name))
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    shown = inspect.Signature(bare)
    assert str(shown) == SIGNATURES[name]


def test_every_name_is_there() -> None:
    assert set(legacy.__all__) >= set(SIGNATURES)
    for name in legacy.__all__:
        assert getattr(legacy, name) is not None and name in dir(legacy)
    for name in SIGNATURES:
        assert hasattr(wrappers, name), name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        legacy.Nothing  # noqa: B018


def test_modules_of_gym() -> None:
    for path, places in LEGACY_MODULES.items():
        module = importlib.import_module(f"gymcore.wrappers.{path}")
        for name, place in places.items():
            assert getattr(module, name) is getattr(importlib.import_module(place), name)
        assert not hasattr(module, "Nothing") and set(places) <= set(dir(module))
        folder = Path(wrappers.__file__).parent
        assert not (folder / f"{path.replace('.', '/')}.py").exists(), f"{path} hides a file"
    from gymcore.wrappers.rendering import capped_cubic_video_schedule
    from gymcore.wrappers.transform_reward import TransformReward

    assert capped_cubic_video_schedule(8) and TransformReward is wrappers.TransformReward


def test_modules_of_gym_in_a_new_process() -> None:
    code = (
        "import gymcore.wrappers.monitoring.video_recorder as recorder\n"
        "from gymcore.wrappers.frame_stack import FrameStack, LazyFrames\n"
        "from gymcore.wrappers.monitoring import video_recorder\n"
        "from gymcore.wrappers.time_limit import TimeLimit\n"
        "import gymcore\n"
        "assert recorder is video_recorder is gymcore.wrappers.monitoring.video_recorder\n"
        "assert TimeLimit is gymcore.wrappers.TimeLimit\n"
        "assert gymcore.compat.EnvCompatibility is gymcore.wrappers.EnvCompatibility\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# One name, two behaviours


def batch() -> Any:
    return gymcore.vector.make("CartPole-v1", num_envs=2, render_mode="rgb_array")


class Entries(Scripted):
    def __init__(self) -> None:
        super().__init__(observation_space=spaces.Dict(a=spaces.Discrete(9)))

    def observe(self) -> Any:
        return {"a": self.elapsed}


class Colours(Scripted):
    def __init__(self) -> None:
        super().__init__(observation_space=spaces.Box(0, 255, (6, 8, 3), np.uint8))


SINGLE: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("RecordEpisodeStatistics", Scripted, (), {"deque_size": 5}),
    ("TransformObservation", Scripted, (abs,), {}),
    ("TransformObservation", Scripted, (), {"f": abs}),
    ("TransformReward", Scripted, (), {"f": abs}),
    ("FilterObservation", Entries, (), {}),
    ("FilterObservation", Entries, (None,), {}),
    ("FilterObservation", Entries, (), {"filter_keys": None}),
    ("ResizeObservation", Colours, (4,), {}),
    ("ResizeObservation", Colours, (), {"shape": 4}),
]


@pytest.mark.parametrize(("name", "make", "args", "kwargs"), SINGLE)
def test_calls_of_gym(name: str, make: Any, args: Any, kwargs: Any) -> None:
    if name == "ResizeObservation":
        pytest.importorskip("cv2", reason="cv2 is not installed")
    today = getattr(wrappers, name)
    env = today(make(), *args, **kwargs)
    assert type(env) is getattr(legacy, name) and isinstance(env, today)
    if not args:
        assert type(today(env=make(), **kwargs)) is type(env)
    env.reset()
    assert env.secret == "found"
    assert type(copy.copy(env)) is type(env)


def test_a_time_limit_without_a_number() -> None:
    env = wrappers.TimeLimit(gymcore.make("CartPole-v1"))
    assert type(env) is legacy.TimeLimit and env._max_episode_steps == 500
    assert type(pickle.loads(pickle.dumps(env))) is legacy.TimeLimit


@pytest.mark.parametrize(
    "name", ["RecordEpisodeStatistics", "NormalizeReward", "NormalizeObservation", "RecordVideo"]
)
def test_vector_environments(name: str, tmp_path: Path) -> None:
    args = [str(tmp_path / "v")] if name == "RecordVideo" else []
    envs = getattr(wrappers, name)(batch(), *args)
    assert isinstance(envs, VectorWrapper) and repr(envs).startswith(f"<{name}, ")
    assert type(envs).__module__.startswith("gymcore.wrappers.legacy.")
    envs.close()


CALLS_OF_TODAY: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("RecordEpisodeStatistics", Scripted, (5,), {}),
    ("TransformObservation", Scripted, (abs, None), {}),
    ("TransformObservation", Scripted, (), {"func": abs, "observation_space": None}),
    ("TransformReward", Scripted, (abs,), {}),
    ("FilterObservation", Entries, (["a"],), {}),
    ("ResizeObservation", Colours, ((4, 4),), {}),
    ("TimeLimit", Scripted, (4,), {}),
    ("NormalizeReward", Scripted, (), {}),
]


@pytest.mark.parametrize(("name", "make", "args", "kwargs"), CALLS_OF_TODAY)
def test_calls_of_today(name: str, make: Any, args: Any, kwargs: Any) -> None:
    if name == "ResizeObservation":
        pytest.importorskip("cv2", reason="cv2 is not installed")
    today = getattr(wrappers, name)
    assert type(today(make(), *args, **kwargs)) is today


def test_subclasses_are_left_alone() -> None:
    class Own(wrappers.RecordEpisodeStatistics):
        def __init__(self, env: Any, deque_size: int = 3) -> None:
            super().__init__(env, deque_size)

    env = Own(Scripted(), deque_size=4)
    assert type(env) is Own and env.return_queue.maxlen == 4

    class OwnLegacy(legacy.NormalizeReward):
        pass

    assert type(OwnLegacy(Scripted())) is OwnLegacy
    with pytest.raises(TypeError):
        OwnLegacy(batch())


@pytest.mark.parametrize("name", ["TransformObservation", "TimeLimit", "RecordEpisodeStatistics"])
def test_signatures_are_those_of_today(name: str) -> None:
    import gymnasium

    ours, theirs = (
        inspect.signature(getattr(package.wrappers, name)) for package in (gymcore, gymnasium)
    )
    assert list(ours.parameters) == list(theirs.parameters)


@pytest.mark.parametrize(
    ("name", "arguments", "problem", "words"),
    [
        ("FrameStack", (2.5,), TypeError, "num_stack: expected an integer, got 2.5"),
        ("FrameStack", (0,), ValueError, "num_stack: expected at least 1, got 0"),
        ("RecordEpisodeStatistics", ("a",), TypeError, "deque_size: expected an integer"),
        ("RecordEpisodeStatistics", (-1,), ValueError, "deque_size: expected at least 0"),
        ("RescaleAction", ("a", 1), TypeError, "min_action: expected numbers, got 'a'"),
        ("RescaleAction", (0, None), TypeError, "max_action: expected numbers, got None"),
        ("RecordVideo", ("v", None, None, 1.5), TypeError, "video_length: expected an integer"),
        ("ResizeObservation", (None,), AssertionError, "shape: expected two positive sizes"),
        ("ResizeObservation", ((2.5, 3),), AssertionError, "shape: expected two positive sizes"),
    ],
)
def test_wrong_arguments(
    name: str, arguments: Any, problem: Any, words: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    make = Colours if name == "ResizeObservation" else Scripted
    with pytest.raises(problem, match=words) as caught:
        getattr(legacy, name)(make(), *arguments)
    assert isinstance(caught.value, gymcore.error.Error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(set(SIGNATURES) - {"EnvCompatibility", "LazyFrames"}))
def test_no_environment(name: str, tmp_path: Path) -> None:
    least = {
        "FrameStack": (2,),
        "RecordVideo": (str(tmp_path),),
        "RescaleAction": (0, 1),
        "ResizeObservation": (4,),
        "TransformObservation": (abs,),
        "TransformReward": (abs,),
    }
    with pytest.raises(TypeError, match=r"[Ee]xpected.* got <class 'str'>"):
        getattr(legacy, name)("CartPole-v1", *least.get(name, ()))
