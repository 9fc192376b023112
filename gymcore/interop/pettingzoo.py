"""PettingZoo: its parallel environments as batches, and worlds of agents with its interfaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

import gymcore
from gymcore.base.arguments import seeds_per_env, split_reset_mask
from gymcore.core import ActType, Info, ObsType, Options, RenderFrame
from gymcore.error import (
    ArgumentTypeError,
    ClosedEnvironmentError,
    InvalidAction,
    InvalidArgument,
    ResetNeeded,
    UnsupportedMode,
)
from gymcore.interop.gymnasium import to_gymnasium_space
from gymcore.spaces.batching import batch_space, concatenate, create_empty_array, iterate
from gymcore.spaces.conversion import convert_space
from gymcore.spaces.layouts import action_layout
from gymcore.spaces.space import Array
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.engine import checked_actions
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.vector_env import Seeds, VectorStep
from gymcore_ext.python_envs.infos import copied

if TYPE_CHECKING:
    import gymnasium
    from pettingzoo import AECEnv, ParallelEnv

    from gymcore.spaces import Space
    from gymcore.specs import EnvSpec

__all__ = ["ParallelVectorEnv", "ParallelWorld", "aec_env", "parallel_env"]


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


class ParallelWorld:
    """One world of several agents with PettingZoo's parallel interface; see `parallel_env`.

    Actions, observations, rewards, flags and infos are dicts by the name of the agent. An agent
    that has ended is not in `agents`, and its actions are ignored. Infos whose first axis has the
    length of the agents are divided among them; all agents get the others, and those of MuJoCo.

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
        self._state: Array = np.zeros(0, np.float32)
        self._idle = {name: _lowest(envs.agents.action_space(name)) for name in envs.agents.names}
        self._spaces = [
            {name: to_gymnasium_space(space(name)) for name in envs.agents.names}
            for space in (envs.agents.observation_space, envs.agents.action_space)
        ]

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
        options = {name: value for name, value in (options or {}).items() if name in known}
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
            InvalidAction: If the action of an agent is missing, or a name is unknown.
            ResetNeeded: If all agents have ended, or there was no reset.
        """
        missing = [agent for agent in self.agents if agent not in actions]
        if missing or actions.keys() - self._idle.keys():
            raise InvalidAction(f"actions: expected those of {self.agents}, got {list(actions)}")
        assert self.envs.agents is not None
        world = self.envs.agents.join(1, {**self._idle, **actions})
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
        self._state = np.concatenate([_numbers(part) for part in parts.values()])
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
                results[agent][name] = values[0, k] if by_agent else values[0]
        return results

    def state(self) -> Array:
        """Return the state that the batch has, or the observations of all agents, float32."""
        batch: Any = self.envs.unwrapped
        return self._state.copy() if not hasattr(batch, "state") else batch.state()[0]

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


def _numbers(observation: object) -> Array:
    """Return all numbers of an observation, float32."""
    if isinstance(observation, (dict, tuple)):
        parts = observation.values() if isinstance(observation, dict) else observation
        return np.concatenate([_numbers(part) for part in parts])
    return np.ravel(np.asarray(observation, np.float32))


class ParallelVectorEnv(VectorEnv[ObsType, ActType, Array], Generic[ObsType, ActType]):
    """The agents of several games as one batch of environments for one policy.

    Environment `i` of the batch is the agent `agents[i]` of a game. All agents of a game end
    together: an agent that ends before the others observes zeros and gets a reward of 0 until the
    game is over, and `infos["active"]` is false for it. In the step that ends a game, the flags,
    `infos["final_obs"]` and `infos["final_info"]` are those of each agent's own last step, and the
    next game has begun: autoreset is SAME_STEP.

    Attributes:
        games: The PettingZoo environments.
        agents: Name of the agent for each environment of the batch.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> class Game:
        ...     metadata = {}
        ...     possible_agents = agents = ["left", "right"]
        ...     observation_space = action_space = lambda self, agent: Discrete(2)
        ...     def reset(self, seed=None, options=None):
        ...         return {"left": 0, "right": 1}, {"left": {}, "right": {}}
        >>> envs = ParallelVectorEnv([Game, Game])
        >>> envs.num_envs, envs.agents, envs.reset()[0]
        (4, ('left', 'right', 'left', 'right'), array([0, 1, 0, 1]))
    """

    agents: Any  # the names, because an environment of the batch is a single agent

    def __init__(self, env_fns: Sequence[Callable[[], ParallelEnv[str, object, object]]]) -> None:
        """Make the games.

        Args:
            env_fns: Functions that return environments with PettingZoo's parallel interface.

        Raises:
            ArgumentTypeError: If the result of a function has no agents (a `TypeError`).
            InvalidArgument: If there is no game, or agents are missing or have different spaces.
        """
        self.games = [make() for make in env_fns]
        # The games, and the indices of their agents.
        self._lanes: list[tuple[ParallelEnv[str, object, object], range]] = []
        agents: list[str] = []
        pairs = []
        for game in self.games:
            if not hasattr(game, "possible_agents"):
                raise ArgumentTypeError(
                    f"env_fns: expected functions that return a pettingzoo.ParallelEnv, got {game}"
                )
            first = len(agents)
            agents += game.possible_agents
            self._lanes.append((game, range(first, len(agents))))
            pairs += [(game.observation_space(a), game.action_space(a)) for a in agents[first:]]
        if not agents or not all(lanes for _, lanes in self._lanes):
            raise InvalidArgument(f"env_fns: expected games with agents, got {self.games}")
        if any(pair != pairs[0] for pair in pairs):
            raise InvalidArgument(f"env_fns: expected agents with the same spaces, got {pairs}")
        self.agents = tuple(agents)
        self.num_envs = len(agents)
        self.metadata = {**self.games[0].metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = getattr(self.games[0], "render_mode", None)
        self.single_observation_space, self.single_action_space = map(convert_space, pairs[0])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._action_layout = action_layout(self.single_action_space, self.action_space)
        zeros = create_empty_array(self.single_observation_space, self.num_envs, np.zeros)
        self._zeros = list(iterate(self.observation_space, zeros))
        self._rows: list[object] = []  # the observation of each agent
        # The last observation and info of each agent that has ended.
        self._last: list[tuple[object, Info]] = [(None, {})] * self.num_envs
        self._flags = np.zeros((2, self.num_envs), np.bool_)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start new games.

        Args:
            seed: An int `s` seeds game `k` with `s + k`. A sequence has a seed or None per game, or
                per agent: then the seed of its first agent is that of a game.
            options: Options of the games; `reset_mask` `[num_envs] bool` must select whole games.
        """
        self._check_open("reset")
        options, mask = split_reset_mask(options, self.num_envs)
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else mask
        if not self._rows and not chosen.all():
            raise ResetNeeded("options['reset_mask']: the first reset must include every agent")
        if any(chosen[lanes].any() != chosen[lanes].all() for _, lanes in self._lanes):
            raise InvalidArgument("options['reset_mask']: expected all agents of a game or none")
        if isinstance(seed, (Sequence, np.ndarray)) and len(seed) == self.num_envs:
            seed = [seeds_per_env(seed, self.num_envs)[lanes.start] for _, lanes in self._lanes]
        seeds = seeds_per_env(seed, len(self.games))
        self._rows = self._rows or list(self._zeros)
        infos: Info = {}
        for (game, lanes), game_seed in zip(self._lanes, seeds, strict=True):
            if chosen[lanes.start]:
                self._begin(game, lanes, infos, seed=game_seed, options=options)
        return self._observations(), infos

    def step(self, actions: ActType) -> VectorStep[ObsType, Array]:
        """Step the games; see `VectorEnv.step`. Actions of agents that have ended are ignored.

        After an exception of a game, all games must be reset.
        """
        self._check_open("step")
        if not self._rows:
            raise ResetNeeded("step: expected reset() before the first step()")
        if self._action_layout is not None:
            actions = checked_actions(self._action_layout, actions, self.num_envs)
        agent_actions = list(iterate(self.action_space, actions))
        if len(agent_actions) != self.num_envs:
            raise InvalidAction(f"actions: expected {self.num_envs}, got {len(agent_actions)}")
        try:
            return self._step_games(agent_actions)
        except BaseException:
            self._rows = []  # only some of the games were stepped
            raise

    def _check_open(self, method: str) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"{method}: the environment is closed")

    def _step_games(self, agent_actions: list[object]) -> VectorStep[ObsType, Array]:
        rewards = np.zeros(self.num_envs)
        terminated, truncated, active = np.zeros((3, self.num_envs), np.bool_)
        infos: Info = {}
        for game, lanes in self._lanes:
            numbers = dict(zip(game.possible_agents, lanes, strict=True))
            playing = {numbers[agent]: agent for agent in game.agents}
            results = game.step({agent: agent_actions[lane] for lane, agent in playing.items()})
            for lane in lanes:
                agent = playing.get(lane)
                active[lane] = agent is not None
                self._rows[lane] = self._zeros[lane] if agent is None else results[0][agent]
                info = results[4].get(agent, {})
                if agent is not None:
                    rewards[lane] = results[1][agent]
                    self._flags[:, lane] = results[2][agent], results[3][agent]
                    if agent not in game.agents:  # the game may write to its arrays later
                        self._last[lane] = copied((self._rows[lane], info))
                if not game.agents:
                    info = dict(zip(("final_obs", "final_info"), self._last[lane], strict=True))
                merge_info(infos, info, lane, self.num_envs)
            if not game.agents:
                terminated[lanes], truncated[lanes] = self._flags[:, lanes]
                self._begin(game, lanes, infos)
        if not active.all():
            infos["active"] = active
        return self._observations(), rewards, terminated, truncated, infos

    def _begin(
        self,
        game: ParallelEnv[str, object, object],
        lanes: range,
        infos: Info,
        seed: int | None = None,
        options: Options = None,
    ) -> None:
        """Start a game; its infos are merged into `infos`."""
        observations, agent_infos = game.reset(seed=seed, options=options)
        self._flags[:, lanes] = False
        for lane, agent in zip(lanes, game.possible_agents, strict=True):
            self._rows[lane] = observations.get(agent, self._zeros[lane])
            self._last[lane] = self._zeros[lane], {}
            merge_info(infos, agent_infos.get(agent, {}), lane, self.num_envs)

    def _observations(self) -> ObsType:
        space = self.single_observation_space
        batch: ObsType
        batch = concatenate(space, self._rows, create_empty_array(space, self.num_envs))
        return batch

    def get_attr(self, name: str) -> tuple[object, ...]:
        """Return an attribute of the game of each agent."""
        return tuple(getattr(game, name) for game, lanes in self._lanes for _ in lanes)

    def render(self) -> tuple[RenderFrame, ...]:
        """Return the result of each game's `render`; arrays are copies."""
        frames = [game.render() for game in self.games]
        return tuple(copied(frame) if isinstance(frame, np.ndarray) else frame for frame in frames)

    def close_extras(self, **kwargs: object) -> None:
        """Close the games."""
        for game in self.games:
            game.close()
