"""The agents of PettingZoo's parallel environments as a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.interop.pettingzoo import ParallelVectorEnv
from gymcore.learn import RolloutCollector
from gymcore.wrappers.vector import RecordEpisodeStatistics

gymnasium = pytest.importorskip("gymnasium")  # the games use its spaces


class Countdown:
    """A game with PettingZoo's interface: agent `k` ends after `ends[k]` steps."""

    metadata = {"name": "countdown_v0"}  # noqa: RUF012
    render_mode = "ansi"

    def __init__(self, ends: tuple[int, ...] = (2, 4)) -> None:
        self.ends = ends
        self.possible_agents = [f"agent_{k}" for k in range(len(ends))]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return gymnasium.spaces.Box(0, 100, (2,), np.float32)

    def action_space(self, agent: str) -> Any:
        return gymnasium.spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        self.steps, self.seed = 0, seed
        return self.observations(self.agents), {agent: {"seed": seed} for agent in self.agents}

    def observations(self, agents: list[str]) -> Any:
        return {agent: np.float32([self.steps, int(agent[-1])]) for agent in agents}

    def step(self, actions: dict[str, int]) -> Any:
        assert list(actions) == self.agents
        self.steps += 1
        playing = self.agents
        over = {a: self.steps == self.ends[int(a[-1])] for a in playing}
        self.agents = [agent for agent in playing if not over[agent]]
        return (
            self.observations(playing),
            {agent: float(actions[agent]) for agent in playing},
            {agent: over[agent] and agent == "agent_0" for agent in playing},
            {agent: over[agent] and agent != "agent_0" for agent in playing},
            {agent: {"steps": self.steps} for agent in playing},
        )

    def render(self) -> str:
        return str(self.steps)

    def close(self) -> None:
        self.agents = ["closed"]


def test_agents_of_two_games():
    envs = ParallelVectorEnv([Countdown, Countdown])
    assert (envs.num_envs, envs.agents) == (4, ("agent_0", "agent_1") * 2)
    assert envs.single_action_space == gym.spaces.Discrete(3)
    observations, infos = envs.reset(seed=5)
    assert observations.tolist() == [[0, 0], [0, 1]] * 2
    assert infos["seed"].tolist() == [5, 5, 6, 6]
    actions = np.array([0, 1, 2, 1])
    steps = [envs.step(actions) for _ in range(4)]
    assert [step[0][:2].tolist() for step in steps] == [
        [[1, 0], [1, 1]],
        [[2, 0], [2, 1]],
        [[0, 0], [3, 1]],  # an agent that has ended gets zeros
        [[0, 0], [0, 1]],  # the next game
    ]
    assert [step[1].tolist() for step in steps] == [[0, 1, 2, 1]] * 2 + [[0, 1, 0, 1]] * 2
    assert [step[2].tolist() for step in steps] == [[False] * 4] * 3 + [[True, False] * 2]
    assert [step[3].tolist() for step in steps] == [[False] * 4] * 3 + [[False, True] * 2]
    assert ["active" in step[4] for step in steps] == [False, False, True, True]
    assert steps[2][4]["active"].tolist() == [False, True] * 2
    infos = steps[3][4]
    assert [row.tolist() for row in infos["final_obs"]] == [[2, 0], [4, 1]] * 2
    assert infos["final_info"]["steps"].tolist() == [2, 4, 2, 4]
    assert envs.step(actions)[0].tolist() == [[1, 0], [1, 1]] * 2
    assert envs.render() == ("1", "1")
    envs.close()
    assert [game.agents for game in envs.games] == [["closed"]] * 2


def test_wrappers_and_masks():
    envs = RecordEpisodeStatistics(ParallelVectorEnv([Countdown, Countdown]))
    envs.reset(seed=1)
    for _ in range(2):
        envs.step(np.array([1, 1, 1, 1]))
    mask = np.array([True, True, False, False])
    observations, infos = envs.reset(options={"reset_mask": mask})
    assert observations.tolist() == [[0, 0], [0, 1], [2, 0], [2, 1]]
    assert infos["_seed"].tolist() == mask.tolist()
    for _ in range(2):
        infos = envs.step(np.array([1, 1, 1, 1]))[4]
    assert infos["episode"]["r"].tolist() == [0, 0, 2, 4]
    with pytest.raises(ValueError, match="expected all agents of a game or none"):
        envs.reset(options={"reset_mask": np.array([True, False, False, False])})


class Overwriting(Countdown):
    """A game that writes all its observations and infos into one array per agent."""

    def observations(self, agents: list[str]) -> Any:
        self.__dict__.setdefault("arrays", {a: np.zeros(2, np.float32) for a in agents})
        for agent, observation in super().observations(self.possible_agents).items():
            self.arrays[agent][...] = observation
        return {agent: self.arrays[agent] for agent in agents}

    def step(self, actions: dict[str, int]) -> Any:
        *results, infos = super().step(actions)
        return *results, {agent: {"array": self.arrays[agent]} for agent in infos}


def test_final_observations_are_copies():
    envs = ParallelVectorEnv([Overwriting])
    envs.reset()
    for _ in range(4):
        infos = envs.step(np.zeros(2, np.int64))[4]
    assert [row.tolist() for row in infos["final_obs"]] == [[2, 0], [4, 1]]
    assert infos["final_info"]["array"].tolist() == [[2, 0], [4, 1]]


