"""Vector wrappers that repeat actions.

Each applies the wrapper of the same name in `gymcore.wrappers.stateful_action` to every lane, in
every autoreset mode and with masked resets.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.base import seeding
from gymcore.base.arguments import lane_indices, seeds_per_env
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import Info, Options
from gymcore.error import UnsupportedMode
from gymcore.vector.final_observations import replace_final_obs
from gymcore.vector.utils import create_empty_array
from gymcore.vector.vector_env import EnvIds, Seeds, VectorStep
from gymcore.wrappers.stateful_action import check_repeats, check_sticky
from gymcore.wrappers.utils import Array
from gymcore.wrappers.vector.lanes import BatchIndexer, Lanes, LaneWrapper, Mask, join_infos

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["RepeatAction", "StickyAction"]


class LaneRepeats(LaneWrapper):
    """Base class of `RepeatAction` and `MaxAndSkipObservation`.

    A lane whose episode has ended is not stepped until the other lanes have finished repeating.
    """

    _lane_arrays: tuple[str, ...] | None = ()
    _maximum = False  # whether observations are the maximum of the last two

    def __init__(self, env: VectorEnv, times: int) -> None:
        """Wrap `env`; raise `UnsupportedMode` if it cannot step some lanes only."""
        super().__init__(env)
        if times > 1 and not env.steps_some_lanes:
            raise UnsupportedMode(
                f"{type(self).__name__}: expected an environment that can step some of its lanes "
                "while others, whose episodes have ended, wait (`steps_some_lanes`); "
                f"{env} cannot. Apply {type(self).__name__} directly to the engine, before "
                "wrappers that change whole batches"
            )
        self._times = times
        self._actions = BatchIndexer(env.single_action_space)
        self._observations = BatchIndexer(env.single_observation_space)
        # The last returned observations, for the lanes that a masked reset does not reset.
        self._last: Array | None = None
        if self._maximum:
            self._last = np.array(create_empty_array(env.single_observation_space, env.num_envs))

    def _begin(self, observations: object, begun: Mask) -> object:
        if self._last is not None:
            if not begun.all():
                observations = self._observations.choose(begun, observations, self._last)
            self._last[:] = observations
        return observations

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Take the actions several times, in each lane until its episode ends.

        Returns:
            As `VectorEnv.step`: rewards are summed; all other results are those of the lane's last
            step. With next-step autoreset, a lane that begins an episode is only reset.
        """
        lanes = None if env_ids is None else lane_indices(env_ids, self.num_envs, "env_ids")
        reset_only = self._reset_only(lanes)
        (observations, rewards, terminated, truncated, infos), _ = self._step(actions, lanes)
        if self._maximum and "final_obs" in infos:
            self._raise_final(infos, observations.dtype, None)
        going = ~(terminated | truncated | reset_only)
        previous = None  # observations of the step before
        times = self._times
        while times > 1 and lanes is None and going.all():
            # Copy only the results that change.
            previous = np.array(observations) if self._maximum else None
            rewards = rewards.copy()
            observations, more, terminated, truncated, infos = self.env.step(actions)
            rewards += more
            ended = terminated | truncated
            if previous is not None:
                self._end_previous(previous, observations, ended, infos)
            going = ~ended
            times -= 1
        if times > 1 and going.any():
            observations = self._observations.copy(observations)
            rewards, terminated, truncated = map(np.array, (rewards, terminated, truncated))
            if self._maximum and previous is None:
                previous = observations.copy()
            results = observations, rewards, terminated, truncated
            observations, infos = self._repeat(
                actions, lanes, going, results, infos, times, previous
            )
        if previous is not None:
            observations = np.maximum(observations, previous)
        self._episodes.step(terminated, truncated, lanes)
        if self._last is not None:
            self._last[slice(None) if lanes is None else lanes] = observations
        return observations, rewards, terminated, truncated, infos

    def _repeat(
        self,
        actions: object,
        lanes: Lanes | None,
        going: Mask,
        results: tuple[Array, Array, Array, Array],
        infos: Info,
        times: int,
        previous: Array | None,
    ) -> tuple[object, Info]:
        """Take the actions again in the rows in `going`, and update the results in place.

        Returns:
            The observations and the infos.
        """
        observations, rewards, terminated, truncated = results
        count = len(going)
        all_infos: list[tuple[Info, Lanes]] = [(infos, np.arange(count))]
        last_infos = np.zeros(count, np.intp)  # index into `all_infos` for each row
        for k in range(1, times):
            rows = np.flatnonzero(going)
            if not rows.size:
                break
            ids = rows if lanes is None else lanes[rows]
            part = self.env.step_lanes(self._actions.take(actions, rows), ids)
            ended = part[2] | part[3]
            if previous is not None:
                before = observations[rows]
                self._end_previous(before, part[0], ended, part[4])
                previous[rows] = before
            observations = self._observations.put(observations, rows, part[0])
            rewards[rows] += part[1]
            terminated[rows], truncated[rows] = part[2], part[3]
            last_infos[rows] = k
            all_infos.append((part[4], rows))
            going[rows[ended]] = False
        return observations, self._merge_infos(all_infos, last_infos, lanes)

    def _end_previous(self, previous: Array, observations: Array, ended: Mask, infos: Info) -> None:
        """Discard the previous observations of rows that have begun another episode."""
        if "final_obs" in infos:
            self._raise_final(infos, previous.dtype, previous)
            previous[ended] = observations[ended]

    def _raise_final(self, infos: Info, dtype: np.dtype | None, before: Array | None) -> None:
        """Replace final observations by their maximum with the ones before, if given."""
        higher = infos["final_obs"].copy()
        for i in np.flatnonzero(infos["_final_obs"]).tolist():
            last = np.asarray(higher[i], dtype)
            higher[i] = np.maximum(last, last if before is None else before[i])
        replace_final_obs(infos, higher)

    def _merge_infos(
        self,
        all_infos: list[tuple[Info, Lanes]],
        last_infos: npt.NDArray[np.intp],
        lanes: Lanes | None,
    ) -> Info:
        """Return one dict with the infos of each row's last step."""
        parts = []
        for k, (infos, rows) in enumerate(all_infos):
            infos.pop("env_id", None)
            is_last = last_infos[rows] == k
            if is_last.any():
                parts.append((infos, np.flatnonzero(is_last), rows[is_last]))
        joined = parts[0][0] if len(parts) == 1 else join_infos(parts, len(last_infos))
        if lanes is not None:
            joined["env_id"] = lanes.copy()
        return joined


