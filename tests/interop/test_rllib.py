"""RLlib's new API stack samples from the native engine, through the registration in Gymnasium."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ray.rllib.algorithms.ppo")
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

pytestmark = pytest.mark.filterwarnings("default")  # warnings of Ray


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_an_env_runner_samples_whole_episodes(env_id):
    config = (
        PPOConfig()
        .environment(f"gymcore.interop.gymnasium:gymcore/{env_id}")
        .env_runners(num_envs_per_env_runner=4, gym_env_vectorize_mode="vector_entry_point")
        .debugging(seed=3)
    )
    runner = SingleAgentEnvRunner(config=config)
    assert "NEXT_STEP" in str(runner.env.metadata["autoreset_mode"])
    assert type(runner.env.unwrapped.env).__name__ == f"{env_id.removesuffix('-v1')}VectorEnv"
    episodes = runner.sample(num_timesteps=600)
    assert sum(map(len, episodes)) >= 600
    if env_id == "CartPole-v1":
        ended = [episode for episode in episodes if episode.is_done]
        assert len(ended) > 8
        for episode in ended:
            # Without resetting steps: one reward per step, and a last observation out of bounds.
            assert episode.get_return() == len(episode)
            angle, position = episode.get_observations(-1)[[2, 0]]
            assert abs(angle) > 0.2 or abs(position) > 2.4 or len(episode) == 500
            assert (np.abs(episode.get_observations(0)) < 0.05).all()
    runner.stop()