def test_an_agent_that_does_not_play():
    class Absent(Countdown):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            observations, infos = super().reset(seed, options)
            self.agents = ["agent_1"]
            return {"agent_1": observations["agent_1"]}, {"agent_1": infos["agent_1"]}

    envs = ParallelVectorEnv([lambda: Absent((2, 2))])
    for seed in (1, 2):  # nothing of the first game is left
        envs.reset(seed=seed)
        infos = [envs.step(np.zeros(2, np.int64)) for _ in range(2)][-1][4]
        assert [row.tolist() for row in infos["final_obs"]] == [[0, 0], [2, 1]]
        assert infos["final_info"]["_steps"].tolist() == [False, True]
        assert infos["active"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [(3, [3, 3, 4, 4]), ([8, 5], [8, 8, 5, 5]), (np.array([8, 0, 5, 0]), [8, 8, 5, 5])],
    ids=["int", "per game", "per agent"],
)
def test_seeds(seed, expected):
    envs = ParallelVectorEnv([Countdown, Countdown])
    assert envs.reset(seed=seed)[1]["seed"].tolist() == expected


def test_rollouts_bootstrap_from_the_last_observation_of_an_agent():
    envs = ParallelVectorEnv([lambda: Countdown((4, 2))])  # agent_1 is truncated after 2 steps

    def policy(observations):
        return np.zeros(2, np.int64), np.zeros(2, np.float32), 10 * observations[:, 0]

    collector = RolloutCollector(envs, policy, 4, seed=1)
    rollout = collector.collect()
    assert rollout.truncated[3].tolist() == [False, True]
    assert rollout.final_observations[3].tolist() == [[4, 0], [2, 1]]
    advantages, _ = collector.advantages(gamma=1.0, gae_lambda=0.0)
    # The values are 0, 10, 20, 0, and 20 of the final observation.
    assert advantages[:, 1].tolist() == [10, 10, -20, 20]


def test_stable_baselines3():
    pytest.importorskip("stable_baselines3")
    from gymcore.interop.sb3 import SB3VecEnv

    envs = SB3VecEnv(ParallelVectorEnv([Countdown, Countdown]))
    envs.seed(5)
    envs.reset()
    assert [info["seed"] for info in envs.reset_infos] == [5, 5, 7, 7]
    for _ in range(4):
        _, _, dones, infos = envs.step(np.zeros(4, np.int64))
    assert dones.all()
    assert [info["terminal_observation"].tolist() for info in infos] == [[2, 0], [4, 1]] * 2
    assert [info["TimeLimit.truncated"] for info in infos] == [False, True] * 2


def test_what_is_refused():
    for env_fns in ([], [Countdown, lambda: Countdown(())]):
        with pytest.raises(ValueError, match="env_fns: expected games with agents"):
            ParallelVectorEnv(env_fns)
    envs = ParallelVectorEnv([Countdown, Countdown])
    with pytest.raises(ValueError, match="num_envs=2 but got length=3"):
        envs.reset(seed=[1, 2, 3])
    envs.reset()
    with pytest.raises(gym.error.InvalidAction, match=r"actions: expected .*\(4,\), got"):
        envs.step(np.zeros(3, np.int64))
    envs = ParallelVectorEnv([Countdown])
    with pytest.raises(gym.error.ResetNeeded, match=r"expected reset\(\) before the first step"):
        envs.step(np.zeros(2, np.int64))
    with pytest.raises(gym.error.ResetNeeded, match="must include every agent"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(TypeError, match="expected functions that return a pettingzoo"):
        ParallelVectorEnv([lambda: gym.make("CartPole-v1")])

    class Different(Countdown):
        def action_space(self, agent: str) -> Any:
            return gymnasium.spaces.Discrete(int(agent[-1]) + 1)

    with pytest.raises(ValueError, match="expected agents with the same spaces"):
        ParallelVectorEnv([Different])


@pytest.mark.filterwarnings("default")
def test_a_game_of_pettingzoo():
    pytest.importorskip("pettingzoo")
    butterfly = pytest.importorskip("pettingzoo.classic.rps.rps", exc_type=ImportError)
    with ParallelVectorEnv([butterfly.parallel_env] * 3) as envs:
        envs.reset(seed=1)
        for _ in range(50):
            observations, rewards, *_ = envs.step(envs.action_space.sample())
            assert observations in envs.observation_space
            assert rewards.reshape(3, 2).sum(1).tolist() == [0, 0, 0]


def test_an_exception_of_a_game_asks_for_a_reset_of_all():
    class Stuck(Countdown):
        def step(self, actions: dict[str, int]) -> Any:
            raise ValueError("stuck")

    envs = ParallelVectorEnv([Countdown, Stuck])
    envs.reset()
    with pytest.raises(ValueError, match="stuck"):
        envs.step([0, 0, 0, 0])
    with pytest.raises(gym.error.ResetNeeded):
        envs.step([0, 0, 0, 0])
    with pytest.raises(gym.error.ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, True, False, False])})
    assert envs.reset()[0].tolist() == [[0, 0], [0, 1]] * 2
