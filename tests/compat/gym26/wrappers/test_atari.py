"""AtariPreprocessing of Gym 0.26."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.compat import gym26
from gymcore.envs.registration import EnvSpec
from tests.wrappers.fake_atari import make_fake_atari

pytest.importorskip("cv2", reason="cv2 is not installed")


def make(id: str | None = None, frameskip: int = 1) -> Any:
    env = make_fake_atari(gymcore)()
    env._frameskip = frameskip
    env.spec = None if id is None else EnvSpec(id)
    return env


@pytest.mark.parametrize("id", [None, "PongNoFrameskip-v4"])
def test_environments_that_need_not_say_that_they_skip_no_frames(id: str | None) -> None:
    env = gym26.wrappers.AtariPreprocessing(make(id, frameskip=4), screen_size=20)
    assert env.observation_space == gymcore.spaces.Box(0, 255, (20, 20), np.uint8)
    observation, _ = env.reset(seed=1)
    assert observation in env.observation_space
    twin = gymcore.wrappers.AtariPreprocessing(make(id), screen_size=20)
    np.testing.assert_array_equal(twin.reset(seed=1)[0], observation)
    for ours, theirs in zip(env.step(1)[:4], twin.step(1)[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "arguments", [{"frame_skip": 0}, {"noop_max": -1}, {"screen_size": 0}, {"frame_skip": 2.5}]
)
def test_wrong_arguments_are_assertion_errors(arguments: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=next(iter(arguments))):
        gym26.wrappers.AtariPreprocessing(make("Pong-v0"), **arguments)


def test_an_environment_that_skips_frames() -> None:
    with pytest.raises(ValueError, match="Disable frame-skipping"):
        gym26.wrappers.AtariPreprocessing(make("Pong-v0", frameskip=4))


def test_gymnasium_does_not_look_at_the_id() -> None:
    gym26.wrappers.AtariPreprocessing(make("PongNoFrameskip-v4", frameskip=4))
    for id in ("PongNoFrameskip-v4", "Pong-v0"):
        with pytest.raises(ValueError, match="Disable frame-skipping"):
            gymcore.wrappers.AtariPreprocessing(make(id, frameskip=4))
