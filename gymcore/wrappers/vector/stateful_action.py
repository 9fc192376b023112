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

from gymcore.error import UnsupportedMode
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.utils import RecordConstructorArgs, seeding
from gymcore.utils.arguments import lane_indices, seeds_per_env
from gymcore.vector.final_observations import replace_final_obs
from gymcore.vector.lane_episodes import LaneEpisodes
from gymcore.vector.sync_vector_env import SyncVectorEnv
from gymcore.vector.utils import create_empty_array
from gymcore.vector.vector_env import AutoresetMode, VectorWrapper
from gymcore.wrappers.stateful_action import check_repeats, check_sticky
from gymcore.wrappers.vector.lanes import RowsOf, join_infos, stepped

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["RepeatAction", "StickyAction"]


Lanes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class LaneRepeats(VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]]):
    """The base of `RepeatAction` and `MaxAndSkipObservation`."""

    _maximum = False  # of the last two observations

    def __init__(self, env: VectorEnv[Any, Any, Any], times: int) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment; it can step some lanes while others rest.
            times: How often an action is taken.

        Raises:
            UnsupportedMode: It cannot do so.
        """
        super().__init__(env)
        if times > 1 and not env.steps_some_lanes:
            raise UnsupportedMode(
                f"{type(self).__name__}: expected an environment that can step some of its lanes "
                "while others, whose episode has ended, rest (`steps_some_lanes`); "
                f"{env} cannot. Put {type(self).__name__} inside of the wrappers that change "
                "batches as a whole, next to the engine"
            )
        self._times = times
        self._episodes = LaneEpisodes(env)
        self._actions = RowsOf(env.single_action_space)
        self._observations = RowsOf(env.single_observation_space)
        # What was returned last, for the lanes that a masked reset leaves out.
        self._shown: npt.NDArray[Any] | None = None
        if self._maximum:
            self._shown = np.array(create_empty_array(env.single_observation_space, env.num_envs))
        # Such an engine writes into the arrays that it has returned.
        self._reused = not getattr(env.unwrapped, "copy", True)

    @property
    def steps_some_lanes(self) -> bool:  # type: ignore[override]
        """Whether the wrapped environment does."""
        return self.env.steps_some_lanes

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments; see `VectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        if self._shown is not None:
            if not begun.all():
                observations = self._observations.own(observations)
                observations[~begun] = self._shown[~begun]
            self._shown[:] = observations
        return observations, infos

    def step(
        self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Take the actions several times, in each lane until its episode ends.

        Args:
            actions: A row for each lane that is stepped.
            env_ids: Which lanes, indices or a mask; None for all.

        Returns:
            As `VectorEnv.step`: sums of the rewards, and all else as the last step of each lane
            left it. With next-step autoreset a lane that begins an episode only does that.
        """
        lanes = None if env_ids is None else lane_indices(env_ids, self.num_envs, "env_ids")
        resting = self._resting(lanes)
        steps = _Steps(self, actions, lanes, resting)
        for _ in range(self._times - 1):
            rows = np.flatnonzero(steps.going)
            if not rows.size:
                break
            steps.again(rows)
        results = steps.results()
        self._episodes.step(results[2], results[3], lanes)
        if self._shown is not None:
            self._shown[slice(None) if lanes is None else lanes] = results[0]
        return results

    def _resting(self, lanes: Lanes | None) -> Mask | None:
        """Return the lanes that the next step only resets."""
        episodes = self._episodes
        if episodes.mode is not AutoresetMode.NEXT_STEP:
            return None
        return episodes.ended if lanes is None else episodes.ended[lanes]


