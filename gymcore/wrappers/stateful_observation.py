"""Wrappers whose observations depend on earlier ones.

`gymcore.wrappers.vector.stateful_observation` has the equivalents for vector environments.
"""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import Any, SupportsFloat, cast

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import MAX_COUNT, count
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import (
    ActType,
    Env,
    Info,
    ObservationWrapper,
    ObsType,
    Options,
    Wrapper,
    WrapperObsType,
)
from gymcore.error import InvalidArgument
from gymcore.spaces import Box, Dict, Space, Text, Tuple, flatdim, flatten, flatten_space
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.wrappers.common import TimeLimit
from gymcore.wrappers.utils import (
    KeepsStatistics,
    RunningMeanStd,
    create_zero_array,
    integer,
)
from gymcore_ext.python_envs.infos import copied
from gymcore_ext.wrappers import statistics

__all__ = [
    "DelayObservation",
    "FrameStackObservation",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "TimeAwareObservation",
]


def check_delay(delay: object) -> int:
    """Check the delay of a `DelayObservation`, and return it as an int."""
    count = integer("delay", delay)
    if count < 0:
        raise InvalidArgument(
            f"The delay needs to be greater than zero, actual value: {count} (0 is no delay)"
        )
    if count > MAX_COUNT:
        raise InvalidArgument(f"delay: expected at most {MAX_COUNT}, got {count}")
    return count


def check_stack(stack_size: object, padding_type: object, space: Space) -> tuple[int, str, Any]:
    """Check the arguments of a `FrameStackObservation`; return size, padding type and value."""
    size = integer("stack_size", stack_size)
    if size <= 0:
        raise InvalidArgument(f"The stack_size needs to be greater than zero, actual value: {size}")
    count("stack_size", size, 1, MAX_COUNT)
    if isinstance(padding_type, str) and padding_type in ("reset", "zero"):
        return size, padding_type, create_zero_array(space)
    expected = "expected 'reset', 'zero' or a custom observation space"
    if isinstance(padding_type, str) and not isinstance(space, Text):
        raise InvalidArgument(
            f"Unexpected `padding_type`, {expected}, actual value: {padding_type!r}"
        )
    if padding_type not in space:
        raise InvalidArgument(
            f"Unexpected `padding_type`, {expected}, actual value: {padding_type!r} not an "
            f"instance of env observation ({space})"
        )
    return size, "_custom", deepcopy(padding_type)


def check_skip(skip: object, space: Space) -> int:
    """Check the number of steps of a `MaxAndSkipObservation`, and return it as an int."""
    steps = integer("skip", skip)
    if steps < 2:
        raise InvalidArgument(
            f"The skip value needs to be equal or greater than two, actual value: {steps}"
        )
    if space.shape is None:
        raise InvalidArgument(
            f"The observation space must have the shape attribute. {space} has no maximum"
        )
    return steps


class DelayObservation(ObservationWrapper[ObsType, ActType, ObsType], RecordConstructorArgs):
    """Delay observations by a number of steps; the first ones are zeros.

    The zeros are the result of `create_zero_array` for the observation space.

    Attributes:
        observation_queue: Observations that have not been returned yet.

    Examples:
        >>> import gymcore
        >>> env = DelayObservation(gymcore.make("CartPole-v1"), delay=1)
        >>> env.reset(seed=123)[0]
        array([0., 0., 0., 0.], dtype=float32)
        >>> env.step(0)[0]
        array([ 0.01823519, -0.0446179 , -0.02796401, -0.03156282], dtype=float32)
    """

    def __init__(self, env: Env[ObsType, ActType], delay: int) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            delay: Number of steps by which observations are delayed, at least 0.

        Raises:
            ArgumentTypeError: If `delay` is not an integer.
            InvalidArgument: If `delay` is negative.
        """
        count = check_delay(delay)
        ObservationWrapper.__init__(self, env)
        self.delay = count
        self.observation_queue: deque[ObsType] = deque()

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environment, and clear the queue."""
        self.observation_queue.clear()
        return super().reset(seed=seed, options=options)

    def observation(self, observation: ObsType) -> ObsType:
        """Return the observation of `delay` steps ago."""
        if self.delay == 0:
            return observation
        # A copy: the environment may write its next observation into the original.
        self.observation_queue.append(deepcopy(observation))
        if len(self.observation_queue) > self.delay:
            return self.observation_queue.popleft()
        zeros: ObsType = create_zero_array(self.observation_space)
        return zeros


