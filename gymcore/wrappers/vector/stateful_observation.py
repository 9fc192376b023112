"""Vector wrappers that make observations of several steps.

Each does to every lane what its namesake in `gymcore.wrappers.stateful_observation` does to one
environment, in every autoreset mode and under masked resets. In SAME_STEP the last observations in
the infos are those that the namesake would have returned last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import EnvironmentFailed, InvalidArgument
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.utils import batch_space
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.wrappers.stateful_observation import (
    check_delay,
    check_skip,
    check_stack,
    zero_element,
)
from gymcore.wrappers.time_format import TimeFormat
from gymcore.wrappers.vector.lane_frames import lane_frames
from gymcore.wrappers.vector.lane_observations import LaneObservations, Lanes, Mask
from gymcore.wrappers.vector.lane_repeats import LaneRepeats
from gymcore.wrappers.vector.time_limit import TimeLimit

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv
    from gymcore.wrappers.vector.normalization import NormalizeObservation

__all__ = [
    "DelayObservation",
    "FrameStackObservation",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "TimeAwareObservation",
]


def __getattr__(name: str) -> Any:
    if name == "NormalizeObservation":
        from gymcore.wrappers.vector.normalization import NormalizeObservation

        return NormalizeObservation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class DelayObservation(LaneObservations, RecordConstructorArgs):
    """Return observations a number of steps late; before there are any, zeros.

    Attributes:
        delay: The number of steps.

    Example:
        >>> import gymcore as gym
        >>> envs = DelayObservation(gym.make_vec("CartPole-v1", num_envs=2), delay=1)
        >>> first, infos = envs.reset(seed=1)
        >>> bool((first == 0).all())
        True
        >>> observations, *_ = envs.step([0, 1])
        >>> bool((observations == envs.unwrapped.reset(seed=1)[0]).all())
        True
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], delay: int) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            delay: How many steps late observations are, at least 0.

        Raises:
            ArgumentTypeError: `delay` is no integer (a `TypeError`).
            InvalidArgument: It is negative (a `ValueError`).
        """
        count = check_delay(delay)
        RecordConstructorArgs.__init__(self, delay=delay)
        LaneObservations.__init__(self, env)
        self.delay = count
        single = env.single_observation_space
        self._frames = lane_frames(
            single, env.num_envs, count + 1, zero_element(single), oldest=True
        )

    def _first(self, observations: Any, begun: Mask) -> Any:
        return self._frames.reset(observations, begun)

    def _next(self, observations: Any, begun: Mask, lanes: Lanes | None) -> Any:
        return self._frames.step(observations, begun, lanes)

    def _last(self, observations: Any, mask: Mask, lanes: Lanes | None) -> Any:
        return self._frames.peek(observations, mask, lanes)


class FrameStackObservation(LaneObservations, RecordConstructorArgs):
    """Return the last observations of each lane as one, the newest last.

    Arrays `[num_envs, ...]` become `[num_envs, stack_size, ...]`, also in dicts and tuples; of
    other spaces there are tuples. Stacks of arrays are made by compiled code. They are the caller's
    to keep and to write into; their memory is used again when nobody holds them any more.

    Attributes:
        stack_size: Observations of a stack.
        padding_type: "reset", "zero" or "_custom".

    Example:
        >>> import gymcore as gym
        >>> envs = FrameStackObservation(gym.make_vec("CartPole-v1", num_envs=2), stack_size=4)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations.shape, envs.single_observation_space.shape
        ((2, 4, 4), (4, 4))
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        stack_size: int,
        *,
        padding_type: Any = "reset",
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            stack_size: Observations of a stack, at least 1.
            padding_type: What stands before the first observation of an episode: "reset", that
                observation; "zero", zeros; or an element of the single observation space.

        Raises:
            ArgumentTypeError: `stack_size` is no integer (a `TypeError`).
            InvalidArgument: It is not positive, or the padding is something else (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, stack_size=stack_size, padding_type=padding_type)
        LaneObservations.__init__(self, env)
        single = env.single_observation_space
        count, kind, padding = check_stack(stack_size, padding_type, single)
        self.stack_size, self.padding_type = count, kind
        self.single_observation_space = batch_space(single, count)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._frames = lane_frames(
            single, env.num_envs, count, None if kind == "reset" else padding
        )

    def _first(self, observations: Any, begun: Mask) -> Any:
        return self._frames.reset(observations, begun)

    def _next(self, observations: Any, begun: Mask, lanes: Lanes | None) -> Any:
        return self._frames.step(observations, begun, lanes)

    def _last(self, observations: Any, mask: Mask, lanes: Lanes | None) -> Any:
        return self._frames.peek(observations, mask, lanes)


