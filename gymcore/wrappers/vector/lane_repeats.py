"""Taking each action several times: lanes whose episode ends rest until the others are done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import UnsupportedMode
from gymcore.vector.partial_batches import lane_array
from gymcore.vector.utils import create_empty_array
from gymcore.vector.vector_env import AutoresetMode
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.wrappers.vector.lane_episodes import LaneEpisodes
from gymcore.wrappers.vector.lane_infos import join_infos, replace_final_obs
from gymcore.wrappers.vector.rows import RowsOf

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["LaneRepeats"]

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
        lanes = None if env_ids is None else lane_array(env_ids, self.num_envs)
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
