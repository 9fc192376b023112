"""Unchanged training programs of other libraries with Gymnasium's environments and gymcore's.

Only loaded by `worker.py`, after `contenders`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from contenders import RING, Contender, Session, random_batches

#: Prefix with which Gymnasium imports an id of gymcore.
PLUG_IN = "gymcore.interop.gymnasium:gymcore/"
#: Numbers of processes with which games of PettingZoo are stepped; 0 is this process.
GAME_PROCESSES = (0, 1, 2, 4)


class Training:
    """A training program; its total time, or that of its environments alone, is measured.

    Attributes:
        steps_per_call: Number of environment steps in one measurement.
    """

    def __init__(
        self,
        train: Callable[[], Any],
        envs: Any,
        steps: int,
        close: Callable[[], Any],
        is_total: bool,
    ) -> None:
        """Store the arguments; `train` makes `steps` steps of `envs`, whose `step` is replaced."""
        self._train = train
        self._is_total = is_total
        self._stepping_seconds = 0.0
        self.steps_per_call = steps
        self.close = close
        step = envs.step

        def timed(actions: Any) -> Any:
            start = time.perf_counter()
            results = step(actions)
            self._stepping_seconds += time.perf_counter() - start
            return results

        envs.step = timed

    def measure(self, seconds: float) -> float:
        """Train for one rollout and its updates, regardless of duration; return the seconds."""
        self._stepping_seconds = 0.0
        start = time.perf_counter()
        self._train()
        return time.perf_counter() - start if self._is_total else self._stepping_seconds


def _sb3(native: bool, is_total: bool) -> Callable[[str, int, int], Any]:
    def build(env_id: str, num_envs: int, num_threads: int) -> Training:
        import torch
        from stable_baselines3 import PPO

        if native:
            from gymcore.interop.sb3 import make_vec_env
        else:
            from stable_baselines3.common.env_util import make_vec_env
        torch.set_num_threads(1)
        envs = make_vec_env(env_id, num_envs, seed=0)
        steps = 2048 // num_envs * (4 if num_envs > 8 else 1)
        batch = {"batch_size": 2048, "n_epochs": 4} if num_envs > 8 else {}
        model = PPO("MlpPolicy", envs, n_steps=steps, device="cpu", seed=0, **batch)
        total = steps * num_envs

        def train() -> None:
            model.learn(total, reset_num_timesteps=False)

        return Training(train, envs, total, envs.close, is_total)

    return build


def _rllib(native: bool) -> Callable[[str, int, int], Any]:
    def build(env_id: str, num_envs: int, num_threads: int) -> Training:
        from ray.rllib.algorithms.ppo import PPOConfig
        from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

        mode = "vector_entry_point" if native else "sync"
        config = (
            PPOConfig()
            .environment(f"{PLUG_IN}{env_id}" if native else env_id)
            .env_runners(num_envs_per_env_runner=num_envs, gym_env_vectorize_mode=mode)
        )
        runner = SingleAgentEnvRunner(config=config)
        total = 200 * num_envs

        def train() -> None:
            runner.sample(num_timesteps=total)

        return Training(train, runner.env, total, runner.stop, is_total=False)

    return build


class Game:
    """A game of three agents with PettingZoo's interface that costs next to nothing."""

    metadata: ClassVar[dict[str, Any]] = {"name": "game_v0"}
    possible_agents: ClassVar[list[str]] = ["agent_0", "agent_1", "agent_2"]
    render_mode = None

    def __init__(self) -> None:
        """Make the spaces and the observation, which is always the same."""
        from gymnasium.spaces import Box, Discrete

        self._spaces = Box(-1.0, 1.0, (4,), np.float32), Discrete(5)
        self._observation = np.zeros(4, np.float32)
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """Return the space of observations."""
        return self._spaces[0]

    def action_space(self, agent: str) -> Any:
        """Return the space of actions."""
        return self._spaces[1]

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        """Start a game."""
        self.agents, self._steps = list(self.possible_agents), 0
        return dict.fromkeys(self.agents, self._observation), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        """Count the step; the game ends after 100."""
        self._steps += 1
        agents, is_over = self.agents, self._steps == 100
        if is_over:
            self.agents = []
        return (
            dict.fromkeys(agents, self._observation),
            dict.fromkeys(agents, 1.0),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, is_over),
            {agent: {} for agent in agents},
        )

    def close(self) -> None:
        """Do nothing."""


def _games(num_workers: int) -> Callable[[str, int, int], Session]:
    """Return a builder of games in workers."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        from gymcore.interop.pettingzoo import ParallelVectorEnv

        envs = ParallelVectorEnv(
            [Game] * num_envs, "async", num_workers=num_workers, autoreset_mode="SameStep"
        )
        envs.reset(seed=0)
        actions = random_batches(envs.single_action_space, (num_envs,), RING)
        return Session(envs.step, actions, num_envs, envs.close)

    return build


def _supersuit(num_processes: int) -> Callable[[str, int, int], Session]:
    """Return a builder of the same games, concatenated by SuperSuit."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        import supersuit

        games = supersuit.pettingzoo_env_to_vec_env_v1(_pettingzoo_game())
        envs = supersuit.concat_vec_envs_v1(
            games, num_envs, num_cpus=num_processes, base_class="gymnasium"
        )
        envs.reset(seed=0)
        lanes = num_envs * len(Game.possible_agents)
        actions = random_batches(envs.action_space, (lanes,), RING)
        return Session(envs.step, actions, num_envs, envs.close)

    return build


def _pettingzoo_game() -> Any:
    from pettingzoo import ParallelEnv

    game: Any = type("Game", (Game, ParallelEnv), {})()
    game.reset()
    return game


CONTENDERS = {
    each.key: each
    for each in (
        *(
            Contender(f"gymcore-games-{n}", f"games, {n} workers", "gymcore", _games(n))
            for n in (1, 2)
        ),
        *(
            Contender(f"supersuit-{n}", f"SuperSuit, {n} processes", "supersuit", _supersuit(n))
            for n in GAME_PROCESSES
        ),
        Contender("sb3-ppo", "SB3 PPO", "stable_baselines3", _sb3(False, True)),
        Contender("sb3-ppo-envs", "its environments", "stable_baselines3", _sb3(False, False)),
        Contender("gymcore-sb3-ppo", "SB3 PPO, gymcore", "stable_baselines3", _sb3(True, True)),
        Contender(
            "gymcore-sb3-ppo-envs", "its environments", "stable_baselines3", _sb3(True, False)
        ),
        Contender("rllib-envs", "RLlib's environments", "ray", _rllib(False)),
        Contender("gymcore-rllib-envs", "the same, gymcore", "ray", _rllib(True)),
    )
}
