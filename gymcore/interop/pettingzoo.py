"""PettingZoo: the agents of parallel environments as the environments of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic

import numpy as np

from gymcore.base.arguments import seeds_per_env, split_reset_mask
from gymcore.core import ActType, Info, ObsType, Options, RenderFrame
from gymcore.error import (
    ArgumentTypeError,
    ClosedEnvironmentError,
    InvalidAction,
    InvalidArgument,
    ResetNeeded,
)
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
    from pettingzoo import ParallelEnv

__all__ = ["ParallelVectorEnv"]


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
