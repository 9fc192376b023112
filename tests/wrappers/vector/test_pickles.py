"""Batches under observation wrappers can be pickled, and copies are independent."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.wrappers import vector
from tests.vector.contract import same_bytes

WRAPPERS: dict[str, Any] = {
    "frames": lambda envs: vector.AddRenderObservation(envs, render_only=True),
    "frames beside": lambda envs: vector.AddRenderObservation(envs, render_only=False),
    "resized": lambda envs: vector.ResizeObservation(
        vector.AddRenderObservation(envs), shape=(20, 30)
    ),
    "grayscale": lambda envs: vector.GrayscaleObservation(vector.AddRenderObservation(envs)),
    "stacked": lambda envs: vector.FrameStackObservation(envs, 3),
    "normalized": vector.NormalizeObservation,
}


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
@pytest.mark.parametrize("name", WRAPPERS)
def test_batches_under_wrappers(name: str, mode: str, how: str) -> None:
    if name == "resized":
        pytest.importorskip("cv2")
    envs = WRAPPERS[name](
        gym.make_vec("CartPole-v1", 2, vectorization_mode=mode, render_mode="rgb_array")
    )
    envs.reset(seed=1)
    envs.step(np.array([0, 1]))
    check(envs, pickle.loads(pickle.dumps(envs)) if how == "pickle" else copy.deepcopy(envs))


def check(env: Any, other: Any) -> None:
    actions = [env.action_space.sample() for _ in range(3)]
    results = [env.step(action)[:4] for action in actions]
    assert same_bytes([other.step(action)[:4] for action in actions], results)
    env.close(), other.close()


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("only", [False, True])
def test_a_copy_of_a_single_environment_shows_itself(only: bool, how: str) -> None:
    env = gym.wrappers.AddRenderObservation(
        gym.make("CartPole-v1", render_mode="rgb_array"), render_only=only
    )
    env.reset(seed=1)
    check(env, pickle.loads(pickle.dumps(env)) if how == "pickle" else copy.deepcopy(env))