class LaneStreams:
    """Random generators of the lanes: the environments' own if they are in this process.

    An environment's own generator is advanced by the draws. Other lanes (of `AsyncVectorEnv`, which
    could only provide copies) get separate generators, seeded with the seeds of `reset`.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> _ = envs.reset(seed=5)
        >>> state = envs.np_random[1].bit_generator.state
        >>> _ = LaneStreams(envs).of([1])[0].uniform()
        >>> envs.np_random[1].bit_generator.state == state
        False
    """

    def __init__(self, env: VectorEnv) -> None:
        self._env = env
        self._streams: dict[int, np.random.Generator] = {}

    def of(self, lanes: list[int]) -> list[np.random.Generator]:
        """Return the generators of the given lanes."""
        generators = self._env.lane_generators(lanes)
        if generators is not None:
            return generators
        for lane in lanes:
            if lane not in self._streams:
                self._streams[lane] = seeding.np_random()[0]
        return [self._streams[lane] for lane in lanes]

    def copy(self, source: Lanes, target: Lanes) -> None:
        """Copy separate generators; the environments copy their own."""
        if self._env.lane_generators(()) is None:
            self._streams.update(
                zip(target.tolist(), map(deepcopy, self.of(source.tolist())), strict=True)
            )

    def seed(self, seeds: Sequence[int | None], lanes: Mask) -> None:
        """Seed separate generators after a reset, in which environments have seeded their own."""
        if self._env.lane_generators(()) is not None:
            return
        for lane in np.flatnonzero(lanes).tolist():
            if seeds[lane] is not None:
                self._streams[lane] = seeding.np_random(seeds[lane])[0]


