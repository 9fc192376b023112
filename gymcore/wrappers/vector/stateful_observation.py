"""Vector wrappers whose observations depend on earlier ones.

Each applies the wrapper of the same name in `gymcore.wrappers.stateful_observation` to every lane,
in every autoreset mode and with masked resets. In SAME_STEP, the final observations in the infos
equal the observations that this wrapper would return at the end of the episode.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import lane_indices, split_reset_mask
from gymcore.base.nested import map_leaves
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Info, Options
from gymcore.error import EnvironmentFailed, InvalidArgument
from gymcore.spaces import Space
from gymcore.spaces.layouts import Layout, layout_of, map_layout
from gymcore.vector.final_observations import (
    change_final_observations,
    final_batch,
    put_final_batch,
)
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.vector.vector_env import (
    ArrayType,
    EnvIds,
    Seeds,
    VectorEnv,
    VectorObservationWrapper,
    VectorStep,
    VectorWrapper,
)
from gymcore.wrappers.stateful_observation import (
    NormalizesObservations,
    TimeFormat,
    check_delay,
    check_skip,
    check_stack,
)
from gymcore.wrappers.utils import (
    Array,
    create_zero_array,
)
from gymcore.wrappers.vector.common import TimeLimit
from gymcore.wrappers.vector.lanes import Lanes, LaneWrapper, Mask
from gymcore.wrappers.vector.stateful_action import LaneRepeats
from gymcore_ext.wrappers.frame_stack import BEGIN, KEEP, PEEK, FrameMemory

__all__ = [
    "DelayObservation",
    "FrameStackObservation",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "TimeAwareObservation",
]


# What to do with each lane: ADD, BEGIN, KEEP or PEEK; or a mask of those that begin an episode.
Changes = npt.NDArray[np.uint8] | npt.NDArray[np.bool_]


class LaneObservations(LaneWrapper):
    """Base class of wrappers whose observations depend on earlier ones of the same lane."""

    def _next(self, observations: object, begun: Mask, lanes: Lanes | None) -> object:
        """Return the observations after a step; `begun` marks lanes with a new episode."""
        raise NotImplementedError

    def _last(self, observations: object, mask: Mask, lanes: Lanes | None) -> object:
        """Return the final observations; called before `_next` for the same step."""
        raise NotImplementedError

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Step the environments; see `VectorEnv.step`."""
        results, lanes = self._step(actions, env_ids)
        observations, rewards, terminations, truncations, infos = results
        begun, _ = self._episodes.step(terminations, truncations, lanes)
        if "final_obs" in infos:
            mask = infos["_final_obs"]
            change_final_observations(
                infos,
                observations,
                self.env,
                lambda batch: self._last(batch, mask, lanes),
                batch_space(self.single_observation_space, len(mask)),
            )
        changed = self._next(observations, begun, lanes)
        return changed, rewards, terminations, truncations, infos


def lane_frames(
    space: Space, num_envs: int, depth: int, padding: object = None, *, oldest: bool = False
) -> FrameMemory | _ObjectFrames | _PartFrames:
    """Return a memory for the last observations of each lane.

    Arrays, also nested in dicts and tuples, are stored and stacked by compiled code; all other
    values by Python code.

    Args:
        space: The space of single observations.
        num_envs: Number of lanes.
        depth: Number of observations in a stack.
        padding: Value in place of observations before the first one; None for the first one.
        oldest: Whether to return the oldest observation of each stack instead of the stack.

    Examples:
        >>> import numpy as np
        >>> from gymcore.spaces import Discrete
        >>> from gymcore_ext.wrappers.frame_stack import ADD, BEGIN
        >>> frames = lane_frames(Discrete(9), num_envs=2, depth=3, padding=np.int64(0))
        >>> frames.update(np.array([5, 6]), np.array([BEGIN, BEGIN], np.uint8)).tolist()
        [[0, 0, 5], [0, 0, 6]]
        >>> frames.update(np.array([7, 8]), np.array([ADD, BEGIN], np.uint8)).tolist()
        [[0, 5, 7], [0, 0, 8]]
    """

    def make(part: Layout, padding: object = None) -> _ObjectFrames | FrameMemory:
        if part[0] == "objects":
            return _ObjectFrames(part[1].space, num_envs, depth, padding, oldest)
        _, dtype, shape = part
        if dtype.kind not in "biufc" or not dtype.isnative:
            raise error.InvalidArgument(f"space: expected arrays of numbers, got {dtype}")
        return FrameMemory(
            num_envs, depth, shape, dtype, padding=padding, oldest=oldest, errors=error
        )

    paddings = () if padding is None else (padding,)
    frames = map_layout(make, layout_of(space), *paddings)
    return _PartFrames(frames) if isinstance(frames, (dict, tuple)) else frames