class TimeAwareObservation(LaneObservations, RecordConstructorArgs):
    """Add the number of steps since its episode began to each lane's observation.

    See `gymcore.wrappers.TimeAwareObservation` for where it goes.

    Attributes:
        flatten: As given.
        normalize_time: As given.
        max_timesteps: Steps of the longest episode.
        timesteps: int32 [num_envs], steps since the episode began. Never changed in place.

    Example:
        >>> import gymcore as gym
        >>> envs = TimeAwareObservation(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=1)
        >>> envs.step([0, 1])[0][:, -1]
        array([1., 1.])
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment, with a time limit: in a `TimeLimit`, of its engine or its
                lanes, or by its spec.
            flatten: Whether to return one array.
            normalize_time: Whether the time is float32 in [0, 1], 1 at the limit, instead of int32.
            dict_time_key: The key of the time in dict observations.

        Raises:
            InvalidArgument: There is no time limit, or the key is taken (a `ValueError`).
        """
        RecordConstructorArgs.__init__(
            self, flatten=flatten, normalize_time=normalize_time, dict_time_key=dict_time_key
        )
        LaneObservations.__init__(self, env)
        self.flatten = flatten
        self.normalize_time = normalize_time
        self.max_timesteps = _max_steps(env)
        self.timesteps = np.zeros(env.num_envs, np.int32)
        self._format = TimeFormat(
            env.single_observation_space,
            self.max_timesteps,
            flatten,
            normalize_time,
            dict_time_key,
        )
        self.single_observation_space = self._format.space
        self.observation_space = batch_space(self._format.space, env.num_envs)

    def _first(self, observations: Any, begun: Mask) -> Any:
        self.timesteps = np.where(begun, np.int32(0), self.timesteps)
        return self._format.join_batch(observations, self.timesteps)

    def _next(self, observations: Any, begun: Mask, lanes: Lanes | None) -> Any:
        times = self._later(lanes)
        times[begun] = 0
        if lanes is None:
            self.timesteps = times
        else:
            self.timesteps = self.timesteps.copy()
            self.timesteps[lanes] = times
        return self._format.join_batch(observations, times)

    def _last(self, observations: Any, mask: Mask, lanes: Lanes | None) -> Any:
        joined = self._format.join_batch(observations, self._later(lanes))
        if isinstance(joined, np.ndarray):
            joined[~mask] = 0
        return joined

    def _later(self, lanes: Lanes | None) -> npt.NDArray[np.int32]:
        return (self.timesteps if lanes is None else self.timesteps[lanes]) + np.int32(1)


def _max_steps(env: VectorEnv[Any, Any, Any]) -> int:
    """Return the time limit of a vector environment."""
    layer: Any = env
    while isinstance(layer, VectorWrapper):
        if isinstance(layer, TimeLimit):
            return layer._max_episode_steps
        layer = layer.env
    # What an engine was made with counts more than the spec, which is that of the id.
    limits: set[Any] = {getattr(layer, "max_episode_steps", None)} - {None}
    if not limits and env.spec is not None:
        limits = {env.spec.max_episode_steps} - {None, -1}
    if not limits:
        limits = _limits_of_lanes(env)
    if len(limits) == 1:
        limit: int = limits.pop()
        return limit
    if limits:
        raise InvalidArgument(
            f"env: expected lanes with one time limit, got those of {sorted(limits)} steps"
        )
    raise InvalidArgument(
        "The environment must be wrapped by a TimeLimit wrapper or the spec specify a "
        "`max_episode_steps`."
    )


def _limits_of_lanes(env: VectorEnv[Any, Any, Any]) -> set[Any]:
    """Return the time limits of single environments within."""
    engine: Any = env.unwrapped
    if not hasattr(engine, "get_attr"):
        return set()
    for name in ("_max_episode_steps", "spec"):
        try:
            found = engine.get_attr(name)
        except (EnvironmentFailed, AttributeError):
            continue
        limits = {getattr(one, "max_episode_steps", one) for one in found} - {None, -1}
        if limits:
            return limits
    return set()


class MaxAndSkipObservation(LaneRepeats, RecordConstructorArgs):
    """Take each action several times, and return the maximum of the last two observations.

    Rewards are added up. A lane whose episode ends earlier rests until the others are done; its
    observation is the maximum of the last two that there were, or the only one.

    Example:
        >>> import gymcore as gym
        >>> envs = MaxAndSkipObservation(gym.make_vec("CartPole-v1", num_envs=2), skip=4)
        >>> _ = envs.reset(seed=123)
        >>> envs.step([1, 0])[1]
        array([4., 4.])
    """

    _maximum = True

    def __init__(self, env: VectorEnv[Any, Any, Any], skip: int = 4) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment; its observations are arrays or numbers, and it can step
                some lanes while others rest.
            skip: How often an action is taken, at least 2.

        Raises:
            ArgumentTypeError: `skip` is no integer (a `TypeError`).
            InvalidArgument: It is less than 2, or observations are no arrays (a `ValueError`).
            UnsupportedMode: The environment steps all lanes or none.
        """
        RecordConstructorArgs.__init__(self, skip=skip)
        VectorWrapper.__init__(self, env)
        count = check_skip(skip, env.single_observation_space)
        LaneRepeats.__init__(self, env, count)
        self._skip = count
