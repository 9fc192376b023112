"""Worlds of several agents with PettingZoo's interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

import gymcore
from gymcore.core import Info, Options
from gymcore.error import (
    ArgumentTypeError,
    InvalidAction,
    UnsupportedMode,
)
from gymcore.interop.gymnasium import to_gymnasium_space
from gymcore.spaces.batching import iterate
from gymcore.spaces.space import Array
from gymcore.vector import AutoresetMode, VectorEnv

if TYPE_CHECKING:
    import gymnasium
    from pettingzoo import AECEnv, ParallelEnv

    from gymcore.spaces import Space
    from gymcore.specs import EnvSpec

__all__ = ["ParallelWorld", "aec_env", "parallel_env"]


def parallel_env(
    id: str | EnvSpec, *, render_mode: str | None = None, **kwargs: Any
) -> ParallelEnv[str, object, object]:
    """Return one world of several agents with PettingZoo's parallel interface.

    Args:
        id: The environment's id or spec.
        render_mode: The render mode of the environment.
        **kwargs: Other arguments of `make_vec`, such as those of the environment.

    Returns:
        A `ParallelWorld`, which is an instance of `pettingzoo.ParallelEnv` if PettingZoo is
        installed.

    Raises:
        UnsupportedMode: If the environment has a single agent.

    Examples:
        >>> parallel_env("mpe/simple_adversary_v3").possible_agents
        ['adversary_0', 'agent_0', 'agent_1']
    """
    options = {**kwargs.pop("vector_kwargs", {}), "autoreset_mode": AutoresetMode.DISABLED}
    # The world is compiled or written with gymcore.jit: engines of single environments have none.
    envs = gymcore.make_vec(id, 1, render_mode=render_mode, vector_kwargs=options, **kwargs)
    return _world_class()(envs)


def aec_env(id: str | EnvSpec, **kwargs: Any) -> AECEnv[str, object, object]:
    """Return one world of several agents with PettingZoo's AEC interface: agents take turns.

    The world is stepped when the last of its agents has acted. PettingZoo converts the interface,
    so it must be installed. The arguments are those of `parallel_env`.

    Examples:
        >>> world = aec_env("mpe/simple_spread_v3")
        >>> world.reset(seed=1)
        >>> for agent in world.agent_iter(2):
        ...     observation, reward, terminated, truncated, info = world.last()
        ...     world.step(0)
        >>> agent
        'agent_1'
    """
    from pettingzoo.utils.conversions import parallel_to_aec

    return parallel_to_aec(parallel_env(id, **kwargs))


@cache
def _world_class() -> type[ParallelWorld]:
    """Return the class of worlds; if PettingZoo is installed, one that derives from its class."""
    try:
        from pettingzoo import ParallelEnv
    except ImportError:
        return ParallelWorld
    name = ParallelWorld.__name__
    return type(name, (ParallelWorld, ParallelEnv), {"__doc__": ParallelWorld.__doc__})


def _new_world() -> ParallelWorld:
    """Return an object to which a copy or a pickle adds attributes."""
    cls = _world_class()
    return cls.__new__(cls)


class ParallelWorld:
    """One world of several agents with PettingZoo's parallel interface; see `parallel_env`.

    Actions, observations, rewards, flags and infos are dicts by the name of the agent. An agent
    that has ended is not in `agents`, and its actions are ignored. Infos whose first axis has the
    length of the agents are divided among them; all agents get the others, and those of MuJoCo. The
    `action_mask` of an agent has one number for each of its actions.

    Attributes:
        envs: The batch of one world.
        possible_agents: The names of all agents.
        agents: The names of those that have not ended.

    Examples:
        >>> world = parallel_env("mpe/simple_spread_v3")
        >>> observations, infos = world.reset(seed=1)
        >>> actions = dict.fromkeys(world.agents, 0)
        >>> observations, rewards, terminated, truncated, infos = world.step(actions)
        >>> observations["agent_2"].shape, terminated["agent_2"], world.state().shape
        ((18,), False, (54,))
        >>> world.close()
    """

    def __init__(self, envs: VectorEnv) -> None:
        """Take a batch of one world, whose autoreset is disabled."""
        if envs.agents is None:
            raise UnsupportedMode(f"{envs}: expected an environment with several agents")
        self.envs = envs
        self.possible_agents = list(envs.agents.names)
        self.agents: list[str] = []
        self.metadata = {"name": envs.spec.id if envs.spec else str(envs), **envs.metadata}
        self.render_mode = envs.render_mode
        self._idle = {name: _lowest(envs.agents.action_space(name)) for name in envs.agents.names}
        self._spaces = [
            {name: to_gymnasium_space(space(name)) for name in envs.agents.names}
            for space in (envs.agents.observation_space, envs.agents.action_space)
        ]

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Return what a copy or a pickle consists of; the class has no importable name."""
        if type(self) is _world_class():
            return _new_world, (), self.__dict__
        return super().__reduce_ex__(protocol)

    def __str__(self) -> str:
        """Return the id of the environment."""
        return str(self.metadata["name"])

    @property
    def unwrapped(self) -> ParallelWorld:
        """This object."""
        return self

    @property
    def num_agents(self) -> int:
        """Number of agents that have not ended."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """Number of agents in the world."""
        return len(self.possible_agents)

    def observation_space(self, agent: str) -> gymnasium.Space[object]:
        """Return the space of an agent's observations, the same object at each call."""
        return self._spaces[0][agent]

    def action_space(self, agent: str) -> gymnasium.Space[object]:
        """Return the space of an agent's actions, the same object at each call."""
        return self._spaces[1][agent]

    def reset(
        self, seed: int | None = None, options: Options = None
    ) -> tuple[dict[str, object], dict[str, Info]]:
        """Begin an episode. As in PettingZoo, options that the environment lacks are ignored.

        Returns:
            The first observation and the info of each agent.
        """
        batch: Any = self.envs.unwrapped
        known = batch._model.reset_option_names()
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(f"options: expected a dict or None, got {options!r}")
        options = {name: value for name, value in given.items() if name in known}
        observations, infos = self.envs.reset(seed=seed, options=options or None)
        self.agents = list(self.possible_agents)
        return self._observations(observations), self._infos(infos)

    def step(self, actions: dict[str, object]) -> tuple[dict[str, object], ...]:
        """Step the world.

        Args:
            actions: The action of each agent in `agents`.

        Returns:
            Observations, rewards, terminated, truncated and infos of the agents that took part.

        Raises:
            InvalidAction: If the action of an agent is missing or is not of its space, or a name is
                unknown.
            ResetNeeded: If all agents have ended, or there was no reset.
        """
        if not isinstance(actions, Mapping):
            raise InvalidAction(f"actions: expected a dict by the agents' names, got {actions!r}")
        missing = [agent for agent in self.agents if agent not in actions]
        if missing or actions.keys() - self._idle.keys():
            raise InvalidAction(f"actions: expected those of {self.agents}, got {list(actions)}")
        agents = self.envs.agents
        assert agents is not None
        try:
            world = agents.join(1, {**self._idle, **actions})
        except (TypeError, ValueError):
            spaces = {name: agents.action_space(name) for name in actions}
            raise InvalidAction(f"actions: expected those of {spaces}, got {actions}") from None
        batch = {k: v[None] for k, v in world.items()} if isinstance(world, dict) else world[None]
        observations, rewards, terminated, truncated, infos = self.envs.step(batch)
        playing = self.agents
        numbers = {agent: self.possible_agents.index(agent) for agent in playing}
        results = (
            self._observations(observations),
            *(
                {agent: values[0, k].item() for agent, k in numbers.items()}
                for values in (rewards, terminated, truncated)
            ),
            self._infos(infos),
        )
        ended = terminated[0] | truncated[0]
        self.agents = [agent for agent, k in numbers.items() if not ended[k]]
        return results

    def _observations(self, observations: object) -> dict[str, object]:
        agents = self.envs.agents
        assert agents is not None
        world = next(iterate(self.envs.observation_space, observations))
        parts = agents.split(self.envs.single_observation_space, world)
        return {agent: parts[agent] for agent in self.agents}

    def _infos(self, infos: Info) -> dict[str, Info]:
        results: dict[str, Info] = {agent: {} for agent in self.agents}
        batch: Any = self.envs.unwrapped
        divides = batch.env_class.infos_by_agent
        for name, values in infos.items():
            if name.startswith("_") or name in ("active", "episode") or not infos[f"_{name}"][0]:
                continue
            by_agent = divides and np.shape(values)[1:2] == (len(self.possible_agents),)
            for agent in self.agents:
                k = self.possible_agents.index(agent)
                value = values[0, k] if by_agent else copy(values[0])
                if name == "action_mask" and by_agent:  # other agents may have more actions
                    value = value[: getattr(self._spaces[1][agent], "n", None)]
                results[agent][name] = value
        return results

    def state(self) -> Array:
        """Return the current state for central critics; see `VectorEnv.central_state`."""
        state: Array = self.envs.central_state()[0]
        return state

    def render(self) -> object:
        """Return the frame of the world."""
        frames = self.envs.render()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Close the world."""
        self.envs.close()


def _lowest(space: Space) -> Array:
    """Return an action of an agent that has ended, which the engine ignores."""
    return np.zeros(space.shape or (), space.dtype) + getattr(space, "start", 0)
