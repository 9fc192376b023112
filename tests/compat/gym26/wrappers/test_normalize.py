"""NormalizeObservation and NormalizeReward of Gym 0.26, with numbers computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.compat.gym26.wrappers import NormalizeObservation, NormalizeReward
from gymcore.vector import SyncVectorEnv
from tests.compat.gym26.scripted import Scripted

ACTIONS = np.zeros((2, 2), np.float32)


class Statistics:
    """Mean and variance of all numbers so far, and of a prior: mean 0, variance 1, count 1e-4."""

    def __init__(self) -> None:
        self.count, self.sum, self.squares = 1e-4, 0.0, 1e-4

    def update(self, *numbers: float) -> tuple[float, float]:
        for number in numbers:
            self.count += 1
            self.sum += number
            self.squares += number**2
        mean = self.sum / self.count
        return mean, self.squares / self.count - mean**2


def test_observations() -> None:
    env = NormalizeObservation(Scripted())
    rms = Statistics()
    results = [env.reset()[0]] + [env.step(None)[0] for _ in range(3)]
    for steps, result in enumerate(results):
        mean, variance = rms.update(steps)
        assert result.dtype == np.float64
        assert result == pytest.approx([(steps - mean) / np.sqrt(variance + 1e-8)])
    # The last one: 0, 1, 2, 3 have mean 1.5 and variance 1.25.
    assert results[3] == pytest.approx([1.5 / np.sqrt(1.25)], rel=1e-3)
    assert env.observation_space == env.env.observation_space
    assert env.obs_rms.mean.dtype == np.float64 and float(env.obs_rms.count) == 4.0001
    assert env.obs_rms.mean == pytest.approx([6 / 4.0001])


def test_observations_of_a_batch() -> None:
    lanes = [lambda: Scripted([1.0] * 3), lambda: Scripted([1.0] * 2)]
    envs = NormalizeObservation(SyncVectorEnv(lanes, autoreset_mode="SameStep"))
    rms = Statistics()
    for rows in ([0, 0], [1, 1], [2, 0], [0, 1]):  # lane 1 restarts in the second step
        result = envs.step(ACTIONS)[0] if rms.count > 1 else envs.reset()[0]
        mean, variance = rms.update(*rows)
        expected = [[(row - mean) / np.sqrt(variance + 1e-8)] for row in rows]
        np.testing.assert_allclose(result, expected, rtol=1e-9)
        assert result.dtype == np.float64
    assert envs.is_vector_env and envs.num_envs == 2
    assert envs.is_vector_env and envs.num_envs == 2
    assert len(envs.envs) == 2  # attributes of inner layers


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_rewards(ending: str) -> None:
    env = NormalizeReward(Scripted([1.0, 2.0, 4.0], ending), gamma=0.5)
    rms = Statistics()
    env.reset()
    rewards = []
    for episode in range(2):
        if episode:
            env.reset()
        # Returns of the episode: 1, 0.5 + 2, 1.25 + 4; they restart after either kind of end.
        for reward, discounted in ((1.0, 1.0), (2.0, 2.5), (4.0, 5.25)):
            _, variance = rms.update(discounted)
            scaled = env.step(None)[1]
            assert scaled == pytest.approx(reward / np.sqrt(variance + 1e-8))
            rewards.append(scaled)
        assert env.returns.tolist() == [0.0]
    assert float(env.return_rms.count) == pytest.approx(6.0001)
    # 1, 2.5, 5.25 twice: mean 2.91667, variance 3.09722.
    assert rewards[-1] == pytest.approx(4 / np.sqrt(3.09722), rel=1e-3)


def test_a_reset_in_the_middle_keeps_the_return() -> None:
    env = NormalizeReward(Scripted(), gamma=0.5)
    env.reset()
    env.step(None)
    env.reset()
    env.step(None)
    assert env.returns.tolist() == [1.5]


def test_rewards_of_a_batch() -> None:
    lanes = [lambda: Scripted([1.0, 2.0, 4.0]), lambda: Scripted([3.0, 5.0], "truncated")]
    envs = NormalizeReward(SyncVectorEnv(lanes, autoreset_mode="SameStep"), gamma=0.5)
    envs.reset()
    rms = Statistics()
    steps: Any = [((1, 3), (1, 3)), ((2, 5), (2.5, 6.5)), ((4, 3), (5.25, 3))]
    for rewards, returns in steps:
        _, variance = rms.update(*returns)
        scaled = envs.step(ACTIONS)[1]
        np.testing.assert_allclose(scaled, np.array(rewards) / np.sqrt(variance + 1e-8), rtol=1e-9)
    assert envs.returns.tolist() == [0.0, 3.0]


def test_specs_make_them_again() -> None:
    env = NormalizeReward(NormalizeObservation(gymcore.make("CartPole-v1"), 1e-6), gamma=0.9)
    again = gymcore.make(gymcore.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert type(again) is NormalizeReward and again.gamma == 0.9
    assert type(again.env) is NormalizeObservation and again.env.epsilon == 1e-6
