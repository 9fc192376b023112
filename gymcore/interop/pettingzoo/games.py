"""Games with PettingZoo's parallel interface as worlds of a batch.

An engine for environments written in Python steps the games, here or in worker processes. For it, a
game is an environment whose observation contains the rewards and flags of the agents, too. They
take the way of observations through its buffers and its shared memory, and `ParallelVectorEnv` puts
them where a batch of worlds has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gymcore.core import Env, Info, Options
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.spaces import Box, Tuple
from gymcore.spaces.batching import batch_space, create_empty_array, iterate
from gymcore.spaces.conversion import convert_space
from gymcore.spaces.layouts import layout_of
from gymcore.spaces.space import Array
from gymcore.vector import AsyncVectorEnv, SyncVectorEnv, VectorWrapper
from gymcore.vector.agents import Agents
from gymcore.vector.engine_options import checked_functions
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.vector_env import EnvIds, Seeds, VectorStep
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.game_rows import GameRows

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

    from gymcore.spaces import Space

__all__ = ["ParallelVectorEnv"]

_Step: TypeAlias = VectorStep[Any, Array]

_ENGINES: Mapping[str, type[SyncVectorEnv | AsyncVectorEnv]] = {
    "sync": SyncVectorEnv,
    "async": AsyncVectorEnv,
}


class ParallelVectorEnv(VectorWrapper):
    """Games with PettingZoo's parallel interface as a batch of worlds of several agents.

    The contract is that of other worlds: rewards and flags have the shape [num_envs, agents], and
    agents that have different spaces are in groups, named after what their names have in common.
    `AgentsAsLanes` makes a lane of each agent.

    Calls with names, such as `get_attr`, go to the games. An info of agents has a row for each
    agent, with zeros or None for agents that do not report it.

    Attributes:
        env: The engine that steps the games.
        agents: The agents of a game.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> class Game:
        ...     metadata = {}
        ...     possible_agents = agents = ["left", "right"]
        ...     observation_space = action_space = lambda self, agent: Discrete(2)
        ...     def reset(self, seed=None, options=None):
        ...         return {"left": 0, "right": 1}, {"left": {}, "right": {}}
        ...     def close(self):
        ...         pass
        >>> with ParallelVectorEnv([Game, Game, Game]) as envs:
        ...     observations, infos = envs.reset(seed=1)
        >>> envs.num_envs, envs.agents.names, observations.tolist()
        (3, ('left', 'right'), [[0, 1], [0, 1], [0, 1]])
    """

    _lane_arrays = ()

    def __init__(
        self,
        env_fns: Sequence[Callable[[], ParallelEnv[str, object, object]]],
        vectorization_mode: str = "sync",
        *,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        """Make the games.

        Args:
            env_fns: Functions that return environments with PettingZoo's parallel interface.
            vectorization_mode: "sync" to step the games in this process, "async" in workers.
            max_episode_steps: Number of steps after which all agents that are left are truncated.
            **options: Options of `SyncVectorEnv` or `AsyncVectorEnv`, such as `autoreset_mode`,
                `episode_statistics`, `num_workers` and `context`.

        Raises:
            ArgumentTypeError: If the result of a function has no agents (a `TypeError`).
            InvalidArgument: If there is no game, games have no or different agents, or an option is
                invalid (a `ValueError`).
            SpaceMismatch: If agents of games have different spaces (a `RuntimeError`).
        """
        if vectorization_mode not in _ENGINES:
            raise InvalidArgument(
                f"vectorization_mode: expected one of {list(_ENGINES)}, got {vectorization_mode!r}"
            )
        if max_episode_steps is not None and max_episode_steps < 1:
            raise InvalidArgument(
                f"max_episode_steps: expected at least 1 or None, got {max_episode_steps}"
            )
        functions = [partial(_game, make, max_episode_steps) for make in checked_functions(env_fns)]
        engine = _ENGINES[vectorization_mode](functions, **options)
        super().__init__(engine)
        agents, *others = engine.call("world_agents")
        if any(other != agents for other in others):
            engine.close()
            raise InvalidArgument(f"env_fns: expected games with the agents {agents}, got {others}")
        engine.agents = agents
        self.single_observation_space = agents.world_spaces[0]
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.stacks_final_obs = bool(self.single_observation_space.shape)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[Any, Info]:
        """Start new games; see `VectorEngine.reset`. An integer `s` seeds game `k` with `s + k`."""
        (observations, record), infos = self.env.reset(seed=seed, options=options)
        infos["active"] = record[:, 5] != 0.0
        return observations, infos

    def step(self, actions: object, env_ids: EnvIds | None = None) -> _Step:
        """Step the games, or some of them; see `VectorEngine.step`.

        Returns:
            Observations, rewards float64, terminated and truncated bool `[num_envs, agents]`, and
            infos; `infos["active"]`, bool `[num_envs, agents]`, marks the agents that took part.
        """
        return self._world_results(self.env.step(actions, env_ids))

    def step_lanes(self, actions: object, env_ids: EnvIds) -> _Step:
        """Step some of the games; see `VectorEnv.step_lanes`."""
        return self.step(actions, env_ids)

    def send(self, actions: object, env_ids: EnvIds | None = None) -> None:
        """Request a step of some of the games; see `VectorEngine.send`."""
        self.env.send(actions, env_ids)

    def recv(self, timeout: float | None = None) -> _Step:
        """Return the results of games that were sent; see `VectorEngine.recv`."""
        return self._world_results(self.env.recv(timeout))

    def _world_results(self, results: _Step) -> _Step:
        """Return the results of worlds from those of the engine, which has observations only."""
        (observations, record), _, _, _, infos = results
        ended = infos.get("_final_obs")
        if ended is not None:
            record = self._take_final(infos, np.flatnonzero(ended), record)
        rewards = record[:, 0].copy()
        flags = record.swapaxes(0, 1)[3:]
        terminated, truncated, active = np.not_equal(flags, 0.0, order="C")
        lost = infos.get("_worker_restarted")
        if lost is not None:  # the agents that were left are truncated, without another step
            active[lost] &= ~(terminated | truncated)[lost]
            rewards[lost], terminated[lost], truncated[lost] = 0.0, False, active[lost]
        infos["active"] = active
        if "episode" in infos:
            rows = infos["_episode"][:, None]
            infos["episode"]["agent_r"] = np.where(rows, record[:, 1], 0.0)
            infos["episode"]["agent_l"] = np.where(rows, record[:, 2], 0.0).astype(np.int64)
        return observations, rewards, terminated, truncated, infos

    def _take_final(self, infos: Info, rows: Array, record: Array) -> Array:
        """Return the record with that of games that have ended, out of their final observations."""
        last = infos["final_obs"]
        space = self.single_observation_space
        final: Array = np.full(len(last), None, object)
        if self.stacks_final_obs:
            final = np.zeros((len(last), *(space.shape or ())), space.dtype)
        if not self.env.copy:
            record = record.copy()  # it is the engine's
        for row in rows:
            final[row], record[row] = last[row]
        infos["final_obs"] = final
        return record

    def central_state(self) -> Array:
        """Return what `state()` of the games returns, `[num_envs, ...]`, a new array."""
        return np.stack(self.env.call("state"))

    def get_state(self, lanes: EnvIds | None = None) -> object:
        """Return the states of games that have `get_state`; see `VectorEngine.get_state`."""
        states: object = self.env.get_state(lanes)
        return states

    def set_state(self, state: object, lanes: EnvIds | None = None) -> None:
        """Continue games from states; see `VectorEngine.set_state`."""
        self.env.set_state(state, lanes)


def _game(make: Callable[[], Any], limit: int | None) -> _Game:
    """Return a new game as an environment."""
    game = make()
    if not hasattr(game, "possible_agents"):
        raise ArgumentTypeError(
            f"env_fns: expected functions that return a pettingzoo.ParallelEnv, got {game}"
        )
    if not game.possible_agents:
        raise InvalidArgument(f"env_fns: expected games with agents, got {game}")
    has_states = hasattr(game, "get_state") and hasattr(game, "set_state")
    return (_GameWithStates if has_states else _Game)(game, limit)


class _Game(Env):
    """A game as an environment that observes everything that agents get.

    An observation is a tuple: the observations of the agents, as in a batch of worlds; and a record
    of the step, float64 [6, agents]: its reward, the return and the number of steps of the episode,
    and whether agents were terminated, were truncated, and took part in the step. The episode ends
    when no agent is left.
    """

    def __init__(self, game: Any, limit: int | None) -> None:
        self.game, self._limit = game, limit
        self.world_agents = agents = _agents_of(game)
        self.metadata = dict(getattr(game, "metadata", {}))
        self.render_mode = getattr(game, "render_mode", None)
        world, self.action_space = agents.world_spaces
        record = Box(-np.inf, np.inf, (6, len(agents.names)), np.float64)
        self.observation_space = Tuple((world, record))
        self._rows = _game_rows(agents)
        self._has_action_rows = bool(self.action_space.shape)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[object, Info]:
        """Start a new game."""
        observations, infos = self.game.reset(seed=seed, options=options)
        self._steps = 0
        return self._rows.begin(self.game.agents, observations), self._info(infos)

    def step(self, action: object) -> tuple[object, float, bool, bool, Info]:
        """Step the game with the actions of the agents that are left."""
        parts: object = action
        if not self._has_action_rows:
            parts = [*self.world_agents.split(self.action_space, action).values()]
        observation, reward, terminated, truncated, infos = self._rows.step(
            self.game, parts, is_cut=self._steps + 1 == self._limit
        )
        self._steps += 1
        info = {} if infos is None else self._info(infos)
        return observation, reward, terminated, truncated, info

    def _info(self, infos: Mapping[str, Info]) -> Info:
        """Return infos with a row for each agent."""
        merged: Info = {}
        for k, agent in enumerate(self._rows.names):
            merge_info(merged, infos.get(agent) or {}, k, len(self._rows.names))
        return {name: value for name, value in merged.items() if not name.startswith("_")}

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute of the game, or its agents."""
        return self.world_agents if name == "world_agents" else getattr(self.game, name)

    def set_wrapper_attr(self, name: str, value: object, *, force: bool = True) -> bool:
        """Set an attribute of the game."""
        setattr(self.game, name, value)
        return True

    def __getstate__(self) -> dict[str, object]:
        """Return the game and the state of its agents' episodes, for a copy."""
        return {**self.__dict__, "_rows": self._rows.get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a copied game, and create the rows of its agents again."""
        self.__dict__.update(state)
        self._rows = _game_rows(self.world_agents)
        self._rows.set_state(state["_rows"])

    def render(self) -> object:
        """Return the frame of the game."""
        frame: object = self.game.render()
        return frame

    def close(self) -> None:
        """Close the game."""
        self.game.close()


class _GameWithStates(_Game):
    """A game with `get_state` and `set_state`."""

    def get_state(self) -> object:
        """Return the state of the game and of its agents' episodes."""
        return self.game.get_state(), self._rows.get_state(), self._steps

    def set_state(self, state: Any) -> None:
        """Continue from a state."""
        game, rows, steps = state
        self._rows.set_state(rows)  # which are checked
        self.game.set_state(game)
        self._steps = steps


def _game_rows(agents: Agents) -> GameRows:
    """Return the rows of the agents of a game, before its first episode."""
    buffers = {
        group: BatchBuffer(layout_of(agents.observation_space(members[0])), len(members))
        for group, members in (agents.groups or {"": agents.names}).items()
    }
    zeros = [_zero(agents.observation_space(name)) for name in agents.names]
    return GameRows(agents.names, buffers.get("", buffers), tuple(zeros))


def _zero(space: Space) -> object:
    """Return what an agent observes after its end."""
    zeros = create_empty_array(space, 1, np.zeros)
    element: object = next(iterate(batch_space(space, 1), zeros))
    return element


def _agents_of(game: Any) -> Agents:
    """Return the agents of a game, in groups if their spaces differ."""
    groups: list[tuple[tuple[object, object], list[str]]] = []
    for name in game.possible_agents:
        spaces = game.observation_space(name), game.action_space(name)
        group = next((names for pair, names in groups if pair == spaces), None)
        if group is None:
            groups.append((spaces, [name]))
        else:
            group.append(name)
    pairs = [(convert_space(pair[0]), convert_space(pair[1])) for pair, _ in groups]
    if len(groups) == 1:
        return Agents(groups[0][1], *pairs[0])
    labels = [_label(names) for _, names in groups]
    if len({*labels}) < len(labels):
        labels = [names[0] for _, names in groups]
    return Agents(
        {label: names for label, (_, names) in zip(labels, groups, strict=True)},
        *({label: pair[k] for label, pair in zip(labels, pairs, strict=True)} for k in (0, 1)),
    )


def _label(names: Sequence[str]) -> str:
    """Return what names such as wolf_0 and wolf_1 have in common, or the first of them."""
    stems = {name.rstrip("0123456789").rstrip("_-") for name in names}
    return stems.pop() if len(stems) == 1 and "" not in stems else names[0]