class RepeatAction(LaneRepeats, RecordConstructorArgs):
    """Take each action several times, and add up the rewards.

    A lane whose episode ends earlier is not stepped until the others are done.

    Examples:
        >>> import gymcore as gym
        >>> envs = RepeatAction(gym.make_vec("CartPole-v1", num_envs=2), num_repeats=3)
        >>> _ = envs.reset(seed=123)
        >>> envs.step([1, 0])[1]
        array([3., 3.])
    """

    def __init__(self, env: VectorEnv, num_repeats: int) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.RepeatAction`.

        Raises:
            UnsupportedMode: If the environment cannot step some of its lanes only.
        """
        count = check_repeats(num_repeats)
        LaneRepeats.__init__(self, env, count)
        self.num_repeats = count


class StickyAction(LaneWrapper, RecordConstructorArgs):
    """Repeat the last action at random in some lanes, instead of taking the given one.

    Random numbers come from each lane's own `np_random`, so a lane behaves as with the single
    wrapper. If environments are in other processes, or all lanes share one generator, this is not
    possible: the wrapper then has one generator per lane, seeded with the seeds of `reset`.

    Attributes:
        repeat_action_duration_range: Minimum and maximum number of steps that an action is
            repeated.
        last_action: Batch of the last actions taken; None before the first.
        is_sticky_actions: Whether the next action will be a repetition, bool [num_envs].
        num_repeats: Total number of steps of the current repetition, int64 [num_envs].
        repeats_taken: Number of these steps taken so far, int64 [num_envs].

    Examples:
        >>> import gymcore as gym
        >>> envs = StickyAction(gym.make_vec("CartPole-v1", num_envs=3), 0.9)
        >>> _ = envs.reset(seed=123)
        >>> _ = [envs.step([action] * 3) for action in (1, 0, 0)]
        >>> envs.last_action
        array([1, 0, 1])
    """

    _lane_arrays = ("is_sticky_actions", "num_repeats", "repeats_taken", "_acted")

    def __init__(
        self,
        env: VectorEnv,
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.StickyAction`."""
        durations = check_sticky(repeat_action_probability, repeat_action_duration)
        LaneWrapper.__init__(self, env)
        self.repeat_action_probability = repeat_action_probability
        self.repeat_action_duration_range = durations
        n = env.num_envs
        self.last_action: object = None
        self.is_sticky_actions = np.zeros(n, np.bool_)
        self.num_repeats = np.zeros(n, np.int64)
        self.repeats_taken = np.zeros(n, np.int64)
        self._acted = np.zeros(n, np.bool_)  # lanes that have a last action
        self._rows = BatchIndexer(env.single_action_space)
        self._streams = LaneStreams(env)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[Any, Info]:
        """Reset the environments, and clear their last actions; see `VectorEnv.reset`."""
        results: tuple[object, Info] = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        self._clear_last_actions(np.flatnonzero(begun))
        self._streams.seed(seeds_per_env(seed, self.num_envs), begun)
        return results

    def copy_lanes(self, source: EnvIds, target: EnvIds) -> None:
        """Copy environments, their last actions and repetitions; see `VectorEnv.copy_lanes`."""
        super().copy_lanes(source, target)
        originals, copies = (
            lane_indices(x, self.num_envs, distinct=False) for x in (source, target)
        )
        if self.last_action is not None:
            rows = self._rows.take(self.last_action, originals)
            self.last_action = self._rows.put(self.last_action, copies, rows)
        self._streams.copy(originals, copies)

    def _clear_last_actions(self, lanes: Lanes) -> None:
        self._acted[lanes] = self.is_sticky_actions[lanes] = False
        self.num_repeats[lanes] = self.repeats_taken[lanes] = 0

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Step with the given actions, or the last ones where they repeat; see `VectorEnv.step`.

        Args:
            actions: One row per stepped lane; not changed.
            env_ids: Lanes to step, if the wrapped environment supports this; None for all.
        """
        if env_ids is None:
            lanes = np.arange(self.num_envs)
        else:
            env_ids = lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        self._rows.check_actions(actions, len(lanes))
        before = self.is_sticky_actions.copy(), self.num_repeats.copy(), self.repeats_taken.copy()
        actions_taken, acting = self._choose_actions(actions, lanes)
        try:
            results, _ = self._step(actions_taken, env_ids)
        except BaseException:
            self.is_sticky_actions, self.num_repeats, self.repeats_taken = before
            raise
        self._remember(actions_taken, lanes, acting)
        episodes = self._episodes
        begun, _ = episodes.step(results[2], results[3], None if env_ids is None else lanes)
        if begun.any():
            self._clear_last_actions(lanes[begun])
        return results

    def _choose_actions(self, actions: object, lanes: Lanes) -> tuple[object, Mask]:
        """Return the actions to take, and a mask of the lanes that take one."""
        acting = ~self._reset_only(lanes)
        self._draw(lanes[acting & self._acted[lanes] & ~self.is_sticky_actions[lanes]])
        sticks = acting & self.is_sticky_actions[lanes]
        if sticks.any():
            last = self._rows.take(self.last_action, lanes)
            actions = self._rows.choose(sticks, last, actions)
            self.repeats_taken[lanes[sticks]] += 1
            done = lanes[sticks & (self.repeats_taken[lanes] == self.num_repeats[lanes])]
            self.is_sticky_actions[done] = False
            self.num_repeats[done] = self.repeats_taken[done] = 0
        return actions, acting

    def _draw(self, lanes: Lanes) -> None:
        """Choose at random the lanes in which the last action begins to repeat."""
        minimum, maximum = self.repeat_action_duration_range
        streams = self._streams.of(lanes.tolist())
        # Equal to the results of `uniform`, but faster.
        draws = np.array([stream.random() for stream in streams])
        rows = np.flatnonzero(draws < self.repeat_action_probability)
        begun = lanes[rows]
        self.is_sticky_actions[begun] = True
        self.repeats_taken[begun] = 0
        self.num_repeats[begun] = minimum
        if maximum > minimum:
            counts = [streams[row].integers(minimum, maximum + 1) for row in rows.tolist()]
            self.num_repeats[begun] = counts

    def _remember(self, actions: object, lanes: Lanes, acting: Mask) -> None:
        if len(lanes) == self.num_envs and (lanes == np.arange(self.num_envs)).all():
            # The rows of lanes that do not act are never used.
            self.last_action = self._rows.copy(actions)
        elif self.last_action is None:
            batch = deepcopy(self.env.action_space.sample())  # rows for all lanes
            self.last_action = self._rows.put(batch, lanes, actions)
        else:
            chosen = lanes[acting]
            part = self._rows.take(actions, np.flatnonzero(acting))
            self.last_action = self._rows.put(self.last_action, chosen, part)
        self._acted[lanes[acting]] = True
