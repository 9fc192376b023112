"""DeepMind's `dm_env`: adapters to and from its interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gymcore import spaces
from gymcore.base.arguments import check_options
from gymcore.base.optional_packages import needs
from gymcore.core import ActType, Env, Info, ObsType, Options
from gymcore.error import ArgumentTypeError, ResetNeeded, UnsupportedMode
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.lane_episodes import LaneEpisodes

with needs("dm_env"):
    import dm_env
    from dm_env import specs

__all__ = ["DmEnv", "DmVectorEnv", "FromDmEnv", "from_dm_env", "to_dm_env"]

Specs: TypeAlias = "specs.Array | Mapping[str, Specs] | Sequence[Specs]"


def to_dm_env(env: object, seed: int | None = None) -> DmEnv | DmVectorEnv:
    """Return an environment or vector environment with the interface of `dm_env.Environment`.

    Args:
        env: An `Env`, or a `VectorEnv` with next-step autoreset.
        seed: Seed of the first reset.

    Raises:
        ArgumentTypeError: If `env` is neither of them (a `TypeError`).
        UnsupportedMode: If the autoreset mode is another one.

    Examples:
        >>> import gymcore as gym
        >>> env = to_dm_env(gym.make("CartPole-v1"), seed=1)
        >>> env.reset().first(), env.step(0).reward, env.action_spec().num_values
        (True, 1.0, 2)
    """
    if isinstance(env, VectorEnv):
        return DmVectorEnv(env, seed)
    if isinstance(env, Env):
        return DmEnv(env, seed)
    raise ArgumentTypeError(f"env: expected a gymcore.Env or VectorEnv, got {type(env)}")


def from_dm_env(env: dm_env.Environment) -> FromDmEnv:
    """Return a `dm_env.Environment` as an `Env`; see `FromDmEnv`.

    Examples:
        >>> import gymcore as gym
        >>> env = from_dm_env(to_dm_env(gym.make("CartPole-v1")))
        >>> env.action_space
        Discrete(2)
    """
    return FromDmEnv(env)


class DmEnv(dm_env.Environment):
    """An `Env` as a `dm_env.Environment`; the step after the last one of an episode resets.

    Examples:
        >>> import gymcore as gym
        >>> env = DmEnv(gym.make("CartPole-v1", max_episode_steps=1), seed=1)
        >>> env.reset().first(), env.step(0).last(), env.step(0).first()
        (True, True, True)
    """

    def __init__(self, env: Env, seed: int | None = None) -> None:
        """Wrap `env`; `seed` seeds the first reset."""
        self.env = env
        self._seed = seed
        self._needs_reset = True

    def reset(self) -> dm_env.TimeStep:
        """Start an episode."""
        seed, self._seed = self._seed, None
        observation, _ = self.env.reset(seed=seed)
        self._needs_reset = False
        return dm_env.restart(observation)

    def step(self, action: object) -> dm_env.TimeStep:
        """Take one step; the discount is 0 if the episode terminated, otherwise 1."""
        if self._needs_reset:
            return self.reset()
        observation, reward, terminated, truncated, _ = self.env.step(action)
        self._needs_reset = terminated or truncated
        if terminated:
            return dm_env.termination(reward, observation)
        if truncated:
            return dm_env.truncation(reward, observation)
        return dm_env.transition(reward, observation)

    def observation_spec(self) -> Specs:
        """Return the observation space as specs."""
        return to_specs(self.env.observation_space)

    def action_spec(self) -> Specs:
        """Return the action space as specs."""
        return to_specs(self.env.action_space)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class DmVectorEnv(dm_env.Environment):
    """A `VectorEnv` with the interface of `dm_env.Environment`.

    All parts of a time step are arrays with one entry per environment: `step_type` int64,
    `reward` and `discount` float64. Specs are those of batches.

    Examples:
        >>> import gymcore as gym
        >>> env = DmVectorEnv(gym.make_vec("CartPole-v1", num_envs=3), seed=1)
        >>> _ = env.reset()
        >>> env.step([0, 1, 0]).reward
        array([1., 1., 1.])
    """

    def __init__(self, envs: VectorEnv, seed: int | None = None) -> None:
        """Wrap `envs`; `seed` seeds the first reset."""
        self.envs = envs
        self._seed = seed
        self._episodes = LaneEpisodes(envs)
        if self._episodes.mode is not AutoresetMode.NEXT_STEP:
            raise UnsupportedMode(
                f"envs: expected autoreset mode NEXT_STEP, as dm_env has, got {self._episodes.mode}"
            )

    def reset(self) -> dm_env.TimeStep:
        """Start new episodes."""
        seed, self._seed = self._seed, None
        observations, _ = self.envs.reset(seed=seed)
        self._episodes.reset(None)
        n = self.envs.num_envs
        return dm_env.TimeStep(np.zeros(n, np.int64), np.zeros(n), np.ones(n), observations)

    def step(self, action: object) -> dm_env.TimeStep:
        """Take one step; environments whose episodes have ended start new ones instead."""
        observations, rewards, terminated, truncated, _ = self.envs.step(action)
        begun, ended = self._episodes.step(terminated, truncated)
        step_types = np.full(len(rewards), int(dm_env.StepType.MID))
        step_types[begun] = dm_env.StepType.FIRST
        step_types[ended] = dm_env.StepType.LAST
        return dm_env.TimeStep(step_types, rewards, 1.0 - terminated, observations)

    def observation_spec(self) -> Specs:
        """Return the space of batched observations as specs."""
        return to_specs(self.envs.observation_space)

    def action_spec(self) -> Specs:
        """Return the space of batched actions as specs."""
        return to_specs(self.envs.action_space)

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()


class FromDmEnv(Env[ObsType, ActType]):
    """A `dm_env.Environment` as an `Env`.

    An episode whose last discount is 0 has terminated; any other was truncated. The info contains
    the `discount`. `dm_env` has no seeds: those of `reset` do not affect the environment.

    Examples:
        >>> import gymcore as gym
        >>> env = FromDmEnv(to_dm_env(gym.make("CartPole-v1"), seed=1))
        >>> observation, info = env.reset()
        >>> env.step(0)[1:]
        (1.0, False, False, {'discount': 1.0})
    """

    def __init__(self, env: dm_env.Environment) -> None:
        self.env = env
        self.observation_space = to_space(env.observation_spec())
        self._action_spec = env.action_spec()
        self.action_space = to_space(self._action_spec)
        self._needs_reset = True

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start an episode; `dm_env` has no options, so any raises `InvalidArgument`."""
        check_options(options)
        super().reset(seed=seed)
        time_step = self.env.reset()
        self._needs_reset = False
        return _element(self.observation_space, time_step.observation), {}

    def step(self, action: ActType) -> tuple[ObsType, float, bool, bool, Info]:
        """Take one step; raise `ResetNeeded` after the end of an episode."""
        if self._needs_reset:
            raise ResetNeeded("step: call reset() first: the episode is over or has not begun")
        time_step = self.env.step(_of_spec(self._action_spec, action))
        self._needs_reset = time_step.last()
        terminated = time_step.last() and time_step.discount == 0
        return (
            _element(self.observation_space, time_step.observation),
            float(time_step.reward),
            bool(terminated),
            bool(time_step.last() and not terminated),
            {"discount": float(time_step.discount)},
        )

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def to_specs(space: spaces.Space, name: str | None = None) -> Specs:
    """Convert a space to specs: dicts and tuples of `dm_env.specs`.

    Args:
        space: The space. A `Box` without any bounds becomes an `Array`, others a `BoundedArray`.
        name: The name of the spec; those in a `Dict` have the names of their entries.

    Raises:
        UnsupportedMode: If specs cannot describe the space.
    """
    if isinstance(space, spaces.Dict):
        return {key: to_specs(part, str(key)) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(to_specs(part, name) for part in space.spaces)
    if isinstance(space, spaces.Discrete) and space.start == 0:
        return specs.DiscreteArray(int(space.n), space.dtype, name)
    if isinstance(space, spaces.Discrete):
        return specs.BoundedArray((), space.dtype, space.start, space.start + space.n - 1, name)
    if isinstance(space, spaces.MultiDiscrete):
        last = space.start + space.nvec - 1
        return specs.BoundedArray(space.shape, space.dtype, space.start, last, name)
    if isinstance(space, spaces.MultiBinary):
        return specs.BoundedArray(space.shape, space.dtype, 0, 1, name)
    if isinstance(space, spaces.Box) and np.isinf(space.low).all() and np.isinf(space.high).all():
        return specs.Array(space.shape, space.dtype, name)
    if isinstance(space, spaces.Box):
        return specs.BoundedArray(space.shape, space.dtype, space.low, space.high, name)
    if isinstance(space, spaces.Text):
        return specs.StringArray((), name=name)
    raise UnsupportedMode(f"space: dm_env has no spec for {space}")


def to_space(spec: Specs) -> spaces.Space:
    """Convert specs to a space: dicts, lists and tuples of specs become `Dict` and `Tuple` spaces.

    Raises:
        UnsupportedMode: If no space corresponds to the spec, such as for a `StringArray`.
    """
    if isinstance(spec, Mapping):
        return spaces.Dict([(key, to_space(part)) for key, part in spec.items()])
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([to_space(part) for part in spec])
    if isinstance(spec, specs.DiscreteArray):
        return spaces.Discrete(spec.num_values, dtype=spec.dtype)
    if isinstance(spec, specs.BoundedArray):
        low, high = (np.broadcast_to(bound, spec.shape) for bound in (spec.minimum, spec.maximum))
        return spaces.Box(low, high, spec.shape, spec.dtype)
    if isinstance(spec, specs.Array) and spec.dtype.kind == "b":
        return spaces.MultiBinary(spec.shape)
    if isinstance(spec, specs.Array) and spec.dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, spec.shape, spec.dtype)
    if isinstance(spec, specs.Array) and spec.dtype.kind in "iu":
        limits = np.iinfo(spec.dtype)
        return spaces.Box(limits.min, limits.max, spec.shape, spec.dtype)
    raise UnsupportedMode(f"spec: no space describes {spec!r}")


def _element(space: spaces.Space, value: object) -> Any:
    """Return an observation of `dm_env` as an element of its space."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = zip(space._parts(), space._unpack(value), strict=True)
        return space._pack([_element(part, element) for part, element in parts])
    return np.asarray(value, space.dtype)[()]


def _of_spec(spec: Any, action: Any) -> object:
    """Return an action in the dtypes required by the specs."""
    if isinstance(spec, Mapping):
        return {key: _of_spec(part, action[key]) for key, part in spec.items()}
    if isinstance(spec, (list, tuple)):
        return type(spec)(_of_spec(*pair) for pair in zip(spec, action, strict=True))
    return np.asarray(action, spec.dtype)
