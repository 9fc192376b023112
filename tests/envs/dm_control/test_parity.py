"""Episodes equal dm_control's, bit for bit, where it is installed with the MuJoCo that it steps."""

from __future__ import annotations

import numpy as np
import pytest

import gymcore as gym

pytest.importorskip("mujoco", reason="mujoco is not installed")
pytest.importorskip("dm_control", reason="dm_control is not installed")

with pytest.MonkeyPatch.context() as environment:
    environment.setenv("MUJOCO_GL", "disable")  # it needs a display otherwise
    from dm_control import suite
    from dm_control.mujoco import engine

from gymcore.interop.dm_env import to_dm_env

# The start of quadruped-escape asks for a display, to which it sends its terrain.
engine.Physics.contexts = None

IDS = sorted(env_id for env_id in gym.registry if env_id.startswith("dm_control/"))


def names_of(env_id: str) -> list[str]:
    """Return the domain and the task of an id."""
    return env_id.removeprefix("dm_control/").removesuffix("-v0").split("-")


def compare(env_id: str, seed: int, steps: int, episodes: int = 2) -> None:
    """Compare episodes of random actions."""
    env = gym.make(env_id)
    original = suite.load(*names_of(env_id), task_kwargs={"random": seed})
    low, high = np.maximum(env.action_space.low, -1.0), np.minimum(env.action_space.high, 1.0)
    stream = np.random.RandomState(seed + 1000)
    for episode in range(episodes):
        expected = original.reset()
        observation, _ = env.reset(seed=None if episode else seed)
        assert list(observation) == list(expected.observation)
        for step in range(steps):
            for name, array in expected.observation.items():
                np.testing.assert_array_equal(observation[name], array, f"{name}, step {step}")
            action = stream.uniform(low, high)
            expected = original.step(action)
            observation, reward, terminated, truncated, info = env.step(action)
            assert reward == expected.reward, step
            assert info["discount"] == expected.discount
            assert (terminated or truncated) == expected.last()
            if terminated or truncated:
                break


@pytest.mark.parametrize("env_id", IDS)
def test_specs(env_id: str) -> None:
    original = suite.load(*names_of(env_id))
    env = to_dm_env(gym.make(env_id))
    for kind in ("action_spec", "reward_spec", "discount_spec"):
        assert repr(getattr(env, kind)()) == repr(getattr(original, kind)())
        assert getattr(env, kind)() == getattr(original, kind)()  # all digits of bounds
    assert repr(env.observation_spec()) == repr(dict(original.observation_spec()))


@pytest.mark.parametrize("env_id", IDS)
def test_short_episodes(env_id: str) -> None:
    compare(env_id, seed=1, steps=20)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("env_id", IDS)
def test_whole_episodes(env_id: str) -> None:
    for seed in range(20):
        compare(env_id, seed, steps=1000, episodes=1)
