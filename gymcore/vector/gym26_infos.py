"""Infos of ended episodes under Gym 0.26's names in addition to Gymnasium's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import numpy.typing as npt

from gymcore.core import ActType, Info, ObsType
from gymcore.vector.utils.infos import split_rows
from gymcore.vector.vector_env import EnvIds, VectorStep, VectorWrapper
from gymcore_ext.lazy_dict import LazyDict, with_lazy_infos

if TYPE_CHECKING:
    from gymcore_ext.lazy_dict import Maker


class FinalInfos(np.ndarray[tuple[int, ...], np.dtype[np.object_]]):
    """Last infos of ended episodes, in the forms of both Gym 0.26 and Gymnasium.

    As an object array `[num_envs]` it holds a dict for each ended episode and None elsewhere.
    Indexing with a string returns an entry of the merged dict of arrays.

    Examples:
        >>> import numpy as np
        >>> merged = {"score": np.array([0, 9]), "_score": np.array([False, True])}
        >>> infos = FinalInfos.from_merged(merged, mask=np.array([False, True]))
        >>> infos[1], infos["score"], "score" in infos
        ({'score': np.int64(9)}, array([0, 9]), True)
    """

    merged: Info = {}  # noqa: RUF012 (for arrays not made by `from_merged`)

    @classmethod
    def from_merged(cls, merged: Info, mask: npt.NDArray[np.bool_]) -> FinalInfos:
        """Return the infos of the environments in `mask` [num_envs]; `merged` is not copied."""
        infos = split_rows(merged, mask).view(cls)
        infos.merged = merged
        return infos

    def __array_finalize__(self, source: object) -> None:
        """Pass the merged dict on to views and copies."""
        if isinstance(source, FinalInfos):
            self.merged = source.merged

    def __getitem__(self, key: Any) -> Any:
        """Return entries by index, or an entry of the merged dict by name."""
        if isinstance(key, str):
            return self.merged[key]
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        """Return whether a name is in the merged dict, or a value in the array."""
        if isinstance(key, str):
            return key in self.merged
        return super().__contains__(key)


def _final_infos(merged: Info | None, mask: npt.NDArray[np.bool_]) -> FinalInfos:
    """Return the `FinalInfos` of `merged`; without entries if the engine has no final infos."""
    return FinalInfos.from_merged({} if merged is None else merged, mask)


# How the entries of Gym 0.26 are made: a function and the names of its arguments among the
# infos, or the name of the info that is the entry.
GYM26_MAKERS: dict[str, Maker] = {
    "final_observation": (split_rows, "final_obs", "_final_obs"),
    "_final_observation": "_final_obs",
    "final_info": (_final_infos, "final_info", "_final_obs"),
    "_final_info": "_final_obs",
}


def add_gym26_names(infos: Info) -> Info:
    """Return infos of a same-step batch with `final_observation` and Gym 0.26's `final_info`.

    The values are made when they are first read. `infos` is not changed. It is returned as it is if
    it lacks `final_obs` or already has these names.

    Examples:
        >>> import numpy as np
        >>> mask = np.array([False, True])
        >>> infos = {"final_obs": np.array([[0.0, 0.0], [1.5, 2.5]]), "_final_obs": mask}
        >>> infos = add_gym26_names(infos)
        >>> infos["final_observation"]
        array([None, array([1.5, 2.5])], dtype=object)
        >>> infos["final_info"].tolist()
        [None, {}]
    """
    if "final_obs" not in infos or "final_observation" in infos:
        return infos
    return LazyDict(infos, GYM26_MAKERS)


# Applies `add_gym26_names` to the infos among the results of a step.
name_final_infos = partial(with_lazy_infos, "final_obs", "final_observation", GYM26_MAKERS)


def remove_gym26_names(infos: Info) -> Info:
    """Return infos without the entries of `add_gym26_names`; the same dict if there are none."""
    if "final_observation" not in infos:
        return infos
    plain = infos.unmade() if isinstance(infos, LazyDict) else dict(infos)
    del plain["final_observation"], plain["_final_observation"]
    plain["final_info"] = getattr(plain["final_info"], "merged", plain["final_info"]) or {}
    return plain


class ForwardsAttributes:
    """Mixin whose objects take the public attributes that they lack from their `env`."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Return an attribute of `env`."""
            if name.startswith("_") or name == "env":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self.env, name)


class Gym26VectorEnv(
    ForwardsAttributes,
    VectorWrapper[ObsType, ActType, ObsType, ActType, np.ndarray],
    Generic[ObsType, ActType],
):
    """A same-step vector environment whose infos also have Gym 0.26's names.

    When episodes end, the infos hold their last observations as `final_obs` (in the engine's form)
    and as `final_observation` (an object array, None where no episode has ended), their last infos
    as `final_info` (a `FinalInfos`), and a mask for each. These values are made when they are first
    read, from the arrays that the step returned; with an engine that returns the same arrays at
    each step (`copy=False`), read them before the next step.

    Other attributes are forwarded to the wrapped environment, as Gym's wrappers do.
    """

    has_gym26_infos = True
    _lane_arrays = ()

    def step(self, actions: ActType) -> VectorStep[ObsType, np.ndarray]:
        """Step the environments; see `VectorEnv.step`."""
        return name_final_infos(self.env.step(actions))

    def step_lanes(self, actions: ActType, env_ids: EnvIds) -> VectorStep[ObsType, np.ndarray]:
        """Step some of the environments; see `VectorEnv.step_lanes`."""
        return name_final_infos(self.env.step_lanes(actions, env_ids))
