"""rl_games: vector environments as its `IVecEnv`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.optional_packages import needs
from gymcore.core import Info
from gymcore.envs.making import make_vec
from gymcore.interop.gymnasium import to_gymnasium_space
from gymcore.spaces.space import Array
from gymcore.vector.agents import check_single_agents

with needs("rl_games"):
    from rl_games.common import env_configurations, vecenv
    from rl_games.common.ivecenv import IVecEnv

__all__ = ["RlGamesVecEnv", "register"]


def register() -> None:
    """Register the engine with rl_games.

    A configuration then selects it with `env_name: gymcore`; `env_config: {id: CartPole-v1}` names
    the environment, its arguments and those of `gymcore.make_vec`.

    Examples:
        >>> register()
        >>> vecenv.vecenv_config["GYMCORE"] is RlGamesVecEnv
        True
    """
    vecenv.register("GYMCORE", RlGamesVecEnv)
    creator = functools.partial(RlGamesVecEnv, "gymcore", 1)  # for rl_games' player
    env_configurations.register("gymcore", {"vecenv_type": "GYMCORE", "env_creator": creator})


class RlGamesVecEnv(IVecEnv):
    """A batch of environments with the interface of rl_games.

    Ended environments restart in the same step. `infos["time_outs"]` bool [num_actors] marks those
    that were truncated and not terminated, for rl_games' `value_bootstrap`.

    Attributes:
        envs: The vector environment.
        observation_space: Gymnasium's space of one observation.
        action_space: Gymnasium's space of one action.

    Examples:
        >>> envs = RlGamesVecEnv("gymcore", num_actors=8, id="CartPole-v1")
        >>> envs.reset().shape
        (8, 4)
    """

    def __init__(self, config_name: str, num_actors: int, seed: int | None = None, **config: Any):
        """Make the batch.

        Args:
            config_name: Name in rl_games' configurations; not used.
            num_actors: Number of environments.
            seed: Seed of the first reset; environment `i` gets `seed + i`.
            **config: Arguments of `gymcore.make_vec`, such as `id`, and of the environment.
        """
        options = {"autoreset_mode": "SameStep", **config.pop("vector_kwargs", {})}
        self.envs = make_vec(num_envs=num_actors, vector_kwargs=options, **config)
        check_single_agents(self.envs)
        self.observation_space = to_gymnasium_space(self.envs.single_observation_space)
        self.action_space = to_gymnasium_space(self.envs.single_action_space)
        self._shape = (num_actors, *(self.envs.single_action_space.shape or ()))
        self._seed = seed

    def reset(self) -> Array:
        """Start new episodes; return a batch of observations."""
        seed, self._seed = self._seed, None
        observations: Array = self.envs.reset(seed=seed)[0]
        return observations

    def step(
        self, actions: Array
    ) -> tuple[Array, npt.NDArray[np.float32], npt.NDArray[np.bool_], Info]:
        """Step the environments; return observations, rewards, dones and infos."""
        actions = actions.reshape(self._shape)  # rl_games' player squeezes a batch of one
        observations, rewards, terminated, truncated, infos = self.envs.step(actions)
        infos["time_outs"] = truncated & ~terminated
        return observations, rewards.astype(np.float32), terminated | truncated, infos

    def get_env_info(self) -> dict[str, object]:
        """Return the spaces of one environment."""
        return {"observation_space": self.observation_space, "action_space": self.action_space}

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()
