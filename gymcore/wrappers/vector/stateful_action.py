"""Vector wrappers that take an action more than once.

Each does to every lane what its namesake in `gymcore.wrappers.stateful_action` does to one
environment, in every autoreset mode and under masked resets.
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
    """The base of `RepeatAction` and `MaxAndSkipObservation`.

    Lanes whose episode ends rest until the others have taken the action often enough.
    """

    _maximum = False  # of the last two observations

    def __init__(self, env: VectorEnv, times: int) -> None:
        """Wrap `env`, or raise `UnsupportedMode` if it cannot step some lanes while others rest."""
        super().__init__(env)
        if times > 1 and not env.steps_some_lanes:
            raise UnsupportedMode(
                f"{type(self).__name__}: expected an environment that can step some of its lanes "
                "while others, whose episode has ended, rest (`steps_some_lanes`); "
                f"{env} cannot. Put {type(self).__name__} inside of the wrappers that change "
                "batches as a whole, next to the engine"
            )
        self._times = times
        self._actions = BatchIndexer(env.single_action_space)
        self._observations = BatchIndexer(env.single_observation_space)
        # What was returned last, for the lanes that a masked reset leaves out.
        self._last: Array | None = None
        if self._maximum:
            self._last = np.array(create_empty_array(env.single_observation_space, env.num_envs))

    def _begin(self, observations: Any, begun: Mask) -> Any:
        if self._last is not None:
            if not begun.all():
                observations = self._observations.choose(begun, observations, self._last)
            self._last[:] = observations
        return observations

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Take the actions several times, in each lane until its episode ends.

        Returns:
            As `VectorEnv.step`: sums of the rewards, and all else as the last step of each lane
            left it. With next-step autoreset a lane that begins an episode only does that.
        """
        lanes = None if env_ids is None else lane_indices(env_ids, self.num_envs, "env_ids")
        resting = self._resting(lanes)
        (observations, rewards, terminated, truncated, infos), _ = self._step(actions, lanes)
        if self._maximum and "final_obs" in infos:
            self._raise_final(infos, observations.dtype, None)
        going = ~(terminated | truncated | resting)
        previous = None  # observations of one step earlier
        times = self._times
        while times > 1 and lanes is None and going.all():
            # Only the results that change are copied.
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
        actions: Any,
        lanes: Lanes | None,
        going: Mask,
        results: Any,
        infos: Info,
        times: int,
        previous: Any,
    ) -> tuple[Any, Info]:
        """Take the actions again in the rows that are going, and write into the results.

        Returns:
            The observations and the infos.
        """
        observations, rewards, terminated, truncated = results
        count = len(going)
        all_infos: list[tuple[Info, Lanes]] = [(infos, np.arange(count))]
        last_infos = np.zeros(count, np.intp)  # which of these are a row's
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
        return observations, self._joined(all_infos, last_infos, lanes)

    def _end_previous(self, previous: Any, observations: Any, ended: Mask, infos: Info) -> None:
        """Let rows that have begun another episode have no observation of one step earlier."""
        if "final_obs" in infos:
            self._raise_final(infos, previous.dtype, previous)
            previous[ended] = observations[ended]

    def _raise_final(self, infos: Info, dtype: Any, before: Any) -> None:
        """Let last observations be the maximum of themselves and those before, if there are any."""
        higher = infos["final_obs"].copy()
        for i in np.flatnonzero(infos["_final_obs"]).tolist():
            last = np.asarray(higher[i], dtype)
            higher[i] = np.maximum(last, last if before is None else before[i])
        replace_final_obs(infos, higher)

    def _joined(
        self,
        all_infos: list[tuple[Info, Lanes]],
        last_infos: npt.NDArray[np.intp],
        lanes: Lanes | None,
    ) -> Info:
        """Return one dict of the infos of each row's last step."""
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
    """A generator for each lane: its environment's own where that is in this process.

    What is drawn here, such an environment does not draw. Other lanes (of `AsyncVectorEnv`, which
    could only give copies) get generators of their own, seeded by the seeds of `reset`.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> _ = envs.reset(seed=5)
        >>> state = envs.np_random[1].bit_generator.state
        >>> _ = LaneStreams(envs).of([1])[0].uniform()
        >>> envs.np_random[1].bit_generator.state == state
        False
    """

    def __init__(self, env: VectorEnv) -> None:
        """Take the vector environment."""
        self._engine: Any = env.unwrapped
        self._streams: dict[int, np.random.Generator] = {}

    def of(self, lanes: list[int]) -> list[np.random.Generator]:
        """Return the generators of lanes."""
        generators: list[np.random.Generator] | None = self._engine.lane_generators(lanes)
        if generators is not None:
            return generators
        for lane in lanes:
            if lane not in self._streams:
                self._streams[lane] = seeding.np_random()[0]
        return [self._streams[lane] for lane in lanes]

    def seed(self, seeds: Sequence[int | None], lanes: Mask) -> None:
        """Note a reset, by which environments have seeded their generators themselves."""
        if self._engine.lane_generators(()) is not None:
            return
        for lane in np.flatnonzero(lanes).tolist():
            if seeds[lane] is not None:
                self._streams[lane] = seeding.np_random(seeds[lane])[0]


