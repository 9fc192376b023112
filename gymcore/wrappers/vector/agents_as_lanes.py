"""The agents of worlds as the environments of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import seeds_per_env, split_reset_mask
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import Info, Options
from gymcore.error import InvalidAction, InvalidArgument, UnsupportedMode
from gymcore.spaces.batching import batch_space
from gymcore.vector import AutoresetMode, VectorWrapper
from gymcore.vector.vector_env import Seeds, VectorStep

__all__ = ["AgentsAsLanes"]

Array = npt.NDArray[Any]


class AgentsAsLanes(VectorWrapper, RecordConstructorArgs):
    """Make a lane of every agent, for programs that train a single agent.

    Lane `world * agents + k` is agent `k` of a world. All lanes of a world begin and end their
    episodes together, because the agents of a world do not begin anew on their own: an agent that
    ends before its world observes zeros and gets reward 0 until the world ends, and its entry of
    `infos["active"]` is False. Then the flags and `infos["final_obs"]` are those of the agent's own
    last step. `infos["episode"]` has the return and the length of each agent.

    Attributes:
        agents: None, since a lane is a single agent.

    Examples:
        >>> import gymcore as gym
        >>> options = {"autoreset_mode": "SameStep"}
        >>> worlds = gym.make_vec("mpe/simple_spread_v3", 2, vector_kwargs=options)
        >>> envs = AgentsAsLanes(worlds)
        >>> envs.num_envs, envs.single_action_space
        (6, Discrete(5))
        >>> _ = envs.reset(seed=1)
        >>> envs.step(envs.action_space.sample())[1].shape
        (6,)
    """

    agents = None
    num_envs = 0  # set by the constructor, unlike in other wrappers
    steps_some_lanes = False

    def __init__(self, env: Any) -> None:
        """Wrap worlds.

        Args:
            env: A batch with SAME_STEP autoreset, of worlds whose agents have the same spaces and
                observe arrays.

        Raises:
            UnsupportedMode: If `env` is another batch.
        """
        VectorWrapper.__init__(self, env)
        RecordConstructorArgs.__init__(self)
        team = env.agents
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if team is None or team.groups is not None or not env.single_observation_space.shape:
            raise UnsupportedMode(
                f"AgentsAsLanes: expected worlds of agents that share spaces and observe arrays, "
                f"got {env} with agents {team}"
            )
        if mode is not AutoresetMode.SAME_STEP:
            raise UnsupportedMode(
                f"AgentsAsLanes: expected autoreset_mode SAME_STEP, got {mode.name}"
            )
        self._agents = len(team.names)
        self.num_envs = env.num_envs * self._agents
        self.single_observation_space = team.observation_space(team.names[0])
        self.single_action_space = team.action_space(team.names[0])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        # The last observations of agents that ended before their world, and how agents ended.
        shape = (env.num_envs, *env.single_observation_space.shape)
        self._last = np.zeros(shape, env.single_observation_space.dtype)
        self._flags = np.zeros((2, env.num_envs, self._agents), np.bool_)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[Array, Info]:
        """Reset worlds; see `VectorEnv.reset`.

        Args:
            seed: An integer `s` seeds world `i` with `s + i`. A sequence has one seed or None for
                each world, or for each lane: then the seed of its first agent is that of a world.
            options: Options of the worlds; `reset_mask` must select all lanes of a world or none.
        """
        if isinstance(seed, (Sequence, np.ndarray)) and len(seed) == self.num_envs:
            seed = seeds_per_env(seed, self.num_envs)[:: self._agents]
        options, mask = split_reset_mask(options, self.num_envs)
        worlds: Array = np.ones(self.env.num_envs, np.bool_)
        if mask is not None:
            rows = mask.reshape(-1, self._agents)
            worlds = np.logical_and.reduce(rows, axis=1)
            if (rows.any(axis=1) != worlds).any():
                raise InvalidArgument(
                    "options['reset_mask']: expected all agents of a world or none"
                )
            options = {**(options or {}), "reset_mask": worlds}
        observations, infos = self.env.reset(seed=seed, options=options)
        self._flags[:, worlds] = False
        return self._rows(observations), self._lane_infos(infos)

    def central_state(self) -> Array:
        """Return for each agent the state of its world; see `VectorEnv.central_state`."""
        return np.repeat(self.env.central_state(), self._agents, axis=0)

    def lane_generators(self, lanes: Sequence[int]) -> list[np.random.Generator] | None:
        """Return the generators of the lanes' worlds; see `VectorEnv.lane_generators`."""
        generators: list[np.random.Generator] | None = self.env.lane_generators(
            [lane // self._agents for lane in lanes]
        )
        return generators

    def step(self, actions: Any) -> VectorStep[Array, Array]:
        """Step the worlds; see `VectorEnv.step`."""
        actions = np.asarray(actions)
        if actions.shape[:1] != (self.num_envs,):
            raise InvalidAction(
                f"actions: expected those of {self.num_envs} lanes, got {actions.shape}"
            )
        worlds = (self.env.num_envs, self._agents, *actions.shape[1:])
        observations, rewards, *flags, infos = self.env.step(actions.reshape(worlds))
        self._flags |= np.array(flags)
        ended = infos.get("_final_obs")
        left = flags[0] | flags[1]
        if ended is not None:
            last = self._last.copy()
            active = infos["active"] & ended[:, None]
            last[active] = infos["final_obs"][active]
            last[~ended] = 0
            infos["final_obs"] = last
            left &= ~ended[:, None]
        self._last[left] = observations[left]
        reported = np.zeros_like(self._flags)
        if ended is not None:
            reported[:, ended] = self._flags[:, ended]
            self._flags[:, ended] = False
        terminated, truncated = reported.reshape(2, -1)
        return (
            self._rows(observations),
            rewards.ravel(),
            terminated,
            truncated,
            self._lane_infos(infos),
        )

    def _rows(self, array: Array) -> Array:
        return array.reshape(self.num_envs, *array.shape[2:])

    def _lane_infos(self, infos: Info) -> Info:
        """Return infos with a row for each lane: that of the agent, or that of its world."""
        lanes: Info = {}
        for name, values in infos.items():
            if name == "episode":
                lanes[name] = {
                    "r": values["agent_r"].ravel(),
                    "l": values["agent_l"].ravel(),
                    "t": np.repeat(values["t"], self._agents),
                }
            elif isinstance(values, dict):
                lanes[name] = self._lane_infos(values)
            elif not name.startswith("_") and np.shape(values)[1:2] == (self._agents,):
                lanes[name] = self._rows(values)
            else:
                lanes[name] = np.repeat(values, self._agents, axis=0)
        return lanes
