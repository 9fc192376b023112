"""The base of vector wrappers whose observations depend on earlier ones of the same lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.vector.final_observations import put_final_batch
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.vector.vector_wrappers import VectorObservationWrapper
from gymcore.wrappers.vector.lane_episodes import LaneEpisodes
from gymcore.wrappers.vector.lane_infos import replace_final_obs
from gymcore.wrappers.vector.lane_steps import stepped

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["LaneObservations"]

Mask = npt.NDArray[np.bool_]
Lanes = npt.NDArray[np.int64]


class LaneObservations(VectorObservationWrapper[Any, Any, Any, npt.NDArray[Any]]):
    """Follows the episodes of lanes: a subclass defines `_first`, `_next` and `_last`.

    Serves every autoreset mode, masked resets, and steps of some lanes.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
        """
        super().__init__(env)
        self._episodes = LaneEpisodes(env)

    def _first(self, observations: Any, begun: Mask) -> Any:
        """Return the batch after a reset.

        Args:
            observations: A batch of all lanes.
            begun: bool [num_envs], those that begin an episode; the others stay as they are.
        """
        raise NotImplementedError

    def _next(self, observations: Any, begun: Mask, lanes: Lanes | None) -> Any:
        """Return the batch after a step.

        Args:
            observations: A batch of n.
            begun: bool [n], the rows that are first observations of an episode.
            lanes: int64 [n], whose they are; None for all.
        """
        raise NotImplementedError

    def _last(self, observations: Any, mask: Mask, lanes: Lanes | None) -> Any:
        """Return the batch of last observations that the next call of `_next` leaves behind.

        Args:
            observations: A batch of n.
            mask: bool [n], rows of lanes whose episode has ended. What becomes of the others is
                dropped; where the result is one array they must be zeros.
            lanes: int64 [n], whose they are; None for all.
        """
        raise NotImplementedError

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
        """Reset all lanes, or those in `options["reset_mask"]`; see `VectorEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._first(observations, self._episodes.reset(options)), infos

    def step(
        self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step the environments; see `VectorEnv.step`.

        Args:
            actions: A row for each lane that is stepped.
            env_ids: Which lanes, where the wrapped environment can step some; None for all.
        """
        results, lanes = stepped(self, actions, env_ids)
        observations, rewards, terminations, truncations, infos = results
        begun, _ = self._episodes.step(terminations, truncations, lanes)
        if "final_obs" in infos:
            self._change_final(infos, observations, lanes)
        changed = self._next(observations, begun, lanes)
        return changed, rewards, terminations, truncations, infos

    def _change_final(self, infos: dict[str, Any], observations: Any, lanes: Lanes | None) -> None:
        last, mask = infos["final_obs"], infos["_final_obs"]
        batch = self._with_rows(observations, last, mask) if last.dtype == object else last
        changed = self._last(batch, mask, lanes)
        if last.dtype != object and isinstance(changed, np.ndarray):
            replace_final_obs(infos, changed)
        else:
            put_final_batch(infos, changed, batch_space(self.single_observation_space, len(mask)))

    def _with_rows(self, observations: Any, last: npt.NDArray[np.object_], mask: Mask) -> Any:
        """Return a batch with last observations in the rows of the mask."""
        space = self.env.single_observation_space
        rows = list(iterate(batch_space(space, len(mask)), observations))
        for i in np.flatnonzero(mask).tolist():
            rows[i] = last[i]
        return concatenate(space, rows, create_empty_array(space, len(rows)))
