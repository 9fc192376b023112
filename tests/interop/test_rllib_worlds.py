"""Worlds of several agents in RLlib."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.agents_model import Chase, Herd, Model

pytest.importorskip("ray.rllib.env.multi_agent_env")
from gymcore.interop.rllib import RLlibWorld

pytestmark = [
    pytest.mark.filterwarnings("default"),  # warnings of Ray
    pytest.mark.usefixtures("numba_if_installed"),
]

WORLDS = {"RLlibHerd-v0": Herd, "RLlibChase-v0": Chase}


@pytest.mark.parametrize("env_id", WORLDS)
def test_a_world_is_that_of_the_model(env_id: str) -> None:
    gym.register(env_id, WORLDS[env_id], max_episode_steps=6)
    env = RLlibWorld({"id": env_id})
    model = Model(WORLDS[env_id].__name__.lower(), [5], "Disabled", 6)
    names, random, causes = env.possible_agents, np.random.default_rng(0), set()
    observations, _ = env.reset(seed=5)
    for _ in range(20):
        assert list(observations) == names == env.agents
        while env.agents:
            playing = list(env.agents)
            actions = {agent: int(random.integers(2)) for agent in playing}
            observations, rewards, terminated, truncated, infos = env.step(actions)
            expected = model.step(0, [actions.get(agent, 0) for agent in names])
            over = (terminated.pop("__all__"), truncated.pop("__all__"))
            assert any(over) == ("episode" in expected) == (not env.agents)
            assert list(observations) == list(rewards) == list(infos) == playing
            for k, agent in enumerate(names):
                if agent in playing:
                    assert observations[agent] in env.observation_spaces[agent]
                    assert rewards[agent] == expected["rewards"][k]
                    assert terminated[agent] == expected["terminated"][k]
                    assert truncated[agent] == expected["truncated"][k]
        causes.add(over)
        model.begin(model.worlds[0])
        observations, _ = env.reset()
    assert causes == {(True, False), (False, True)}
    env.close()


@pytest.mark.parametrize("config", [None, 3, [("id", "mpe/simple_spread_v3")], {}])
def test_configurations_without_a_world(config: Any) -> None:
    with pytest.raises(error.Error, match=r"^config: expected"):
        RLlibWorld(config)


def test_an_env_runner_samples_worlds() -> None:
    ppo = pytest.importorskip("ray.rllib.algorithms.ppo")
    runners = pytest.importorskip("ray.rllib.env.multi_agent_env_runner")
    config = (
        ppo.PPOConfig()
        .environment(RLlibWorld, env_config={"id": "mpe/simple_spread_v3", "max_cycles": 5})
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
    )
    runner = runners.MultiAgentEnvRunner(config=config)
    episodes = runner.sample(num_episodes=3)
    assert [len(episode) for episode in episodes] == [5] * 3
    assert all(episode.is_done and len(episode.agent_episodes) == 3 for episode in episodes)
    runner.stop()
