"""AddWhiteNoise and ObstructView, side by side with Gymnasium's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.wrappers import AddWhiteNoise, ObstructView
from tests.parity import compare
from tests.videos import make_film_env

PICTURE = np.random.default_rng(9).integers(0, 256, (31, 45, 3), np.uint8)


def render(gym: ModuleType, name: str, *arguments: Any) -> list[np.ndarray]:
    env = getattr(gym.wrappers, name)(make_film_env(gym)(frame=PICTURE.copy()), *arguments)
    env.reset(seed=5)
    return [np.asarray(env.render(), np.uint8) for _ in range(3)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(("AddWhiteNoise", (share, gray)) for share in (0, 0.3, 0.9) for gray in (False, True)),
        *(
            ("ObstructView", (share, width, gray))
            for share, width in ((0, 3), (0.3, 1), (0.5, 2), (0.5, 3), (0.9, 8), (0.9, 100))
            for gray in (False, True)
        ),
    ],
)
def test_same_noise_as_gymnasium(name: str, arguments: tuple[Any, ...]) -> None:
    ours, theirs = (render(gym, name, *arguments) for gym in (gymcore, gymnasium))
    np.testing.assert_array_equal(ours, theirs)
    assert ours[0].dtype == np.uint8


@pytest.mark.parametrize("share", [-1, 1, 1.5])
def test_wrong_shares_like_gymnasium(share: float) -> None:
    compare(lambda gym: gym.wrappers.AddWhiteNoise(make_film_env(gym)(), share))
    compare(lambda gym: gym.wrappers.ObstructView(make_film_env(gym)(), share, 2))


@pytest.mark.parametrize("width", [0, -1])
def test_wrong_widths_like_gymnasium(width: int) -> None:
    compare(lambda gym: gym.wrappers.ObstructView(make_film_env(gym)(), 0.5, width))
    with pytest.raises(TypeError, match="obstruction_width should be an integer"):
        ObstructView(make_film_env()(), 0.5, 1.5)


def test_lists_of_frames() -> None:
    env = AddWhiteNoise(make_film_env()("rgb_array_list", frame=PICTURE), 0.5)
    env.reset(seed=1)
    env.step(0)
    first, second = env.render()
    assert 0.4 < (first != PICTURE).any(axis=2).mean() < 0.6
    assert (first != second).any()


@pytest.mark.parametrize("frame", ["text", np.zeros((4, 4)), np.zeros((4, 4, 3), np.float32)])
def test_what_is_no_picture(frame: Any) -> None:
    for env in (
        AddWhiteNoise(make_film_env()(frame=frame), 0.5),
        ObstructView(make_film_env()(frame=frame), 0.5, 2),
    ):
        env.reset()
        with pytest.raises(error.ArgumentTypeError, match=r"\[height, width, 3\] of uint8"):
            env.render()