class _Steps:
    """One action taken several times. `going` bool [n] tells which rows take it once more."""

    def __init__(
        self, wrapper: LaneRepeats, actions: Any, lanes: Lanes | None, resting: Mask | None
    ) -> None:
        self._env = wrapper.env
        self._wrapper = wrapper
        self._actions = actions
        self._lanes = lanes
        self._maximum = wrapper._maximum
        env = self._env
        results = env.step(actions) if lanes is None else env.step_lanes(actions, lanes)
        self._observations, self._rewards, self._terminated, self._truncated, infos = results
        ended = self._terminated | self._truncated
        self._count = len(ended)
        self._infos: list[tuple[dict[str, Any], Lanes | None]] = [(infos, None)]
        self._info_of = np.zeros(self._count, np.intp)  # which of these is a row's
        self._whole = True  # our arrays are the environment's own of one step
        self._before: Any = None  # the observations of one step earlier
        self._twice = np.zeros(self._count, np.bool_)  # rows of which there are two
        self.going = ~ended if resting is None else ~(ended | resting)
        if self._maximum and "final_obs" in infos:
            self._raise_final(infos, None)

    def again(self, rows: Lanes) -> None:
        """Step some rows once more."""
        if rows.size == self._count and self._lanes is None:
            self._step_all()
        else:
            self._step_rows(rows)

    def _step_all(self) -> None:
        if self._maximum:
            self._before = self._observations
            if self._wrapper._reused:
                self._before = np.array(self._observations)
        results = self._env.step(self._actions)
        self._observations, rewards, self._terminated, self._truncated, infos = results
        self._rewards = self._rewards + rewards
        ended = self._terminated | self._truncated
        self._infos = [(infos, None)]
        self._whole = True
        self._note(np.arange(self._count), ended, infos, self._before)
        self.going = ~ended

    def _step_rows(self, rows: Lanes) -> None:
        wrapper = self._wrapper
        if self._whole:
            self._whole = False
            self._observations = wrapper._observations.own(self._observations)
            self._rewards = np.array(self._rewards)
            self._terminated = np.array(self._terminated)
            self._truncated = np.array(self._truncated)
            if self._maximum:
                # Rows that have ended in a step of all keep what was before that.
                before = self._observations if self._before is None else self._before
                self._before = np.array(before)
        before = None
        if self._maximum:
            before = self._observations[rows]
            self._before[rows] = before
        lanes = rows if self._lanes is None else self._lanes[rows]
        actions = wrapper._actions.take(self._actions, rows)
        results = self._env.step_lanes(actions, lanes)
        observations, rewards, terminated, truncated, infos = results
        self._observations = wrapper._observations.put(self._observations, rows, observations)
        self._rewards[rows] += rewards
        self._terminated[rows] = terminated
        self._truncated[rows] = truncated
        self._info_of[rows] = len(self._infos)
        self._infos.append((infos, rows))
        ended = terminated | truncated
        self._note(rows, ended, infos, before)
        self.going[rows[ended]] = False

    def _note(self, rows: Lanes, ended: Mask, infos: dict[str, Any], before: Any) -> None:
        """Remember of which rows there are two observations of the same episode."""
        if not self._maximum:
            return
        self._twice[rows] = True
        if "final_obs" in infos:
            self._twice[rows[ended]] = False  # the row begins another episode already
            self._raise_final(infos, before)

    def _raise_final(self, infos: dict[str, Any], before: Any) -> None:
        """Let last observations be the maximum of the last two; `before` None: there is but one."""
        last, mask = infos["final_obs"], infos["_final_obs"]
        if last.dtype != object:
            if before is not None:
                higher = last.copy()
                higher[mask] = np.maximum(last[mask], before[mask])
                replace_final_obs(infos, higher)
            return
        dtype = self._wrapper.single_observation_space.dtype
        raised = np.full(len(mask), None, object)
        for i in np.flatnonzero(mask).tolist():
            one = np.asarray(last[i], dtype)
            raised[i] = np.maximum(one, one if before is None else before[i])
        replace_final_obs(infos, raised)

    def results(self) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Return what the environment's steps add up to."""
        observations = self._observations
        if self._maximum and self._twice.any():
            if self._twice.all():
                observations = np.maximum(observations, self._before)
            else:
                observations = np.array(observations)
                where = self._twice
                observations[where] = np.maximum(observations[where], self._before[where])
        return observations, self._rewards, self._terminated, self._truncated, self._joined_infos()

    def _joined_infos(self) -> dict[str, Any]:
        if len(self._infos) == 1:
            return self._infos[0][0]
        parts = []
        for k, (infos, rows) in enumerate(self._infos):
            target = np.flatnonzero(self._info_of == k)
            if target.size:
                source = target if rows is None else np.searchsorted(rows, target)
                parts.append((_without_ids(infos), source, target))
        joined = join_infos(parts, self._count)
        if self._lanes is not None:
            joined["env_id"] = self._lanes.copy()
        return joined


