"""Vector versions of `RecordEpisodeStatistics` and `TimeLimit`."""

from __future__ import annotations

import time
from collections import deque
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np

from gymcore import logger
from gymcore.base.arguments import MAX_COUNT, check_rewards_are_numbers, count, split_reset_mask
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Info, ObsType, Options
from gymcore.error import (
    FailedCheck,
    FailedTypeCheck,
    UnsupportedMode,
)
from gymcore.spaces import Box
from gymcore.vector.agents import check_single_agents
from gymcore.vector.final_observations import add_final_frames
from gymcore.vector.gym26_infos import add_gym26_names, remove_gym26_names
from gymcore.vector.utils import batch_space, iterate
from gymcore.vector.vector_env import (
    AutoresetMode,
    EnvIds,
    Seeds,
    VectorEnv,
    VectorStep,
    VectorWrapper,
)
from gymcore.wrappers.common import checked_limit
from gymcore.wrappers.utils import Array
from gymcore.wrappers.vector.lanes import (
    BatchIndexer,
    Lanes,
    LaneWrapper,
    Mask,
    join_infos,
    without,
)
from gymcore_ext.wrappers import statistics

if TYPE_CHECKING:
    from gymcore.specs import EnvSpec

__all__ = ["RecordEpisodeStatistics", "TimeLimit"]


