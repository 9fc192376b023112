"""Infos of a compiled batch about episodes that ended, as Gymnasium lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gymcore_ext.step_arrays import StepArrays


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
        infos["episode"] = {
            "r": arrays.episode_returns,
            "l": arrays.episode_lengths,
            "t": arrays.episode_times,
        }
        infos["_episode"] = arrays.ended


def as_rows(columns: tuple[npt.NDArray[Any], ...], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Observations that are tuples of numbers as an object array: a tuple a lane, or None."""
    rows = np.full(len(mask), None, object)
    lanes = np.flatnonzero(mask)
    values = zip(*(column[lanes].tolist() for column in columns), strict=True)
    for lane, row in zip(lanes.tolist(), values, strict=True):
        rows[lane] = row
    return rows