def _without_ids(infos: dict[str, Any]) -> dict[str, Any]:
    if "env_id" in infos:
        infos.pop("env_id")  # not `without`: these may be more than a dict
    return infos


class LaneStreams:
    """A generator for each lane.

    Compiled environments and those of `SyncVectorEnv` are asked for theirs: what is drawn here, the
    environment does not draw. Of others (`AsyncVectorEnv` could only give copies) the lanes get
    generators of their own.

    Attributes:
        shared: Whether the generators are the environments' own.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> _ = envs.reset(seed=5)
        >>> streams = LaneStreams(envs)
        >>> state = envs.np_random[1].bit_generator.state
        >>> _ = streams[1].uniform()
        >>> envs.np_random[1].bit_generator.state == state
        False
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Take the environment.

        Args:
            env: The vector environment.
        """
        self._engine: Any = env.unwrapped
        self._native = isinstance(self._engine, NativeVectorEnv)
        self.shared = self._native or isinstance(self._engine, SyncVectorEnv)
        self._streams: dict[int, np.random.Generator] = {}

    def __getitem__(self, lane: int) -> np.random.Generator:
        """Return the generator of a lane."""
        if self.shared and not self._native:
            stream: np.random.Generator = self._engine.envs[lane].np_random
            return stream
        found = self._streams.get(lane)
        if found is not None:
            return found
        if self._native:
            self._streams = dict(enumerate(self._engine.np_random))
        else:
            self._streams[lane] = seeding.np_random()[0]
        return self._streams[lane]

    def draw_repeats(
        self, lanes: npt.NDArray[np.int64], probability: float, fewest: int, most: int
    ) -> npt.NDArray[np.int64]:
        """Let chance say in which lanes something is repeated, and how often.

        Args:
            lanes: Which ones, int64 [n].
            probability: Of repeating.
            fewest: Fewest times, at least 1.
            most: Most times.

        Returns:
            int64 [n], how often; 0 where nothing is repeated.
        """
        choices = most - fewest + 1
        if self._native and choices < 2**32:  # drawn there as `integers` draws
            self._engine._seeds.ensure()
            drawn: npt.NDArray[np.int64]
            drawn = self._engine._batch.draw_repeats(lanes, probability, fewest, choices)
            return drawn
        counts = np.zeros(len(lanes), np.int64)
        for k, lane in enumerate(lanes.tolist()):
            stream = self[lane]
            if stream.random() < probability:  # the number that `uniform` draws, and faster
                counts[k] = stream.integers(fewest, most + 1)
        return counts

    def seed(self, seeds: Sequence[int | None], lanes: npt.NDArray[np.bool_]) -> None:
        """Note a reset, by which environments have seeded their generators themselves.

        Args:
            seeds: One for each lane, or None.
            lanes: bool [num_envs], those that were reset.
        """
        if self.shared:
            return
        for lane in np.flatnonzero(lanes).tolist():
            if seeds[lane] is not None:
                self._streams[lane] = seeding.np_random(seeds[lane])[0]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out views of another engine's memory: a copy has its own."""
        kept = dict(self.__dict__)
        if self._native:
            kept["_streams"] = {}
        return kept


class RepeatAction(LaneRepeats, RecordConstructorArgs):
    """Take each action several times, and add up the rewards.

    A lane whose episode ends earlier rests until the others are done.

    Attributes:
        num_repeats: How often.

    Example:
        >>> import gymcore as gym
        >>> envs = RepeatAction(gym.make_vec("CartPole-v1", num_envs=2), num_repeats=3)
        >>> _ = envs.reset(seed=123)
        >>> envs.step([1, 0])[1]
        array([3., 3.])
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], num_repeats: int) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment; it can step some lanes while others rest.
            num_repeats: How often an action is taken, at least 1.

        Raises:
            ArgumentTypeError: `num_repeats` is no integer (a `TypeError`).
            InvalidArgument: It is less than 1 (a `ValueError`).
            UnsupportedMode: The environment steps all lanes or none.
        """
        count = check_repeats(num_repeats)
        RecordConstructorArgs.__init__(self, num_repeats=num_repeats)
        LaneRepeats.__init__(self, env, count)
        self.num_repeats = count


