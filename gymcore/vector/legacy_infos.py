"""Infos with Gym 0.26's names for ended episodes, built when somebody looks at them.

A training loop looks at `final_observation` or `final_info` at few steps or never, while an episode
ends in some lane at nearly every step of a large batch. So a step only notes what there would be to
build; it holds on to the engine's arrays, which nobody else writes to any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.vector.late_dict import LATER, LateDict
from gymcore.vector.utils.infos import split_info

__all__ = ["FinalInfos", "LegacyInfos", "with_legacy_names"]


class FinalInfos(np.ndarray[Any, np.dtype[np.object_]]):
    """Last infos of ended episodes, readable as Gym 0.26 and as Gymnasium give them.

    As an object array `[num_envs]` it holds one dict for each ended episode, None elsewhere.
    Indexed by a string it is the merged dict of arrays.

    Example:
        >>> import numpy as np
        >>> merged = {"score": np.array([0, 9]), "_score": np.array([False, True])}
        >>> infos = FinalInfos.from_merged(merged, mask=np.array([False, True]))
        >>> infos[1], infos["score"], "score" in infos
        ({'score': np.int64(9)}, array([0, 9]), True)
    """

    merged: dict[str, Any]

    @classmethod
    def from_merged(cls, merged: dict[str, Any], mask: npt.NDArray[np.bool_]) -> FinalInfos:
        """Return the infos of the environments in `mask`.

        Args:
            merged: The merged dict of infos; kept, not copied.
            mask: `[num_envs] bool`, the environments whose episode has ended.
        """
        infos = np.full(len(mask), None, dtype=object).view(cls)
        for i in np.flatnonzero(mask).tolist():
            infos[i] = split_info(merged, i)
        infos.merged = merged
        return infos

    def __array_finalize__(self, source: Any) -> None:
        """Hand the merged dict on to views and copies."""
        self.merged = getattr(source, "merged", {})

    def __getitem__(self, key: Any) -> Any:
        """Return entries by index, or a column of the merged dict by name."""
        if isinstance(key, str):
            return self.merged[key]
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        """Return whether a name is in the merged dict, or a value in the array."""
        if isinstance(key, str):
            return key in self.merged
        return super().__contains__(key)


def with_legacy_names(infos: dict[str, Any]) -> LegacyInfos:
    """Return the infos of a step in which episodes ended, with Gym's names added.

    Args:
        infos: What the engine gave: `final_obs` (an array [num_envs, ...] or an object array),
            `_final_obs` [num_envs] bool, and perhaps `final_info`. Kept, not copied; the caller
            changes it no more.
    """
    result = LegacyInfos(infos)
    result._source = infos
    result["final_observation"] = result["final_info"] = LATER
    result["_final_observation"] = result["_final_info"] = infos["_final_obs"]
    return result


class LegacyInfos(LateDict):
    """The infos of a same-step engine with `final_observation` and Gym's `final_info`.

    Made by `with_legacy_names`. Both values are built at first access and stay the same objects
    from then on. Everything that reads values builds them first, `dict(infos)`, `{**infos}` and
    `f(**infos)` included; copies and pickles are plain dicts.

    Example:
        >>> import numpy as np
        >>> mask = np.array([False, True])
        >>> dense = np.array([[0.0, 0.0], [1.5, 2.5]])
        >>> infos = with_legacy_names({"final_obs": dense, "_final_obs": mask})
        >>> "final_observation" in infos
        True
        >>> infos["final_observation"]
        array([None, array([1.5, 2.5])], dtype=object)
        >>> infos["final_info"].tolist()
        [None, {}]
    """

    __slots__ = ("_source",)

    _source: dict[str, Any]

    def _build_value(self, key: str) -> Any:
        return self._final_info() if key == "final_info" else self._final_observation()

    def _final_observation(self) -> npt.NDArray[np.object_]:
        """The last observations as an object array, None where no episode has ended."""
        final_obs, mask = self._source["final_obs"], self._source["_final_obs"]
        if isinstance(final_obs, np.ndarray) and final_obs.dtype == object:
            return final_obs
        # The compiled engine's dense batch.
        observations = np.full(len(mask), None, dtype=object)
        for i in np.flatnonzero(mask).tolist():
            observations[i] = final_obs[i]
        return observations

    def _final_info(self) -> FinalInfos:
        """The last infos, readable in both ways."""
        source = self._source
        return FinalInfos.from_merged(source.get("final_info", {}), source["_final_obs"])

    def replace_final_obs(self, final_obs: Any) -> None:
        """Put other last observations in place of the engine's, under both names.

        Args:
            final_obs: An array [num_envs, ...] or an object array; kept, not copied.
        """
        self._source = {**self._source, "final_obs": final_obs}
        dict.__setitem__(self, "final_obs", final_obs)
        dict.__setitem__(self, "final_observation", LATER)
