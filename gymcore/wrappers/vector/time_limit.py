"""The time limit of a vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.final_frames import add_final_frames
from gymcore.vector.legacy import LegacyVectorEnv
from gymcore.vector.legacy_infos import with_legacy_names
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.utils import batch_space, iterate
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.wrappers.vector.lane_episodes import LaneEpisodes
from gymcore.wrappers.vector.lane_infos import join_infos, plain_infos, without
from gymcore.wrappers.vector.lane_steps import stepped
from gymcore.wrappers.vector.rows import RowsOf

if TYPE_CHECKING:
    from gymcore.envs.registration import EnvSpec

__all__ = ["TimeLimit"]

Lanes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class TimeLimit(VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]], RecordConstructorArgs):
    """Truncate the episode of each lane after a number of steps.

    `terminated` is passed on as it is, so both flags are true if an episode ends with its last
    step. A lane that is cut off begins its next episode as every other does: in the next step, in
    the same one (the infos then have its last observation and info), or by a masked reset.

    The engine's own `episode_statistics` know nothing of this limit;
    `wrappers.vector.RecordEpisodeStatistics` around this wrapper does.

    Example:
        >>> import gymcore as gym
        >>> envs = TimeLimit(gym.make_vec("CartPole-v1", num_envs=2), max_episode_steps=2)
        >>> _ = envs.reset(seed=1)
        >>> [envs.step([0, 1])[3].tolist() for _ in range(3)]
        [[False, False], [True, True], [False, False]]
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], max_episode_steps: int) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            max_episode_steps: Steps after which an episode is truncated, at least 1.

        Raises:
            ArgumentTypeError: `max_episode_steps` is no `int` (a `TypeError`).
            InvalidArgument: It is not positive (a `ValueError`).
            UnsupportedMode: Episodes of this environment cannot be ended from outside.
        """
        if not isinstance(max_episode_steps, (int, np.integer)):
            raise ArgumentTypeError(
                "Expect the `max_episode_steps` to be an integer, "
                f"actually: {type(max_episode_steps)}"
            )
        if max_episode_steps <= 0:
            raise InvalidArgument(
                f"Expect the `max_episode_steps` to be positive, actually: {max_episode_steps}"
            )
        RecordConstructorArgs.__init__(self, max_episode_steps=max_episode_steps)
        VectorWrapper.__init__(self, env)
        self._max_episode_steps = int(max_episode_steps)
        self._elapsed_steps = np.zeros(env.num_envs, np.int64)
        self._episodes = LaneEpisodes(env)
        engine = env.unwrapped
        if not self._episodes.same_step and type(engine).end_episodes is VectorEnv.end_episodes:
            raise UnsupportedMode(
                f"TimeLimit: expected an environment whose episodes can be ended (`end_episodes`), "
                f"got {engine}, whose mode is {self._episodes.mode}"
            )
        # One array of last observations, as this engine gives them, or an object array.
        self._dense = isinstance(engine, NativeVectorEnv)
        self._legacy = _has_layer(env, LegacyVectorEnv)
        self._final_frames = False

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """The wrapped environment's spec with this time limit."""
        if self.env.spec is None:
            return None
        return self.env.spec.copy(max_episode_steps=self._max_episode_steps)

    @property
    def steps_some_lanes(self) -> bool:  # type: ignore[override]
        """Whether the wrapped environment does."""
        return self.env.steps_some_lanes

    def keep_final_frames(self, keep: bool = True) -> None:
        """Also of the episodes that this wrapper ends; see `VectorEnv.keep_final_frames`.

        Args:
            keep: Whether to do so from now on.
        """
        self.env.keep_final_frames(keep)
        self._final_frames = keep

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments and their counts of steps; see `VectorEnv.reset`."""
        results = self.env.reset(seed=seed, options=options)
        self._elapsed_steps[self._episodes.reset(options)] = 0
        return results

    def step(
        self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step the environments, and truncate episodes that have lasted long enough.

        Args:
            actions: A row for each lane that is stepped.
            env_ids: Which lanes, where the wrapped environment can step some; None for all.
        """
        results, lanes = stepped(self, actions, env_ids)
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
                observations, infos = self._cut(observations, infos, cut, lanes)
        if episodes.same_step:
            elapsed[ended | over] = 0
        if lanes is None:
            self._elapsed_steps = elapsed
        else:
            self._elapsed_steps[lanes] = elapsed
        return observations, rewards, terminated, truncated, infos

    def _cut(
        self, observations: Any, infos: dict[str, Any], cut: Mask, lanes: Lanes | None
    ) -> tuple[Any, dict[str, Any]]:
        """End episodes that the environment has not ended; return what the step returns."""
        mask = cut
        if lanes is not None:
            mask = np.zeros(self.num_envs, np.bool_)
            mask[lanes[cut]] = True
        if not self._episodes.same_step:
            self.env.end_episodes(mask)
            self._episodes.end(mask)
            return observations, infos
        frames: Any = self.env.render() if self._final_frames else None
        first, reset_infos = self.env.reset(options={"reset_mask": mask})
        infos = self._with_final(observations, infos, cut, lanes, reset_infos)
        if frames is not None:
            rows = np.flatnonzero(cut).tolist()
            there = infos["final_info"]
            taken = {row: frames[row if lanes is None else lanes[row]] for row in rows}
            if "final_frame" in there:
                taken |= {
                    row: there["final_frame"][row]
                    for row in np.flatnonzero(there["_final_frame"]).tolist()
                }
            add_final_frames(infos, taken)
        if lanes is not None:
            first = RowsOf(self.env.single_observation_space).take(first, lanes)
        return first, infos

    def _with_final(
        self,
        observations: Any,
        infos: dict[str, Any],
        cut: Mask,
        lanes: Lanes | None,
        reset_infos: dict[str, Any],
    ) -> dict[str, Any]:
        """Return infos in which lanes have ended in the same step, and begun again."""
        ids = infos.pop("env_id", None)
        rows, others = np.flatnonzero(cut), np.flatnonzero(~cut)
        final = {
            "final_obs": self._last(observations, infos, rows, len(cut)),
            "_final_obs": cut,
            "final_info": without(plain_infos(infos), "final_obs", "final_info"),
            "_final_info": cut,
        }
        parts = [(final, rows, rows), (reset_infos, rows if lanes is None else lanes[rows], rows)]
        if others.size:
            parts.append((infos, others, others))
        joined = join_infos(parts, len(cut))
        if self._legacy and "final_observation" not in joined:
            joined = with_legacy_names(joined)
        if ids is not None:
            joined["env_id"] = ids
        return joined

    def _last(self, observations: Any, infos: dict[str, Any], rows: Lanes, count: int) -> Any:
        """Return last observations of these rows, in the form that the infos have or would have."""
        there = infos.get("final_obs")
        dense = self._dense if there is None else there.dtype != object
        if dense and isinstance(observations, np.ndarray):
            return observations
        last = np.full(count, None, object)
        space = self.single_observation_space
        batch = list(iterate(batch_space(space, count), observations))
        for i in rows.tolist():
            # A row of an array without further axes is a number, where environments give arrays.
            last[i] = np.array(batch[i]) if isinstance(space, Box) else deepcopy(batch[i])
        return last


def _has_layer(env: Any, kind: type) -> bool:
    while isinstance(env, VectorWrapper):
        if isinstance(env, kind):
            return True
        env = env.env
    return False
