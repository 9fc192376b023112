"""Adapter from an `Env` or a vector environment to states, actions, `reset` and `execute`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import count, positive
from gymcore.base.nested import map_leaves
from gymcore.compat.gym_envs import GymV26Environment
from gymcore.core import Env
from gymcore.environment.space_specs import SpaceSpec, spec_of_space
from gymcore.environment.value_specs import Spec, is_value
from gymcore.envs.making import make, make_vec
from gymcore.error import InvalidArgument
from gymcore.spaces.conversion import convert_space
from gymcore.specs import find_spec, parse_env_id
from gymcore.specs.env_spec import Kwargs
from gymcore.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymcore.wrappers import RecordVideo, TimeLimit

TERMINATED, TRUNCATED = 1, 2
"""Terminal codes: a terminal state, and an episode cut off, for example by a time limit."""


def is_level(value: object) -> bool:
    """Return whether a value is an environment, an environment class or a vector environment."""
    methods = all(callable(getattr(value, name, None)) for name in ("reset", "step"))
    return methods and (isinstance(value, type) or hasattr(value, "observation_space"))


class GymAdapter:
    """Environments of gymcore or Gymnasium, adapted to `Environment`.

    One environment is used for `reset()`. A vector environment without autoreset is used for
    `reset(num_parallel)`; it is made when needed, and again for another number.

    Attributes:
        env: The environment, or None if a vector environment was given.
        envs: The vector environment, or None before the first `reset(num_parallel)`.
    """

    def __init__(
        self,
        level: object,
        visualize: bool = False,
        max_episode_timesteps: int | None = None,
        import_modules: str | Iterable[str] = (),
        min_value: float | None = None,
        max_value: float | None = None,
        terminal_reward: float = 0.0,
        reward_threshold: float | None = None,
        drop_states_indices: Iterable[int] | None = None,
        visualize_directory: str | None = None,
        seed: int | None = None,
        **kwargs: object,
    ) -> None:
        """Make the environment.

        Args:
            level: An id, an environment, a vector environment, or a class of environments. An id
                without a version means the latest version without its time limit.
            visualize: Whether to show a window.
            max_episode_timesteps: Time limit, not above the environment's own; None for its own.
            import_modules: Modules that register environments; imported first.
            min_value: Lower bound of states that have none; states are clipped to it.
            max_value: Upper bound of states that have none; states are clipped to it.
            terminal_reward: Number added to the reward in a terminal state.
            reward_threshold: Return at which the task counts as solved.
            drop_states_indices: Entries to remove from one-dimensional states.
            visualize_directory: Folder for videos of episodes.
            seed: Seed of the first reset.
            **kwargs: Arguments of the environment.

        Raises:
            InvalidArgument: If an argument is invalid.
            ArgumentTypeError: If a space has no specification.
        """
        for module in [import_modules] if isinstance(import_modules, str) else import_modules:
            importlib.import_module(module)
        self.reward_threshold = reward_threshold
        self._terminal_reward = float(terminal_reward)
        self._seed = seed
        if visualize or visualize_directory is not None:
            kwargs["render_mode"] = "human" if visualize_directory is None else "rgb_array"
        self.env: Any = None
        self.envs: Any = None
        self._make_batch: Callable[[int], VectorEnv] | None = None
        self._open(level, max_episode_timesteps, kwargs)
        if visualize_directory is not None and self.env is not None:
            self.env = RecordVideo(self.env, visualize_directory)
        source, name = (self.envs, "single_") if self.env is None else (self.env, "")
        space = convert_space(getattr(source, f"{name}observation_space"))
        self._states = _adjust_box_spec(
            spec_of_space(space, "states"), min_value, max_value, drop_states_indices
        )
        action_space = convert_space(getattr(source, f"{name}action_space"))
        self._actions = spec_of_space(action_space, "actions")
        self._to_values, self._from_values = self._states.to_values, self._actions.from_values
        self._live: Any = None
        # Terminals of steps in which no episode ends, and both arrays as they are after a reset.
        self._no_terminals = np.zeros(0, np.int64)
        self._all_live: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        self._final_states: object = None

    def _open(self, level: object, limit: int | None, kwargs: Kwargs) -> None:
        """Make the environment, and the function that makes a vector environment of its kind."""
        mode = AutoresetMode.DISABLED
        if isinstance(level, str):
            registered = find_spec(level)
            versioned = parse_env_id(level.rpartition(":")[2])[2] is not None
            self._limit = _checked_limit(limit, registered.max_episode_steps if versioned else None)
            kwargs = {"max_episode_steps": self._limit or -1, **kwargs}
            self.env = make(registered, **kwargs)
            self._make_batch = lambda num: make_vec(
                registered, num, vector_kwargs={"autoreset_mode": mode}, **kwargs
            )
            return
        if isinstance(level, type):
            self._limit = _checked_limit(limit, None)

            def single() -> Env:
                return _as_env(level(**kwargs), limit)

            self.env = single()
            self._make_batch = lambda num: SyncVectorEnv([single] * num, autoreset_mode=mode)
            return
        if kwargs:
            raise InvalidArgument(
                f"expected no arguments for an existing environment, got {sorted(kwargs)}"
            )
        spec = getattr(level, "spec", None)
        self._limit = _checked_limit(limit, None if spec is None else spec.max_episode_steps)
        if not isinstance(level, VectorEnv):
            self.env = _as_env(level, limit)
            return
        if level.metadata.get("autoreset_mode") is not AutoresetMode.DISABLED:
            raise InvalidArgument(
                "environment: expected a vector environment whose autoreset_mode is 'Disabled', "
                f"got {level.metadata.get('autoreset_mode')}"
            )
        if limit is not None:
            raise InvalidArgument(
                f"max_episode_timesteps: expected None for a vector environment, got {limit}"
            )
        self.envs = level

    def states(self) -> Spec:
        """Return the specification of the states."""
        return self._states.spec

    def actions(self) -> Spec:
        """Return the specification of the actions."""
        return self._actions.spec

    def max_episode_timesteps(self) -> int | None:
        """Return the environment's time limit, or None."""
        return self._limit

    def is_vectorizable(self) -> bool:
        """Return whether environments can run in parallel; an existing instance cannot."""
        return self.envs is not None or self._make_batch is not None

    def seed(self, seed: int) -> None:
        """Seed the next reset; environment `i` of several gets `seed + i`."""
        self._seed = seed

    def reset(self, num_parallel: int | None = None) -> object:
        """Start one or several episodes; see `Environment.reset`."""
        seed, self._seed = self._seed, None
        self._final_states = None
        if num_parallel is None:
            if self.env is None:
                raise InvalidArgument(
                    "num_parallel: expected a number, for a vector environment, got None"
                )
            self._live = None
            return self._to_values(self.env.reset(seed=seed)[0])
        if self.envs is None or self.envs.num_envs != num_parallel:
            if self._make_batch is None:
                num_envs = 1 if self.envs is None else self.envs.num_envs
                raise InvalidArgument(f"num_parallel: expected {num_envs}, got {num_parallel}")
            if self.envs is not None:
                self.envs.close()
            self.envs = self._make_batch(num_parallel)
        states = self._to_values(self.envs.reset(seed=seed)[0])
        if self._all_live is None or len(self._all_live[0]) != num_parallel:
            self._set_live(np.arange(num_parallel))
            self._all_live = self._live, self._no_terminals
        self._live, self._no_terminals = self._all_live
        return self._live, states

    def execute(self, actions: object) -> tuple[object, ...]:
        """Take one step; see `Environment.execute`."""
        actions = self._from_values(actions)
        if self._live is None:
            return self._execute_one(actions)
        live, envs = self._live, self.envs
        if len(live) == envs.num_envs:
            observations, rewards, terminated, truncated, _ = envs.step(actions)
        else:
            observations, rewards, terminated, truncated, _ = envs.step_lanes(actions, live)
        states = self._to_values(observations)
        # Searching the bytes takes a tenth of the time of `any`.
        if 1 not in terminated.tobytes() and 1 not in truncated.tobytes():
            self._final_states = None
            return live, states, self._no_terminals, rewards
        terminal = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, 0))
        if self._terminal_reward:
            rewards = rewards + self._terminal_reward * terminated
        ended = terminal > 0
        self._set_live(live[~ended])
        self._final_states = map_leaves(lambda rows: rows[ended], states)
        return self._live, map_leaves(lambda rows: rows[~ended], states), terminal, rewards

    def _execute_one(self, action: object) -> tuple[object, int, float]:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        if terminated:
            reward = float(reward) + self._terminal_reward
        terminal = TERMINATED if terminated else TRUNCATED if truncated else 0
        return self._to_values(observation), terminal, float(reward)

    def final_states(self) -> object:
        """Return the states in which episodes ended in the last `execute`."""
        return self._final_states

    def abort(self, parallel: npt.NDArray[np.int64]) -> None:
        """End the episodes of some of the environments, given by index."""
        self._set_live(np.setdiff1d(self._live, parallel, assume_unique=True))

    def _set_live(self, indices: npt.NDArray[np.int64]) -> None:
        """Set the environments with unfinished episodes; the caller shares these arrays."""
        self._live, self._no_terminals = indices, np.zeros(len(indices), np.int64)
        self._live.flags.writeable = self._no_terminals.flags.writeable = False

    def close(self) -> None:
        """Close the environments."""
        for env in (self.env, self.envs):
            if env is not None:
                env.close()