class StickyAction(VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]], RecordConstructorArgs):
    """Now and then, in some lanes, take the last action again instead of the one that was given.

    Chance is each lane's own `np_random`, so that a lane does what the single wrapper would around
    its environment. That cannot be so where environments live in other processes, or where there
    is one generator for all lanes: the wrapper then has one generator for each lane, seeded by the
    seeds of `reset`.

    Attributes:
        repeat_action_probability: As given.
        repeat_action_duration_range: Fewest and most steps that an action sticks.
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
        env: VectorEnv[Any, Any, Any],
        repeat_action_probability: float,
        repeat_action_duration: int | tuple[int, int] = 1,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            repeat_action_probability: Of beginning to repeat, in [0, 1).
            repeat_action_duration: For how many steps, or the fewest and the most of them.

        Raises:
            InvalidProbability: The probability is outside [0, 1).
            InvalidArgument: The duration is no such thing, or less than 1 (a `ValueError`).
            InvalidBound: The fewest are more than the most.
        """
        durations = check_sticky(repeat_action_probability, repeat_action_duration)
        RecordConstructorArgs.__init__(
            self,
            repeat_action_probability=repeat_action_probability,
            repeat_action_duration=repeat_action_duration,
        )
        VectorWrapper.__init__(self, env)
        self.repeat_action_probability = repeat_action_probability
        self.repeat_action_duration_range = durations
        n = env.num_envs
        self.last_action: Any = None
        self.is_sticky_actions = np.zeros(n, np.bool_)
        self.num_repeats = np.zeros(n, np.int64)
        self.repeats_taken = np.zeros(n, np.int64)
        self._acted = np.zeros(n, np.bool_)  # lanes that have a last action
        self._episodes = LaneEpisodes(env)
        self._rows = RowsOf(env.single_action_space)
        self._streams = LaneStreams(env)

    @property
    def steps_some_lanes(self) -> bool:  # type: ignore[override]
        """Whether the wrapped environment does."""
        return self.env.steps_some_lanes

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, and forget their last actions; see `VectorEnv.reset`."""
        results = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        self._forget(np.flatnonzero(begun))
        self._streams.seed(seeds_per_env(seed, self.num_envs), begun)
        return results

    def _forget(self, lanes: npt.NDArray[np.int64]) -> None:
        self._acted[lanes] = self.is_sticky_actions[lanes] = False
        self.num_repeats[lanes] = self.repeats_taken[lanes] = 0

    def step(
        self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
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
            results, _ = stepped(self, taken, env_ids)
        except BaseException:
            self.is_sticky_actions, self.num_repeats, self.repeats_taken = before
            raise
        self._remember(taken, lanes, acting)
        episodes = self._episodes
        begun, _ = episodes.step(results[2], results[3], None if env_ids is None else lanes)
        if begun.any():
            self._forget(lanes[begun])
        return results

    def _taken(
        self, actions: Any, lanes: npt.NDArray[np.int64]
    ) -> tuple[Any, npt.NDArray[np.bool_]]:
        """Return the actions that are taken, and in which lanes they are."""
        acting = np.ones(len(lanes), np.bool_)
        if self._episodes.mode is AutoresetMode.NEXT_STEP:
            acting = ~self._episodes.ended[lanes]  # the others are only reset
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

    def _draw(self, lanes: npt.NDArray[np.int64]) -> None:
        """Let chance decide in which lanes the last action begins to stick."""
        fewest, most = self.repeat_action_duration_range
        counts = self._streams.draw_repeats(lanes, self.repeat_action_probability, fewest, most)
        begin = counts > 0
        if begin.any():
            chosen = lanes[begin]
            self.is_sticky_actions[chosen] = True
            self.num_repeats[chosen] = counts[begin]
            self.repeats_taken[chosen] = 0

    def _remember(
        self, actions: Any, lanes: npt.NDArray[np.int64], acting: npt.NDArray[np.bool_]
    ) -> None:
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
