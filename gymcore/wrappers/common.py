"""The wrappers that `make` applies, `Autoreset` and `RecordEpisodeStatistics`."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from gymcore import error, logger
from gymcore.base.arguments import MAX_COUNT, count
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.checking import passive, rules
from gymcore.core import ActType, Env, Info, ObsType, Options, Wrapper, without_mode
from gymcore_ext.python_envs.infos import copied

if TYPE_CHECKING:
    from gymcore.specs import EnvSpec

__all__ = [
    "Autoreset",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "TimeLimit",
]


def checked_limit(limit: int, types: tuple[type, ...] = (int, np.integer)) -> int:
    """Check that `max_episode_steps` is a positive number of one of these types; return an int."""
    if not isinstance(limit, types):
        raise error.ArgumentTypeError(
            f"Expect the `max_episode_steps` to be an integer, actually: {type(limit)}"
        )
    if limit <= 0:
        raise error.InvalidArgument(
            f"Expect the `max_episode_steps` to be positive, actually: {limit}"
        )
    return int(limit)


class TimeLimit(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Truncate episodes after a number of steps.

    `terminated` is passed through, so both flags are true if the episode also terminates in its
    last step.

    Examples:
        >>> import gymcore
        >>> env = TimeLimit(gymcore.make("Pendulum-v1", max_episode_steps=-1), max_episode_steps=2)
        >>> observation, info = env.reset(seed=1)
        >>> [env.step(env.action_space.sample())[3] for _ in range(2)]
        [False, True]
    """

    _counts = ("_elapsed_steps",)

    def __init__(self, env: Env[ObsType, ActType], max_episode_steps: int) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            max_episode_steps: Steps after which an episode is truncated, at least 1.

        Raises:
            ArgumentTypeError: If `max_episode_steps` is not an `int`.
            InvalidArgument: If it is not positive.
        """
        limit = checked_limit(max_episode_steps, (int,))
        Wrapper.__init__(self, env)
        self._max_episode_steps = limit
        self._elapsed_steps: Any = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, and truncate the episode if the limit is reached."""
        result = self.env.step(action)
        try:
            observation, reward, terminated, truncated, info = result
        except ValueError:
            raise error.FailedCheck(
                f"step: expected five values from the environment, got {len(result)}. "
                f"{rules.old_interface_hint()}"
            ) from None
        elapsed = self._elapsed_steps = self._elapsed_steps + 1
        if elapsed >= self._max_episode_steps:
            truncated = True
        return observation, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment and the step counter."""
        result = self.env.reset(seed=seed, options=options)
        self._elapsed_steps = 0
        return result

    def _wrapped_spec(self, inner: EnvSpec) -> EnvSpec:
        """Return the spec of the wrapped environment with this time limit."""
        return inner.copy(max_episode_steps=self._max_episode_steps)


class Autoreset(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Reset the environment in the step after an episode has ended.

    That step ignores its action and returns the first observation and info of the new episode, with
    a reward of 0 and both flags false.

    Attributes:
        autoreset: Whether the next step resets.

    Examples:
        >>> import gymcore
        >>> env = Autoreset(gymcore.make("FrozenLake-v1", is_slippery=False, max_episode_steps=1))
        >>> _ = env.reset(seed=1)
        >>> env.step(2)[3], env.step(2)
        (True, (0, 0.0, False, False, {'prob': 1}))
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        Wrapper.__init__(self, env)
        self.autoreset = False

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment."""
        result = self.env.reset(seed=seed, options=options)
        self.autoreset = False
        return result

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, or reset it if its last step ended an episode."""
        if self.autoreset:
            observation, info = self.env.reset()
            self.autoreset = False
            return observation, 0.0, False, False, info
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.autoreset = terminated or truncated
        return observation, reward, terminated, truncated, info


class PassiveEnvChecker(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Check the spaces of an environment and its first calls of `reset`, `step` and `render`.

    Mistakes that would break a program raise an error, likely mistakes warn; see
    `gymcore.utils.passive_env_checker`. After the checks the wrapper only forwards calls.

    Attributes:
        checked_reset: Whether a reset has been checked.
        checked_step: Whether a step has been checked.
        checked_render: Whether a render has been checked.
        checked_data_reuse: Whether the results of two consecutive steps have been compared.
        close_called: Whether the environment has been closed.

    Examples:
        >>> import gymcore
        >>> env = PassiveEnvChecker(gymcore.make("CartPole-v1", disable_env_checker=True))
        >>> _ = env.reset(seed=1)
        >>> env.checked_reset, env.checked_step
        (True, False)
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        """Wrap `env`.

        Raises:
            ArgumentTypeError: If `env` is not an `Env`, or one of its spaces is not a `Space`.
            AttributeError: If `env` lacks a space.
            FailedCheck: If a space cannot be sampled.
        """
        Wrapper.__init__(self, env)
        rules.HAS_SPACE.check(env, "action", hint=f" {rules.GUIDE}")
        passive.check_action_space(env.action_space)
        rules.HAS_SPACE.check(env, "observation", hint=f" {rules.GUIDE}")
        passive.check_observation_space(env.observation_space)
        self.checked_reset = False
        self.checked_step = False
        self.checked_render = False
        self.checked_data_reuse = False
        self.close_called = False
        self._previous_data: tuple[ObsType, Info] | None = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment; check the first step, and that the second returns new objects."""
        if self.checked_data_reuse:
            return self.env.step(action)
        source = "step" if self.checked_step else "reset"
        if self.checked_step:
            result = self.env.step(action)
        else:
            self.checked_step = True
            result = passive.env_step_passive_checker(self.env, action)
        data = (result[0], result[-1])
        previous = self._previous_data  # another thread may clear it meanwhile
        if previous is not None:
            passive.env_data_reuse_passive_checker(previous, data, source, "step")
        self.checked_data_reuse = source == "step"
        self._previous_data = None if self.checked_data_reuse else data
        return result

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment; check the first reset."""
        if self.checked_reset:
            return self.env.reset(seed=seed, options=options)
        return self._check_reset(seed=seed, options=options)

    def _check_reset(self, **kwargs: object) -> tuple[ObsType, Info]:
        self.checked_reset = True
        result = passive.env_reset_passive_checker(self.env, **kwargs)
        if isinstance(result, tuple) and len(result) == 2:
            self._previous_data = result
        elif hint := rules.old_interface_hint():
            logger.warn(hint)
        return result

    def render(self) -> object:
        """Render the environment; check the first frame."""
        if self.checked_render:
            return self.env.render()
        self.checked_render = True
        return passive.env_render_passive_checker(self.env)

    def close(self) -> None:
        """Close the environment; warn if a second close fails."""
        if not self.close_called:
            self.close_called = True
            return self.env.close()
        try:
            return self.env.close()
        except Exception:
            logger.warn(
                "Calling `env.close()` on the closed environment should be allowed, "
                "but it raised the following exception."
            )
            raise

    def _wrapped_spec(self, inner: EnvSpec) -> EnvSpec:
        """Return the spec of the wrapped environment with the checker enabled."""
        return inner.copy(disable_env_checker=False)


class OrderEnforcing(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Raise if `step` or `render` is called before `reset`.

    Examples:
        >>> import gymcore
        >>> env = OrderEnforcing(gymcore.make("CartPole-v1"))
        >>> env.step(0)
        Traceback (most recent call last):
        ...
        gymcore.error.ResetNeeded: Cannot call env.step() before calling env.reset()
    """

    def __init__(
        self, env: Env[ObsType, ActType], disable_render_order_enforcing: bool = False
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            disable_render_order_enforcing: Whether to allow `render` before `reset`.
        """
        Wrapper.__init__(self, env)
        self._has_reset = False
        self._disable_render_order_enforcing = disable_render_order_enforcing

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment.

        Raises:
            ResetNeeded: If `reset` has not been called.
        """
        if not self._has_reset:
            raise error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        return self.env.step(action)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment."""
        self._has_reset = True
        result = self.env.reset(seed=seed, options=options)
        return result

    @without_mode
    def render(self) -> object:
        """Render the environment.

        Raises:
            ResetNeeded: If `reset` has not been called, unless `disable_render_order_enforcing`.
        """
        if not self._disable_render_order_enforcing and not self._has_reset:
            raise error.ResetNeeded(
                "Cannot call `env.render()` before calling `env.reset()`, if this is an intended "
                "action, set `disable_render_order_enforcing=True` on the OrderEnforcer wrapper."
            )
        return self.env.render()

    @property
    def has_reset(self) -> bool:
        """Whether `reset` has been called."""
        return self._has_reset

    def _wrapped_spec(self, inner: EnvSpec) -> EnvSpec:
        """Return the spec of the wrapped environment with order enforcing enabled."""
        return inner.copy(order_enforce=True)


class RecordEpisodeStatistics(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Add the return, length and duration of an episode to the info of its last step.

    `info["episode"]` is `{"r": return, "l": steps, "t": seconds since reset}`.

    Attributes:
        episode_count: Number of completed episodes.
        episode_returns: Return of the current episode so far.
        episode_lengths: Number of steps of the current episode so far.
        return_queue: Returns of the last episodes.
        length_queue: Lengths of the last episodes.
        time_queue: Durations of the last episodes, in seconds.

    Examples:
        >>> import gymcore
        >>> env = RecordEpisodeStatistics(gymcore.make("Pendulum-v1", max_episode_steps=2))
        >>> observation, info = env.reset(seed=1)
        >>> for _ in range(2):
        ...     *_, info = env.step(env.action_space.sample())
        >>> info["episode"]["l"]
        2
    """

    _counts = ("episode_count", "episode_lengths")

    def __init__(
        self,
        env: Env[ObsType, ActType],
        buffer_length: int = 100,
        stats_key: str = "episode",
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            buffer_length: Maximum length of the queues; None for no limit.
            stats_key: Key of the statistics in the info.
        """
        Wrapper.__init__(self, env)
        self._stats_key = stats_key
        self.episode_count = 0
        self.episode_start_time: float = -1
        self.episode_returns: Any = 0.0
        self.episode_lengths: int = 0
        limit = buffer_length and count("buffer_length", buffer_length, 0, MAX_COUNT)
        self.time_queue: deque[float] = deque(maxlen=limit)
        self.return_queue: deque[float] = deque(maxlen=limit)
        self.length_queue: deque[int] = deque(maxlen=limit)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, and add the statistics to its info if the episode ended.

        Raises:
            FailedCheck: If the info already has an entry under `stats_key`.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        # Not `+=`: rewards may be arrays, and the last info and the queue hold this object.
        self.episode_returns = self.episode_returns + reward
        self.episode_lengths += 1
        if terminated or truncated:
            if self._stats_key in info:
                raise error.FailedCheck(
                    f"info has an entry {self._stats_key!r} already; give this wrapper another "
                    "stats_key"
                )
            duration = round(time.perf_counter() - self.episode_start_time, 6)
            episode = {"r": copied(self.episode_returns), "l": self.episode_lengths, "t": duration}
            info = {**info, self._stats_key: episode}  # the environment may keep its dict
            self.time_queue.append(duration)
            self.return_queue.append(self.episode_returns)
            self.length_queue.append(self.episode_lengths)
            self.episode_count += 1
            self.episode_start_time = time.perf_counter()
        return observation, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment and the statistics of the episode."""
        result = self.env.reset(seed=seed, options=options)
        self.episode_start_time = time.perf_counter()
        self.episode_returns = 0.0
        self.episode_lengths = 0
        return result