def _as_env(env: object, limit: int | None) -> Env:
    """Return an environment, converted from Gymnasium if needed, with a time limit if given."""
    converted = env if isinstance(env, Env) else GymV26Environment(env=env)
    return converted if limit is None else TimeLimit(converted, limit)


def _checked_limit(limit: int | None, registered: int | None) -> int | None:
    """Return the effective time limit; it cannot exceed the environment's own."""
    if limit is None:
        return registered
    positive("max_episode_timesteps", limit, maximum=registered)
    return limit


def _adjust_box_spec(
    states: SpaceSpec, low: float | None, high: float | None, dropped: Iterable[int] | None
) -> SpaceSpec:
    """Return the specification of a `Box` with missing bounds added and entries removed."""
    spec, to_values = dict(states.spec), states.to_values
    if low is None and high is None and dropped is None:
        return states
    if not is_value(spec) or spec["type"] != "float":
        raise InvalidArgument(
            "min_value, max_value and drop_states_indices: expected a Box observation space, got "
            f"{spec}"
        )
    if (low is None) != (high is None):
        raise InvalidArgument(f"expected both min_value and max_value, got {low!r} and {high!r}")
    shape = spec["shape"]
    indices: Any = slice(None)
    if dropped is not None:
        dropped = sorted({count("drop_states_indices", k, 0, shape[0] - 1) for k in dropped})
        if len(shape) != 1 or len(dropped) == shape[0]:
            raise InvalidArgument(
                f"drop_states_indices: expected some, not all, entries of one-dimensional states, "
                f"got {dropped} for shape {shape}"
            )
        indices = np.setdiff1d(np.arange(shape[0]), dropped)
        spec["shape"] = (len(indices),)
    for name, limit in (("min_value", low), ("max_value", high)):
        bound: Any = spec.get(name)
        if np.ndim(bound):
            bound = bound[indices]
            spec[name] = bound if limit is None else np.where(np.isinf(bound), limit, bound)
        elif bound is None and limit is not None:
            spec[name] = float(limit)

    def narrowed(values: object) -> np.ndarray:
        entries: np.ndarray = to_values(values)[..., indices]
        if low is not None:
            entries = np.clip(entries, spec["min_value"], spec["max_value"], dtype=entries.dtype)
        return entries

    return SpaceSpec(spec, narrowed, states.from_values)