class _PartFrames:
    """A `FrameMemory` for a dict or tuple space, with a separate memory for each part."""

    def __init__(self, parts: object) -> None:
        self._parts = parts

    def update(self, observations: object, changes: Changes, lanes: Lanes | None = None) -> object:
        return map_leaves(
            lambda frames, batch: frames.update(batch, changes, lanes), self._parts, observations
        )

    def copy_lanes(self, source: Lanes, target: Lanes) -> None:
        map_leaves(lambda frames, _: frames.copy_lanes(source, target), self._parts, self._parts)


class _ObjectFrames:
    """A `FrameMemory` for values that do not fit into an array: one list per lane."""

    def __init__(
        self, space: Space, num_envs: int, depth: int, padding: object, oldest: bool
    ) -> None:
        self._space = space
        self._stacked = batch_space(space, depth)
        self._depth = depth
        self._padding = padding
        self._oldest = oldest
        self._frames: list[list[object]] = [[] for _ in range(num_envs)]

    def update(self, observations: object, changes: Changes, lanes: Lanes | None = None) -> object:
        chosen = range(len(self._frames)) if lanes is None else lanes.tolist()
        items = iterate(batch_space(self._space, len(chosen)), observations)
        stacks = []
        for lane, item, change in zip(chosen, items, changes.tolist(), strict=True):
            stack = self._frames[lane]
            if change == BEGIN:
                frame = deepcopy(item)
                before = frame if self._padding is None else self._padding
                stack = [*[before] * (self._depth - 1), frame]
            elif change != KEEP:
                stack = [*stack[1:], deepcopy(item)]
            if change != PEEK:
                self._frames[lane] = stack
            stacks.append(stack)
        return self._batch(stacks)

    def copy_lanes(self, source: Lanes, target: Lanes) -> None:
        stacks = [self._frames[lane] for lane in source]
        for lane, stack in zip(target, stacks, strict=True):
            self._frames[lane] = stack

    def _batch(self, frames: list[list[object]]) -> object:
        """Return stacks, or their oldest observations, as a batch that the caller owns."""
        space, rows = self._space, [stack[0] for stack in frames]
        if not self._oldest:
            rows = [
                concatenate(space, stack, create_empty_array(space, self._depth))
                for stack in frames
            ]
            space = self._stacked
        return deepcopy(concatenate(space, rows, create_empty_array(space, len(rows))))


class _FrameObservations(LaneObservations, RecordConstructorArgs):
    """Base class of wrappers that return the result of the memory `_frames`."""

    _lane_arrays = ()
    _frames: FrameMemory | _ObjectFrames | _PartFrames

    def copy_lanes(self, source: EnvIds, target: EnvIds) -> None:
        """Copy environments and their frames; see `VectorEnv.copy_lanes`."""
        super().copy_lanes(source, target)
        lanes = (lane_indices(x, self.num_envs, distinct=False) for x in (source, target))
        self._frames.copy_lanes(*lanes)

    def _begin(self, observations: object, begun: Mask) -> object:
        return self._frames.update(observations, np.where(begun, np.uint8(BEGIN), np.uint8(KEEP)))

    def _next(self, observations: object, begun: Mask, lanes: Lanes | None) -> object:
        return self._frames.update(observations, begun, lanes)

    def _last(self, observations: object, mask: Mask, lanes: Lanes | None) -> object:
        changes = np.where(mask, np.uint8(PEEK), np.uint8(KEEP))
        return self._frames.update(observations, changes, lanes)


