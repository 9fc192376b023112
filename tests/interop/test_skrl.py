"""skrl's own trainer on environments that `gymnasium.make_vec` makes for our ids."""

from __future__ import annotations

import pytest

gymnasium = pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")
pytest.importorskip("skrl.envs.wrappers.torch")
from skrl.envs.wrappers.torch import wrap_env  # noqa: E402
from skrl.envs.wrappers.torch.gymnasium_envs import GymnasiumWrapper  # noqa: E402

import gymcore as gym  # noqa: E402
import gymcore.interop.gymnasium as interop  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # warnings of skrl and torch


def test_the_wrapper_is_found_without_its_name():
    for envs in (
        gymnasium.make_vec("gymcore/CartPole-v1", num_envs=4),
        interop.to_gymnasium(gym.make_vec("CartPole-v1", 4)),
    ):
        wrapped = wrap_env(envs)
        assert isinstance(wrapped, GymnasiumWrapper)
        assert wrapped.num_envs == 4
        observations, _ = wrapped.reset()
        assert observations.shape == (4, 4)
        for _ in range(30):
            actions = torch.randint(0, 2, (4, 1))
            observations, rewards, terminated, truncated, _ = wrapped.step(actions)
        assert observations.shape == (4, 4) and observations.dtype == torch.float32
        assert rewards.shape == terminated.shape == truncated.shape == (4, 1)
        wrapped.close()


def test_single_environments_too():
    wrapped = wrap_env(gymnasium.make("gymcore/CartPole-v1"))
    assert isinstance(wrapped, GymnasiumWrapper)
    observations, _ = wrapped.reset()
    assert observations.shape == (1, 4)
    wrapped.close()
