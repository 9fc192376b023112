"""Infos of a compiled batch about episodes that ended, as Gymnasium lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.vector.late_dict import LATER, LateDict

if TYPE_CHECKING:
    from gymcore_ext.engine.step_arrays import StepArrays


def add_reports(
    infos: dict[str, Any], arrays: StepArrays, same_step: bool, statistics: bool
) -> None:
    """Put into the infos of a step what its lanes ended with.

    Args:
        infos: of the step; changed.
        arrays: what the step wrote.
        same_step: whether ended lanes began a new episode within the step.
        statistics: whether return, length and duration of episodes were asked for.
    """
    if same_step:
        last = arrays.final_observations
        infos["final_obs"] = as_rows(last, arrays.ended) if isinstance(last, tuple) else last
        infos["_final_obs"] = arrays.ended
        infos["final_info"] = arrays.final_infos
        infos["_final_info"] = arrays.ended
    if statistics:
        infos["episode"] = episode = EpisodeReports()
        episode["r"] = episode["l"] = episode["t"] = LATER
        episode._source = arrays.reports_of_ended()
        if arrays.same_reports is not None:
            infos["episode"] = _written(episode, arrays.same_reports)
        infos["_episode"] = arrays.ended


class EpisodeReports(LateDict):
    """What ended episodes came to: arrays [num_envs] `r` (return), `l` (length) and `t` (s).

    Lanes whose episode goes on have zeros. The arrays are built when they are read: clearing and
    filling all three cost 4096 lanes of CartPole a tenth of a step.
    """

    __slots__ = ("_source",)

    # Records of the last step, which nobody writes to while they are held, and whose they are.
    _source: tuple[npt.NDArray[np.void], npt.NDArray[np.bool_]]

    def _build_value(self, key: str) -> npt.NDArray[Any]:
        reports, ended = self._source
        column = reports[key]
        values = np.where(ended, column, column.dtype.type(0))
        # To the microsecond; here, since a step has better things to do than to divide.
        return np.rint(values * 1e6) / 1e6 if key == "t" else values


def _written(reports: EpisodeReports, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """The arrays with the values of the reports."""
    for key, array in arrays.items():
        array[:] = reports[key]
    return dict(arrays)


def as_rows(columns: tuple[npt.NDArray[Any], ...], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Observations that are tuples of numbers as an object array: a tuple a lane, or None."""
    rows = np.full(len(mask), None, object)
    lanes = np.flatnonzero(mask)
    values = zip(*(column[lanes].tolist() for column in columns), strict=True)
    for lane, row in zip(lanes.tolist(), values, strict=True):
        rows[lane] = row
    return rows