class DelayObservation(_FrameObservations):
    """Delay observations by a number of steps; the first ones are zeros.

    Examples:
        >>> import gymcore as gym
        >>> envs = DelayObservation(gym.make_vec("CartPole-v1", num_envs=2), delay=1)
        >>> first, infos = envs.reset(seed=1)
        >>> bool((first == 0).all())
        True
        >>> observations, *_ = envs.step([0, 1])
        >>> bool((observations == envs.unwrapped.reset(seed=1)[0]).all())
        True
    """

    def __init__(self, env: VectorEnv, delay: int) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.DelayObservation`."""
        count = check_delay(delay)
        LaneObservations.__init__(self, env)
        self.delay = count
        single = env.single_observation_space
        self._frames = lane_frames(
            single, env.num_envs, count + 1, create_zero_array(single), oldest=True
        )


class FrameStackObservation(_FrameObservations):
    """Stack the last observations of each lane, the newest last.

    Arrays `[num_envs, ...]` become `[num_envs, stack_size, ...]`, also in dicts and tuples; other
    values become tuples. Stacks of arrays are made by compiled code. The caller may keep and change
    them; their memory is reused once nothing refers to it.

    Examples:
        >>> import gymcore as gym
        >>> envs = FrameStackObservation(gym.make_vec("CartPole-v1", num_envs=2), stack_size=4)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations.shape, envs.single_observation_space.shape
        ((2, 4, 4), (4, 4))
    """

    def __init__(
        self,
        env: VectorEnv,
        stack_size: int,
        *,
        padding_type: object = "reset",
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.FrameStackObservation`."""
        LaneObservations.__init__(self, env)
        single = env.single_observation_space
        count, kind, padding = check_stack(stack_size, padding_type, single)
        self.stack_size, self.padding_type = count, kind
        self.single_observation_space = batch_space(single, count)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._frames = lane_frames(
            single, env.num_envs, count, None if kind == "reset" else padding
        )


class TimeAwareObservation(LaneObservations, RecordConstructorArgs):
    """Add the number of steps since the beginning of the episode to each lane's observation.

    See `gymcore.wrappers.TimeAwareObservation` for the forms of the result.

    Attributes:
        max_timesteps: Maximum number of steps in an episode.
        timesteps: Steps in the current episodes so far, int32 [num_envs]. Never changed in place.

    Examples:
        >>> import gymcore as gym
        >>> envs = TimeAwareObservation(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=1)
        >>> envs.step([0, 1])[0][:, -1]
        array([1., 1.])
    """

    _lane_arrays = ("timesteps",)

    def __init__(
        self,
        env: VectorEnv,
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.TimeAwareObservation`."""
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

    def _begin(self, observations: object, begun: Mask) -> object:
        self.timesteps = np.where(begun, np.int32(0), self.timesteps)
        return self._format.join_batch(observations, self.timesteps)

    def _next(self, observations: object, begun: Mask, lanes: Lanes | None) -> object:
        times = self._next_times(lanes)
        times[begun] = 0
        if lanes is None:
            self.timesteps = times
        else:
            self.timesteps = self.timesteps.copy()
            self.timesteps[lanes] = times
        return self._format.join_batch(observations, times)

    def _last(self, observations: object, mask: Mask, lanes: Lanes | None) -> object:
        return self._format.join_batch(observations, self._next_times(lanes))

    def _next_times(self, lanes: Lanes | None) -> npt.NDArray[np.int32]:
        """Return the times after a step of these lanes (None: of all), without storing them."""
        return (self.timesteps if lanes is None else self.timesteps[lanes]) + np.int32(1)


def _max_steps(env: VectorEnv) -> int:
    """Return the time limit of a vector environment."""
    layer = env
    while isinstance(layer, VectorWrapper):
        if isinstance(layer, TimeLimit):
            return layer._max_episode_steps
        layer = layer.env
    # The limit that the engine was made with takes precedence over the one in the id's spec.
    limit = getattr(layer, "max_episode_steps", None)
    if limit is None and env.spec is not None and env.spec.max_episode_steps != -1:
        limit = env.spec.max_episode_steps
    limits = _limits_of_lanes(env) if limit is None else {limit}
    if len(limits) == 1:
        return int(limits.pop())
    if limits:
        raise InvalidArgument(
            f"env: expected lanes with one time limit, got those of {sorted(limits)} steps"
        )
    raise InvalidArgument(
        "The environment must be wrapped by a TimeLimit wrapper or the spec specify a "
        "`max_episode_steps`."
    )


def _limits_of_lanes(env: VectorEnv) -> set[int]:
    """Return the time limits of the single environments in a vector environment."""
    engine = env.unwrapped
    if not hasattr(engine, "get_attr"):
        return set()
    for name in ("_max_episode_steps", "spec"):
        try:
            values = engine.get_attr(name)
        except (EnvironmentFailed, AttributeError):
            continue
        limits = {getattr(value, "max_episode_steps", value) for value in values} - {None, -1}
        if limits:
            return limits
    return set()