class TimeAwareObservation(
    ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
):
    """Add the number of steps since the beginning of the episode to observations.

    With `flatten`, if the observation can be flattened, the time is the last element of an array.
    Otherwise a dict observation gets an entry `dict_time_key`, a tuple gets one more element, and
    any other observation becomes `{"obs": observation, "time": time}`.

    Attributes:
        max_timesteps: Maximum number of steps in an episode.
        timesteps: Number of steps in the current episode so far.

    Examples:
        >>> import gymcore
        >>> env = TimeAwareObservation(gymcore.make("CartPole-v1"))
        >>> env.observation_space.high[-1]
        np.float64(500.0)
        >>> _ = env.reset(seed=42)
        >>> env.step(0)[0][-1]
        np.float64(1.0)
    """

    _counts = ("timesteps",)

    def __init__(
        self,
        env: Env[ObsType, ActType],
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment, whose time limit comes from a `TimeLimit` wrapper or its spec.
            flatten: Whether to return one flat array.
            normalize_time: Whether the time is float32 from 0 to 1 (the limit), instead of int32.
            dict_time_key: Key of the time in dict observations.

        Raises:
            InvalidArgument: If there is no time limit, or the observation already has the key.
        """
        ObservationWrapper.__init__(self, env)
        self.flatten = flatten
        self.normalize_time = normalize_time
        self.max_timesteps = _max_steps(env)
        self.timesteps = 0
        self._format = TimeFormat(
            env.observation_space, self.max_timesteps, flatten, normalize_time, dict_time_key
        )
        self.observation_space = cast("Space[WrapperObsType]", self._format.space)

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Add the time to an observation."""
        joined: WrapperObsType = self._format.join(observation, self.timesteps)
        return joined

    def step(self, action: ActType) -> tuple[WrapperObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, and increment the time."""
        self.timesteps += 1
        return super().step(action)

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Reset the environment and the time."""
        self.timesteps = 0
        return super().reset(seed=seed, options=options)


def _max_steps(env: Env) -> int:
    layer = env
    while isinstance(layer, Wrapper):
        if isinstance(layer, TimeLimit):
            return layer._max_episode_steps
        layer = layer.env
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return env.spec.max_episode_steps
    raise InvalidArgument(
        "The environment must be wrapped by a TimeLimit wrapper or the spec specify a "
        "`max_episode_steps`."
    )


class FrameStackObservation(
    Wrapper[WrapperObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Stack the last observations, the newest last.

    All spaces that can be batched are supported: arrays get a new first axis, `[stack_size, ...]`.
    Returned arrays belong to the caller. Observations are copied when they are stored, so an
    environment may reuse its array at every step.

    Attributes:
        padding_type: "reset", "zero" or "_custom".
        padding_value: Value used in place of observations before the first one.
        obs_queue: The last `stack_size` observations.

    Examples:
        >>> import gymcore
        >>> env = FrameStackObservation(gymcore.make("CartPole-v1"), stack_size=3)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, bool((observation[0] == observation[2]).all())
        ((3, 4), True)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        stack_size: int,
        *,
        padding_type: str | ObsType = "reset",
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            stack_size: Number of observations in a stack, at least 1.
            padding_type: Value in place of observations before the first one of an episode: "reset"
                for the first observation, "zero" for zeros, or an element of the observation space.

        Raises:
            ArgumentTypeError: If `stack_size` is not an integer.
            InvalidArgument: If `stack_size` is not positive, or the padding is invalid.
        """
        Wrapper.__init__(self, env)
        single = env.observation_space
        self.stack_size, self.padding_type, self.padding_value = check_stack(
            stack_size, padding_type, single
        )
        self.observation_space = batch_space(single, n=self.stack_size)
        self.obs_queue: deque[ObsType] = deque(
            [self.padding_value] * self.stack_size, maxlen=self.stack_size
        )
        self._buffer = create_empty_array(single, self.stack_size)

    def step(self, action: ActType) -> tuple[WrapperObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, and return the new stack."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.obs_queue.append(deepcopy(observation))
        return self._stack(), reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Reset the environment, and start a new stack."""
        observation, info = self.env.reset(seed=seed, options=options)
        observation = deepcopy(observation)
        if self.padding_type == "reset":
            self.padding_value = observation
        for _ in range(self.stack_size - 1):
            self.obs_queue.append(self.padding_value)
        self.obs_queue.append(observation)
        return self._stack(), info

    def _stack(self) -> WrapperObsType:
        self._buffer = concatenate(self.env.observation_space, self.obs_queue, self._buffer)
        stack: WrapperObsType = deepcopy(self._buffer)
        return stack


class MaxAndSkipObservation(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Take each action several times, and return the maximum of the last two observations.

    Rewards are added up. If the episode ends earlier, the maximum is over the last two observations
    of this step, or the only one. Gymnasium then includes an older observation of its buffer, or
    zeros.

    Examples:
        >>> import gymcore
        >>> env = MaxAndSkipObservation(gymcore.make("CartPole-v1"), skip=4)
        >>> _ = env.reset(seed=123)
        >>> env.step(1)[1]
        4.0
    """

    def __init__(self, env: Env[ObsType, ActType], skip: int = 4) -> None:
        """Wrap `env`.

        Args:
            env: The environment, whose observations are arrays or numbers.
            skip: Number of times that an action is taken, at least 2.

        Raises:
            ArgumentTypeError: If `skip` is not an integer.
            InvalidArgument: If `skip` is less than 2, or observations are not arrays.
        """
        Wrapper.__init__(self, env)
        self._skip = check_skip(skip, env.observation_space)
        space = env.observation_space
        self._obs_buffer = np.zeros((2, *(space.shape or ())), dtype=space.dtype)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Take the action `skip` times, or until the episode ends."""
        total_reward = 0.0
        terminated = truncated = False
        info: Info = {}
        last_two = self._obs_buffer
        for k in range(self._skip):
            observation, reward, terminated, truncated, info = self.env.step(copied(action))
            last_two[k % 2] = observation
            total_reward += float(reward)
            if terminated or truncated:
                break
        if k == 0:
            last_two[1] = last_two[0]
        highest = cast("ObsType", np.maximum(last_two[0], last_two[1]))
        return highest, total_reward, terminated, truncated, info


class NormalizesObservations(KeepsStatistics):
    """A mixin with the parts of `NormalizeObservation` shared by single and vector environments."""

    _statistics_name = "obs_rms"
    obs_rms: RunningMeanStd

    def _begin_normalizing(self, space: Space, epsilon: float) -> Box:
        """Initialize the statistics for `space`; return the space of normalized observations."""
        if space.shape is None:
            raise InvalidArgument(
                "NormalizeObservation wrapper requires the observation space to have a shape."
            )
        self._begin_statistics(epsilon, space.shape, np.float32)
        return Box(-np.inf, np.inf, space.shape, np.float32)

    def _normalize(self, observations: object) -> npt.NDArray[np.float32]:
        """Add a batch of observations to the statistics, and return the normalized batch."""
        rms, update = self.obs_rms, self.update_running_mean
        if type(rms) is RunningMeanStd:
            # Compiled code for float arrays, which avoids NumPy's ten temporary arrays and calls.
            result = statistics.normalize_observations(
                observations, rms.mean, rms.var, rms.count, self.epsilon, update
            )
            if result is not None:
                normalized, rms.mean, rms.var = result
                rms.count += len(normalized) if update else 0
                return normalized
        observations = np.asarray(observations)
        if update:
            rms.update(observations)
        scaled: np.ndarray = (observations - rms.mean) / np.sqrt(rms.var + self.epsilon)
        return scaled.astype(np.float32)


class NormalizeObservation(
    NormalizesObservations,
    ObservationWrapper[WrapperObsType, ActType, ObsType],
    RecordConstructorArgs,
):
    """Normalize observations to mean 0 and variance 1 over all observations so far.

    Each observation, including the first and the last of an episode, is added to the statistics
    once and then normalized with them: `(observation - mean) / sqrt(var + epsilon)`, float32.

    Attributes:
        obs_rms: The statistics, a `RunningMeanStd`: float32, or float64 if observations are
            float64 or integers.
        update_running_mean: Whether observations update the statistics.

    Examples:
        >>> import gymcore
        >>> env = NormalizeObservation(gymcore.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> env.update_running_mean = False  # from here on they are only used
        >>> saved = env.get_statistics()
        >>> other = NormalizeObservation(gymcore.make("CartPole-v1"))
        >>> other.set_statistics(saved)
        >>> other.obs_rms.count
        1.0001
    """

    def __init__(self, env: Env[ObsType, ActType], epsilon: float = 1e-8) -> None:
        """Wrap `env`.

        Args:
            env: The environment, whose observation space must have a shape.
            epsilon: Positive number that is added to the variance.

        Raises:
            InvalidArgument: If the observation space has no shape.
            InvalidBound: If `epsilon` is not positive.
        """
        ObservationWrapper.__init__(self, env)
        space = self._begin_normalizing(env.observation_space, epsilon)
        self.observation_space = cast("Space[WrapperObsType]", space)

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Add an observation to the statistics, and return the normalized observation.

        Returns:
            A float32 array of the same shape, owned by the caller.
        """
        normalized: WrapperObsType = self._normalize(np.asarray(observation)[None])[0]
        return normalized


class TimeFormat:
    """The way in which `TimeAwareObservation` adds the time to observations; see there.

    Attributes:
        space: Space of an observation with the time.

    Examples:
        >>> from gymcore.spaces import Box
        >>> TimeFormat(Box(0, 9, (2,)), max_steps=50, flat=True, normalize=True).space.high
        array([9., 9., 1.], dtype=float32)
    """

    def __init__(
        self,
        space: Space,
        max_steps: int,
        flat: bool,
        normalize: bool,
        dict_key: str = "time",
    ) -> None:
        """Build the space of observations of `space` with the time.

        Raises:
            InvalidArgument: If the observation already has the key.
        """
        self._single = space
        self._max_steps = max_steps
        self._normalize = normalize
        time: Space = Box(0, 1) if normalize else Box(0, max_steps, dtype=np.int32)
        self._key = dict_key
        if isinstance(space, Dict):
            if dict_key in space.spaces:
                raise InvalidArgument(
                    f"The `dict_time_key` ({dict_key!r}) already exists in the observation space."
                )
            self._joined: Dict | Tuple = Dict(
                {dict_key: time, **space.spaces}, sort_keys=space.sort_keys
            )
        elif isinstance(space, Tuple):
            self._joined = Tuple((*space.spaces, time))
        else:
            self._joined = Dict(obs=space, time=time)
        self._flat = bool(flat)
        self._size = flatdim(space) if isinstance(space, Box) else 0
        # Still a dict or tuple if a part (a sequence or a graph) cannot be flattened.
        self.space: Space = flatten_space(self._joined) if flat else self._joined

    def _put(self, observation: Any, time: object) -> object:
        if isinstance(self._single, Dict):
            return {self._key: time, **observation}
        if isinstance(self._single, Tuple):
            return (*observation, time)
        return {"obs": observation, "time": time}

    def join(self, observation: object, steps: int) -> Any:
        """Add the time to one observation."""
        if self._normalize:
            time = np.array([steps / self._max_steps], dtype=np.float32)
        else:
            time = np.array([steps], dtype=np.int32)
        joined = self._put(observation, time)
        return flatten(self._joined, joined) if self._flat else joined

    def join_batch(self, observations: Any, steps: npt.NDArray[np.int32]) -> object:
        """Add the times to a batch of observations."""
        n = len(steps)
        times = steps
        if self._normalize:
            times = (steps / self._max_steps).astype(np.float32)
        if not self._flat:
            return self._in_space_order(self._put(observations, times.copy().reshape(n, 1)))
        if isinstance(self._single, Box):
            size = self._size
            flat = np.empty((n, size + 1), self.space.dtype)
            flat[:, :size] = observations.reshape(n, size)
            flat[:, size] = times
            return flat
        rows = [
            self.join(row, int(time))
            for row, time in zip(
                iterate(batch_space(self._single, n), observations), steps, strict=True
            )
        ]
        return concatenate(self.space, rows, create_empty_array(self.space, n))

    def _in_space_order(self, joined: object) -> object:
        """Return a dict with its keys in the order of the space, as in batches of it."""
        if isinstance(joined, dict):
            return {key: joined[key] for key in self._joined.spaces}
        return joined
