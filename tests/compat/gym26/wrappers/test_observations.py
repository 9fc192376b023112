"""Observation wrappers of Gym 0.26."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, spaces
from gymcore.compat.gym26.wrappers import (
    FilterObservation,
    FlattenObservation,
    GrayScaleObservation,
    PixelObservationWrapper,
    ResizeObservation,
    TimeAwareObservation,
    TransformObservation,
)
from tests.compat.gym26.scripted import Scripted


class Entries(Scripted):
    """Environment that observes a dict."""

    def __init__(self, **kwargs: Any) -> None:
        space = spaces.Dict(
            {"z": spaces.Discrete(9), "a": spaces.Discrete(9), "m": spaces.Box(0, 9, (2,))},
            sort_keys=False,
        )
        super().__init__(observation_space=space, **kwargs)

    def observe(self) -> Any:
        steps = self.elapsed
        return {"z": steps, "a": 8 - steps, "m": np.full(2, steps, np.float32)}


# TransformObservation, FilterObservation, FlattenObservation


def test_transformed() -> None:
    env = TransformObservation(Scripted(), f=lambda observation: observation + 0.5)
    assert env.reset()[0].tolist() == [0.5]
    assert env.step(None)[0].tolist() == [1.5]
    assert env.observation_space == env.env.observation_space
    assert env.secret == "found"
    with pytest.raises(AssertionError, match="f: expected a function"):
        TransformObservation(Scripted(), None)


def test_filtered_in_the_order_of_the_environment() -> None:
    env = FilterObservation(Entries(), ["m", "z"])
    assert list(env.observation_space.spaces) == ["z", "m"]
    observation = env.reset()[0]
    assert list(observation) == ["z", "m"] and observation in env.observation_space
    assert list(env.step(None)[0]) == ["z", "m"]


def test_filtered_by_nothing() -> None:
    env = FilterObservation(Entries())
    assert list(env.observation_space.spaces) == ["z", "a", "m"]
    assert list(env.reset()[0]) == ["z", "a", "m"]
    assert list(FilterObservation(Entries(), []).reset()[0]) == []


def test_filtered_wrongly() -> None:
    with pytest.raises(ValueError, match=r"Missing keys: \['q'\]"):
        FilterObservation(Entries(), ["a", "q"])
    with pytest.raises(AssertionError, match="expected a Dict observation space"):
        FilterObservation(Scripted())


def test_flattened() -> None:
    env = FlattenObservation(Scripted(observation_space=spaces.Box(0, 9, (2, 3), np.float32)))
    assert env.observation_space == spaces.Box(0, 9, (6,), np.float32)
    env.reset()
    assert env.step(None)[0].tolist() == [1.0] * 6 and env.secret == "found"


# TimeAwareObservation


def test_time_at_the_end() -> None:
    env = TimeAwareObservation(Scripted())
    assert env.observation_space == spaces.Box(
        np.float32([-100, 0]), np.float32([100, np.inf]), dtype=np.float32
    )
    assert env.reset()[0].tolist() == [0.0, 0.0]
    observations = [env.step(None)[0] for _ in range(3)]
    assert [o.tolist() for o in observations] == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert observations[0].dtype == np.float64 and env.t == 3
    assert env.reset()[0].tolist() == [0.0, 0.0]
    for space in (spaces.Box(0, 1, (2,), np.float64), spaces.Discrete(3)):
        with pytest.raises(AssertionError, match="expected a float32 Box"):
            TimeAwareObservation(Scripted(observation_space=space))


# Images


class Colors(Scripted):
    def __init__(self, shape: Any = (6, 8, 3)) -> None:
        super().__init__(observation_space=spaces.Box(0, 255, shape, np.uint8))
        self.generator = np.random.default_rng(3)

    def observe(self) -> Any:
        return self.generator.integers(0, 256, self.observation_space.shape, np.uint8)


def test_gray_values() -> None:
    class Known(Colors):
        def observe(self) -> Any:
            # 76.245, 149.685, 29.07, 255 and 0.114 * 4 + 0.587 = 1.043, rounded
            rgb = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 1, 4)]
            return np.array([rgb], np.uint8)

    env = GrayScaleObservation(Known((1, 5, 3)))
    assert env.reset()[0].tolist() == [[76, 150, 29, 255, 1]]
    assert env.observation_space == spaces.Box(0, 255, (1, 5), np.uint8)
    env = GrayScaleObservation(Known((1, 5, 3)), keep_dim=True)
    assert env.reset()[0].tolist() == [[[76], [150], [29], [255], [1]]]
    assert env.observation_space.shape == (1, 5, 1)
    with pytest.raises(AssertionError, match=r"expected a Box of shape \(height, width, 3\)"):
        GrayScaleObservation(Scripted())


def test_gray_values_like_opencv() -> None:
    cv2 = pytest.importorskip("cv2", reason="cv2 is not installed")
    env = GrayScaleObservation(Colors((256, 1024, 3)))
    twin = Colors((256, 1024, 3))
    expected = cv2.cvtColor(twin.reset()[0], cv2.COLOR_RGB2GRAY)
    np.testing.assert_array_equal(env.reset()[0], expected)


@pytest.mark.parametrize(
    ("shape", "size", "result"),
    [
        ((6, 8, 3), 4, (4, 4, 3)),
        ((6, 8, 3), (3, 4), (3, 4, 3)),
        ((6, 8), 4, (4, 4, 1)),
        ((6, 8, 1), (3, 2), (3, 2, 1)),
    ],
)
def test_resized(shape: Any, size: Any, result: Any) -> None:
    cv2 = pytest.importorskip("cv2", reason="cv2 is not installed")
    env = ResizeObservation(Colors(shape), size)
    observation = env.reset()[0]
    assert observation.shape == result and observation in env.observation_space
    original = Colors(shape).reset()[0]
    expected = cv2.resize(original, (result[1], result[0]), interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(observation, expected.reshape(result))
    assert env.shape == result[:2]


def test_resized_to_half() -> None:
    pytest.importorskip("cv2", reason="cv2 is not installed")

    class Squares(Colors):
        def observe(self) -> Any:
            return np.array([[0, 100, 10, 20], [100, 200, 30, 40]], np.uint8)

    env = ResizeObservation(Squares((2, 4)), (1, 2))
    assert env.reset()[0].tolist() == [[[100], [25]]]


def test_a_copy_resizes_alike() -> None:
    pytest.importorskip("cv2", reason="cv2 is not installed")
    env = ResizeObservation(Colors((6, 8, 3)), 4)
    again = copy.deepcopy(env)
    np.testing.assert_array_equal(again.reset()[0], env.reset()[0])


@pytest.mark.parametrize("size", [0, -3, (4, 0), (4, 4, 3)])
def test_wrong_sizes(size: Any) -> None:
    with pytest.raises(AssertionError, match="shape: expected two positive sizes"):
        ResizeObservation(Colors(), size)
    with pytest.raises(AssertionError, match="ResizeObservation: expected a Box of shape"):
        ResizeObservation(Scripted(), 3)


# PixelObservationWrapper


@pytest.mark.parametrize("mode", ["rgb_array", "rgb_array_list"])
def test_pixels_alone(mode: str) -> None:
    env = PixelObservationWrapper(gymcore.make("CartPole-v1", render_mode=mode))
    assert env.observation_space == spaces.Dict(pixels=spaces.Box(0, 255, (400, 600, 3), np.uint8))
    observation = env.reset(seed=1)[0]
    assert list(observation) == ["pixels"] and observation in env.observation_space
    if mode == "rgb_array_list":
        env.step(0)
        frames = env.render()
        assert len(frames) == 2  # frames that the observations used are still there, once
        assert (frames[0] == observation["pixels"]).all() and env.render() == []
    env.close()


def test_pixels_beside_an_array() -> None:
    env = PixelObservationWrapper(
        Scripted(render_mode="rgb_array"), pixels_only=False, pixel_keys=("near", "far")
    )
    assert list(env.observation_space.spaces) == ["state", "near", "far"]
    env.reset()
    observation = env.step(None)[0]
    assert list(observation) == ["state", "near", "far"]
    assert observation["state"].tolist() == [1.0] and (observation["far"] == 1).all()


def test_pixels_beside_entries_and_arguments_of_render() -> None:
    class Scaled(Entries):
        def render(self, scale: int = 1) -> Any:
            return np.full((1, 1, 3), scale, np.float32)

    env = PixelObservationWrapper(
        Scaled(render_mode="rgb_array"),
        pixels_only=False,
        render_kwargs={"big": {"scale": 4}},
        pixel_keys=("small", "big"),
    )
    observation = env.reset()[0]
    assert list(observation) == ["z", "a", "m", "small", "big"]
    assert observation["small"].max() == 1 and observation["big"].max() == 4
    assert observation in env.observation_space
    assert env.observation_space["big"].high.max() == np.inf


def test_pixels_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"env\.render_mode must be specified"):
        PixelObservationWrapper(Scripted())
    rendered = {"render_mode": "rgb_array"}
    with pytest.raises(ValueError, match=r"Duplicate or reserved pixel keys \['a'\]"):
        PixelObservationWrapper(Entries(**rendered), False, pixel_keys=("a",))
    with pytest.raises(ValueError, match=r"reserved pixel keys \['state'\]"):
        PixelObservationWrapper(Scripted(**rendered), False, pixel_keys=("state",))
    with pytest.raises(ValueError, match="expected a Box or Dict observation space"):
        PixelObservationWrapper(Scripted(observation_space=spaces.Discrete(2), **rendered))

    class Text(Scripted):
        def render(self) -> Any:
            return "a picture"

    with pytest.raises(TypeError, match="expected an array"):
        PixelObservationWrapper(Text(render_mode="ansi"))
    assert issubclass(error.ArgumentTypeError, TypeError)