class MaxAndSkipObservation(LaneRepeats, RecordConstructorArgs):
    """Take each action several times, and return the maximum of the last two observations.

    Rewards are added up. A lane whose episode ends earlier is not stepped until the others are
    done; its observation is the maximum of its last two in this step, or the only one.

    Examples:
        >>> import gymcore as gym
        >>> envs = MaxAndSkipObservation(gym.make_vec("CartPole-v1", num_envs=2), skip=4)
        >>> _ = envs.reset(seed=123)
        >>> envs.step([1, 0])[1]
        array([4., 4.])
    """

    _lane_arrays = ("_last",)
    _maximum = True

    def __init__(self, env: VectorEnv, skip: int = 4) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.MaxAndSkipObservation`.

        Raises:
            UnsupportedMode: If the environment cannot step some of its lanes only.
        """
        VectorWrapper.__init__(self, env)
        count = check_skip(skip, env.single_observation_space)
        LaneRepeats.__init__(self, env, count)
        self._skip = count


class NormalizeObservation(
    NormalizesObservations,
    VectorObservationWrapper[npt.NDArray[np.float32], ActType, Array, ArrayType],
    RecordConstructorArgs,
):
    """Normalize observations to mean 0 and variance 1 over all observations so far.

    Every observation of every lane is added to the statistics once, in each autoreset mode, and
    then normalized with them: `(observation - mean) / sqrt(var + epsilon)`, float32. The
    observations of a step are added together. In SAME_STEP they include the final observations of
    the lanes that ended; the first ones of the new episodes are added afterwards, as if these lanes
    had been reset. After a masked reset only the lanes that were reset are added; the rows of other
    lanes are the last ones returned. In worlds of several agents, the zeros of agents that have
    ended before their world are added, too.

    Attributes:
        obs_rms: The statistics, a `RunningMeanStd` of the shape of one lane's observation: float32,
            or float64 if observations are float64 or integers.
        update_running_mean: Whether observations update the statistics.

    Examples:
        >>> import gymcore as gym
        >>> envs = NormalizeObservation(gym.make_vec("CartPole-v1", num_envs=4))
        >>> observations, infos = envs.reset(seed=1)
        >>> bool((abs(observations.mean(axis=0)) < 1e-3).all()), observations.dtype
        (True, dtype('float32'))
        >>> envs.update_running_mean = False  # from here on they are only used
        >>> envs.get_statistics()["count"]
        4.0001
    """

    def __init__(self, env: VectorEnv[Array, ActType, ArrayType], epsilon: float = 1e-8) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.NormalizeObservation`."""
        VectorObservationWrapper.__init__(self, env)
        self.single_observation_space = self._begin_normalizing(
            env.single_observation_space, epsilon
        )
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._last: npt.NDArray[np.float32] | None = None

    def reset(
        self, *, seed: Seeds = None, options: Options = None
    ) -> tuple[npt.NDArray[np.float32], Info]:
        """Reset, and return normalized observations; see `VectorEnv.reset`."""
        _, mask = split_reset_mask(options, self.env.num_envs)
        observations, infos = self.env.reset(seed=seed, options=options)
        if mask is None or self._last is None or mask.all():
            self._last = self.observations(observations)
        else:
            self._last = self._with_rows(self._last, mask, observations)
        return self._last, infos

    def step(self, actions: ActType) -> VectorStep[npt.NDArray[np.float32], ArrayType]:
        """Step, and return normalized observations; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            last = self.observations(final_batch(infos, observations, self.env))
            put_final_batch(infos, last, self.observation_space)
            self._last = self._with_rows(last, infos["_final_obs"], observations)
        else:
            self._last = self._normalize(observations)
        return self._last, rewards, terminations, truncations, infos

    def _with_rows(
        self, last: npt.NDArray[np.float32], mask: Mask, observations: object
    ) -> npt.NDArray[np.float32]:
        """Return a copy of `last` with the normalized observations in the rows of the mask."""
        result = last.copy()
        result[mask] = self.observations(np.asarray(observations)[mask])
        return result

    def observations(self, observations: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Add a batch of observations to the statistics, and return the normalized batch.

        Returns:
            A float32 array of the same shape, owned by the caller.
        """
        return self._normalize(observations)
