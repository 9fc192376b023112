"""Names, modules and calls of Gym 0.26, and the objects they give."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import spaces, wrappers
from gymcore.compat import gym26
from tests.compat.gym26.scripted import Scripted

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
    # For a class that inherits `__init__`, Python 3.11.2 (Debian 12) returns `__new__`'s signature.
    signature = inspect.signature(getattr(gym26.wrappers, name).__init__)
    _, *parameters = signature.parameters.values()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    shown = inspect.Signature(bare)
    assert str(shown) == SIGNATURES[name]


def test_every_name_is_there() -> None:
    assert set(gym26.wrappers.__all__) >= set(SIGNATURES)
    for name in gym26.wrappers.__all__:
        assert getattr(gym26.wrappers, name) is not None and name in dir(gym26.wrappers)
    for name in SIGNATURES:
        assert hasattr(wrappers, name), name
    with pytest.raises(AttributeError, match="Nothing"):
        gym26.wrappers.Nothing  # noqa: B018


# One name, one behavior


def batch() -> Any:
    return gymcore.vector.make("CartPole-v1", num_envs=2, render_mode="rgb_array")


class Entries(Scripted):
    def __init__(self) -> None:
        super().__init__(observation_space=spaces.Dict(a=spaces.Discrete(9)))

    def observe(self) -> Any:
        return {"a": self.elapsed}


class Colors(Scripted):
    def __init__(self) -> None:
        super().__init__(observation_space=spaces.Box(0, 255, (6, 8, 3), np.uint8))


@pytest.mark.parametrize(
    "name", ["RecordEpisodeStatistics", "NormalizeReward", "NormalizeObservation", "RecordVideo"]
)
def test_vector_environments(name: str, tmp_path: Path) -> None:
    args = [str(tmp_path / "v")] if name == "RecordVideo" else []
    with pytest.raises(TypeError, match=r"Expected env to be a `gymcore.Env` but got"):
        getattr(wrappers, name)(batch(), *args)
    envs = getattr(gym26.wrappers, name)(batch(), *args)
    assert isinstance(envs, gym26.Wrapper) and repr(envs).startswith(f"<{name}<")
    envs.close()


@pytest.mark.parametrize("name", wrappers.__all__)
def test_no_class_decides_by_its_arguments(name: str) -> None:
    cls = getattr(wrappers, name)
    if isinstance(cls, type):
        assert cls.__new__ in (object.__new__, gymcore.Env.__new__)


def test_subclasses_take_both() -> None:
    class Subclass(gym26.wrappers.NormalizeReward):
        pass

    assert type(Subclass(Scripted())) is Subclass
    assert type(Subclass(batch())) is Subclass


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
    make = Colors if name == "ResizeObservation" else Scripted
    with pytest.raises(problem, match=words) as caught:
        getattr(gym26.wrappers, name)(make(), *arguments)
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
        getattr(gym26.wrappers, name)("CartPole-v1", *least.get(name, ()))