class RecordEpisodeStatistics(
    VectorWrapper[ObsType, ActType, ObsType, ActType, Array], RecordConstructorArgs
):
    """Add return, length and duration of episodes to the infos of the step that ends them.

    `infos["episode"]` is then `{"r": returns float64, "l": lengths int64, "t": seconds float64}`,
    arrays [num_envs] with zeros for the other lanes, and `infos["_episode"]`, bool [num_envs],
    marks the lanes whose episodes have ended. The statistics of a lane start again when it is
    reset, by autoreset or by `reset`; a masked reset does not affect the other lanes.

    Attributes:
        episode_count: Number of completed episodes.
        episode_start_times: Start times of the current episodes, `time.perf_counter` seconds,
            float64 [num_envs]; changed in place, like the next three. A subclass with its own
            `step` may assign arrays of other shapes, as for vector-valued rewards.
        episode_returns: Returns of the current episodes so far, float64 [num_envs].
        episode_lengths: Numbers of steps of the current episodes so far, int64 [num_envs].
        prev_dones: Whether the last step ended the lane's episode, bool [num_envs].
        time_queue: Durations of the last episodes, in seconds.
        return_queue: Returns of the last episodes.
        length_queue: Lengths of the last episodes.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("Pendulum-v1", num_envs=2, max_episode_steps=3)
        >>> envs = RecordEpisodeStatistics(envs)
        >>> _ = envs.reset(seed=1)
        >>> for _ in range(3):
        ...     *_, infos = envs.step(envs.action_space.sample())
        >>> infos["episode"]["l"], infos["_episode"], list(envs.length_queue)
        (array([3, 3]), array([ True,  True]), [np.int64(3), np.int64(3)])
    """

    _lane_arrays = ("episode_start_times", "episode_returns", "episode_lengths", "prev_dones")

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Array],
        buffer_length: int | None = 100,
        stats_key: str = "episode",
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.RecordEpisodeStatistics`."""
        check_single_agents(env)
        VectorWrapper.__init__(self, env)
        if "autoreset_mode" not in env.metadata:
            logger.warn(
                f"{self} is missing `autoreset_mode` tag in its metadata, therefore, "
                "`RecordEpisodeStatistics` is assuming that the environment uses "
                "`AutoresetMode.NEXT_STEP`."
            )
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._stats_key = stats_key
        self._mask_key = f"_{stats_key}"
        self._next_step = mode is AutoresetMode.NEXT_STEP
        self._same_step = mode is AutoresetMode.SAME_STEP
        # The engine's own statistics, which do not include the time limits of wrappers.
        counts = getattr(env.unwrapped, "episode_statistics", False)
        self._replaces = counts and stats_key == "episode"
        self.episode_count = 0
        self.episode_start_times = np.zeros(env.num_envs)
        self.episode_returns = np.zeros(env.num_envs)
        self.episode_lengths = np.zeros(env.num_envs, np.int64)
        self.prev_dones = np.zeros(env.num_envs, np.bool_)
        limit = buffer_length and count("buffer_length", buffer_length, 0, MAX_COUNT)
        self.time_queue: deque[np.float64] = deque(maxlen=limit)
        self.return_queue: deque[np.float64] = deque(maxlen=limit)
        self.length_queue: deque[np.int64] = deque(maxlen=limit)

    def reset(self, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset, and restart the statistics of the lanes that were reset; see `VectorEnv.reset`."""
        _, mask = split_reset_mask(options, self.env.num_envs)
        result: tuple[ObsType, Info] = self.env.reset(seed=seed, options=options)
        lanes = slice(None) if mask is None else mask
        self.episode_start_times[lanes] = time.perf_counter()
        self.episode_returns[lanes] = 0
        self.episode_lengths[lanes] = 0
        self.prev_dones[lanes] = False
        return result

    def step(self, actions: ActType) -> tuple[ObsType, Array, Array, Array, Info]:
        """Step, and add the statistics of completed episodes to the infos.

        Raises:
            FailedTypeCheck: If the infos are not a dict.
            FailedCheck: If the infos already have an entry under `stats_key`.
        """
        result: VectorStep[ObsType, Array] = self.env.step(actions)
        _, rewards, terminated, truncated, infos = result
        if not isinstance(infos, dict):
            raise FailedTypeCheck(
                "`vector.RecordEpisodeStatistics` requires `info` type to be `dict`, its actual "
                f"type is {type(infos)}. This may be due to usage of other wrappers in the wrong "
                "order."
            )
        try:
            count, episodes = statistics.count_episodes(
                self.episode_returns,
                self.episode_lengths,
                self.episode_start_times,
                self.prev_dones,
                (self.return_queue, self.length_queue, self.time_queue),
                rewards,
                terminated,
                truncated,
                time.perf_counter(),
                self._next_step,
                self._same_step,
            )
        except ValueError:
            check_rewards_are_numbers(rewards)
            raise
        if count:
            key, mask_key = self._stats_key, self._mask_key
            if not self._replaces and (key in infos or mask_key in infos):
                raise FailedCheck(
                    f"Attempted to add episode stats with key '{key}' but this key already exists "
                    f"in info: {list(infos)}; give this wrapper another stats_key"
                )
            infos[key], infos[mask_key] = episodes, self.prev_dones.copy()
            self.episode_count += count
        return result

    def end_episodes(self, mask: Mask) -> None:
        """End episodes of the wrapped environment; see `VectorEnv.end_episodes`.

        No statistics of these episodes are added: the infos have already passed this wrapper.
        """
        self.env.end_episodes(mask)
        self.prev_dones[mask] = True


class TimeLimit(LaneWrapper, RecordConstructorArgs):
    """Truncate the episode of each lane after a number of steps.

    `terminated` is passed through, so both flags are true if an episode also terminates in its last
    step. A truncated lane begins its next episode like any other: in the next step, in the same
    step (the infos then have its final observation and info), or by a masked reset.

    The engine's own `episode_statistics` do not include this limit;
    `wrappers.vector.RecordEpisodeStatistics` around this wrapper does.

    Examples:
        >>> import gymcore as gym
        >>> envs = TimeLimit(gym.make_vec("CartPole-v1", num_envs=2), max_episode_steps=2)
        >>> _ = envs.reset(seed=1)
        >>> [envs.step([0, 1])[3].tolist() for _ in range(3)]
        [[False, False], [True, True], [False, False]]
    """

    _lane_arrays = ("_elapsed_steps",)

    def __init__(self, env: VectorEnv, max_episode_steps: int) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.TimeLimit`.

        Raises:
            UnsupportedMode: If the mode is not SAME_STEP and `end_episodes` is not supported.
        """
        limit = checked_limit(max_episode_steps)
        LaneWrapper.__init__(self, env)
        self._max_episode_steps = limit
        self._elapsed_steps = np.zeros(env.num_envs, np.int64)
        engine = env.unwrapped
        if not self._episodes.same_step and not engine.ends_episodes:
            raise UnsupportedMode(
                f"TimeLimit: expected an environment whose episodes can be ended (`end_episodes`), "
                f"got {engine}, whose mode is {self._episodes.mode}"
            )
        # Final observations are one array if this engine returns them so, or an object array.
        self._dense = engine.stacks_final_obs
        self._final_frames = False

    if not TYPE_CHECKING:  # a type checker sees the attribute

        @property
        def spec(self) -> EnvSpec | None:
            """The spec of the wrapped environment with this time limit."""
            spec: EnvSpec | None = self.env.spec
            return spec and spec.copy(max_episode_steps=self._max_episode_steps)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Render final frames, also of episodes that this wrapper truncates; see `VectorEnv`."""
        self.env.keep_final_frames(keep)
        self._final_frames = keep

    def _begin(self, observations: object, begun: Mask) -> object:
        self._elapsed_steps[begun] = 0
        return observations

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Step the environments, and truncate episodes that have reached the limit.

        Args:
            actions: One row per stepped lane.
            env_ids: Lanes to step, if the wrapped environment supports this; None for all.
        """
        results, lanes = self._step(actions, env_ids)
        observations, rewards, terminated, truncated, infos = results
        episodes = self._episodes
        begun, ended = episodes.step(terminated, truncated, lanes)
        elapsed = (self._elapsed_steps if lanes is None else self._elapsed_steps[lanes]) + 1
        if episodes.mode is AutoresetMode.NEXT_STEP:
            elapsed[begun] = 0
        over = elapsed >= self._max_episode_steps
        if over.any():
            truncated = truncated | over
            cut = over & ~ended
            if cut.any():
                observations, infos = self._truncate(observations, infos, cut, lanes)
        if episodes.same_step:
            elapsed[ended | over] = 0
        if lanes is None:
            self._elapsed_steps = elapsed
        else:
            self._elapsed_steps[lanes] = elapsed
        return observations, rewards, terminated, truncated, infos

    def _truncate(
        self, observations: object, infos: Info, cut: Mask, lanes: Lanes | None
    ) -> tuple[object, Info]:
        """End episodes that the environment has not ended; return observations and infos."""
        mask = cut
        if lanes is not None:
            mask = np.zeros(self.num_envs, np.bool_)
            mask[lanes[cut]] = True
        if not self._episodes.same_step:
            self.env.end_episodes(mask)
            self._episodes.end(mask)
            return observations, infos
        frames = self.env.render() if self._final_frames else None
        first, reset_infos = self.env.reset(options={"reset_mask": mask})
        infos = self._with_final(observations, infos, cut, lanes, reset_infos)
        if frames is not None:
            rows = np.flatnonzero(cut).tolist()
            final_info = infos["final_info"]
            final_frames = {row: frames[row if lanes is None else lanes[row]] for row in rows}
            if "final_frame" in final_info:
                final_frames |= {
                    row: final_info["final_frame"][row]
                    for row in np.flatnonzero(final_info["_final_frame"]).tolist()
                }
            add_final_frames(infos, final_frames)
        if lanes is not None:
            first = BatchIndexer(self.env.single_observation_space).take(first, lanes)
        return first, infos

    def _with_final(
        self,
        observations: object,
        infos: Info,
        cut: Mask,
        lanes: Lanes | None,
        reset_infos: Info,
    ) -> Info:
        """Return infos of a step that has ended the episodes of lanes and reset them."""
        ids = infos.pop("env_id", None)
        rows, others = np.flatnonzero(cut), np.flatnonzero(~cut)
        final = {
            "final_obs": self._last(observations, infos, rows, len(cut)),
            "_final_obs": cut,
            "final_info": without(remove_gym26_names(infos), "final_obs", "final_info"),
            "_final_info": cut,
        }
        parts = [(final, rows, rows), (reset_infos, rows if lanes is None else lanes[rows], rows)]
        if others.size:
            parts.append((infos, others, others))
        joined = join_infos(parts, len(cut))
        if self.env.has_gym26_infos:
            joined = add_gym26_names(joined)
        if ids is not None:
            joined["env_id"] = ids
        return joined

    def _last(self, observations: object, infos: Info, rows: Lanes, count: int) -> object:
        """Return final observations of these rows, in the form used by the engine's infos."""
        final_obs = infos.get("final_obs")
        dense = self._dense if final_obs is None else final_obs.dtype != object
        if dense and isinstance(observations, np.ndarray):
            return observations
        last = np.full(count, None, object)
        space = self.single_observation_space
        batch = list(iterate(batch_space(space, count), observations))
        for i in rows.tolist():
            # A row of a one-dimensional array is a scalar, but environments return arrays.
            last[i] = np.array(batch[i]) if isinstance(space, Box) else deepcopy(batch[i])
        return last