class RepeatAction(LaneRepeats, RecordConstructorArgs):
    """Take each action several times, and add up the rewards.

    A lane whose episode ends earlier rests until the others are done.

    Example:
        >>> import gymcore as gym
        >>> envs = RepeatAction(gym.make_vec("CartPole-v1", num_envs=2), num_repeats=3)
        >>> _ = envs.reset(seed=123)
        >>> envs.step([1, 0])[1]
        array([3., 3.])
    """

    def __init__(self, env: VectorEnv, num_repeats: int) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.RepeatAction`.

        Raises:
            UnsupportedMode: If the environment steps all lanes or none.
        """
        count = check_repeats(num_repeats)
        LaneRepeats.__init__(self, env, count)
        self.num_repeats = count


class StickyAction(LaneWrapper, RecordConstructorArgs):
    """Sometimes, in some lanes, take the last action again instead of the one that was given.

    Random numbers come from each lane's own `np_random`, so a lane does what the single wrapper
    would do. If environments are in other processes, or all lanes share one generator, this is not
    possible: the wrapper then has one generator per lane, seeded by the seeds of `reset`.

    Attributes:
        repeat_action_duration_range: Minimum and maximum number of steps that an action is
            repeated.
        last_action: The batch of actions taken last; None before the first.
        is_sticky_actions: bool [num_envs], whether the next action will be the last one again.
        num_repeats: int64 [num_envs], how many steps it sticks in all.
        repeats_taken: int64 [num_envs], how many of them have been taken.

    Example:
        >>> import gymcore as gym
        >>> envs = StickyAction(gym.make_vec("CartPole-v1", num_envs=3), 0.9)
        >>> _ = envs.reset(seed=123)
        >>> _ = [envs.step([action] * 3) for action in (1, 0, 0)]
        >>> envs.last_action
        array([1, 0, 1])
    """

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
        self.last_action: Any = None
        self.is_sticky_actions = np.zeros(n, np.bool_)
        self.num_repeats = np.zeros(n, np.int64)
        self.repeats_taken = np.zeros(n, np.int64)
        self._acted = np.zeros(n, np.bool_)  # lanes that have a last action
        self._rows = BatchIndexer(env.single_action_space)
        self._streams = LaneStreams(env)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[Any, Info]:
        """Reset the environments, and forget their last actions; see `VectorEnv.reset`."""
        results = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        self._forget(np.flatnonzero(begun))
        self._streams.seed(seeds_per_env(seed, self.num_envs), begun)
        return results

    def _forget(self, lanes: Lanes) -> None:
        self._acted[lanes] = self.is_sticky_actions[lanes] = False
        self.num_repeats[lanes] = self.repeats_taken[lanes] = 0

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Step the environments with these actions, or some of the last; see `VectorEnv.step`.

        Args:
            actions: A row for each lane that is stepped; not changed.
            env_ids: Which lanes, where the wrapped environment can step some; None for all.
        """
        if env_ids is None:
            lanes = np.arange(self.num_envs)
        else:
            env_ids = lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        self._rows.check_actions(actions, len(lanes))
        before = self.is_sticky_actions.copy(), self.num_repeats.copy(), self.repeats_taken.copy()
        taken, acting = self._taken(actions, lanes)
        try:
            results, _ = self._step(taken, env_ids)
        except BaseException:
            self.is_sticky_actions, self.num_repeats, self.repeats_taken = before
            raise
        self._remember(taken, lanes, acting)
        episodes = self._episodes
        begun, _ = episodes.step(results[2], results[3], None if env_ids is None else lanes)
        if begun.any():
            self._forget(lanes[begun])
        return results

    def _taken(self, actions: Any, lanes: Lanes) -> tuple[Any, Mask]:
        """Return the actions that are taken, and in which lanes they are."""
        acting = ~self._resting(lanes)
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
        """Let chance decide in which lanes the last action begins to stick."""
        minimum, maximum = self.repeat_action_duration_range
        streams = self._streams.of(lanes.tolist())
        # The numbers that `uniform` draws, and faster.
        draws = np.array([stream.random() for stream in streams])
        rows = np.flatnonzero(draws < self.repeat_action_probability)
        begun = lanes[rows]
        self.is_sticky_actions[begun] = True
        self.repeats_taken[begun] = 0
        self.num_repeats[begun] = minimum
        if maximum > minimum:
            counts = [streams[row].integers(minimum, maximum + 1) for row in rows.tolist()]
            self.num_repeats[begun] = counts

    def _remember(self, actions: Any, lanes: Lanes, acting: Mask) -> None:
        if len(lanes) == self.num_envs and (lanes == np.arange(self.num_envs)).all():
            # What a lane that does not act has here is never used.
            self.last_action = self._rows.copy(actions)
        elif self.last_action is None:
            whole = deepcopy(self.env.action_space.sample())  # room for all lanes
            self.last_action = self._rows.put(whole, lanes, actions)
        else:
            chosen = lanes[acting]
            part = self._rows.take(actions, np.flatnonzero(acting))
            self.last_action = self._rows.put(self.last_action, chosen, part)
        self._acted[lanes[acting]] = True
