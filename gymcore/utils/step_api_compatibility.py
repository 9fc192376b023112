"""Conversion of `step`'s results between one flag (Gym up to 0.25) and two (Gym 0.26, Gymnasium).

In the old form, `info["TimeLimit.truncated"]` tells how an episode ended. As in Gymnasium, the
infos are changed in place.
"""

from __future__ import annotations

from typing import Any, SupportsFloat, TypeAlias

import numpy as np

from gymcore import error
from gymcore.core import Info, ObsType

__all__ = [
    "DoneStepType",
    "TerminatedTruncatedStepType",
    "convert_to_done_step_api",
    "convert_to_terminated_truncated_step_api",
    "step_api_compatibility",
]


DoneStepType = tuple[
    ObsType | np.ndarray, SupportsFloat | np.ndarray, bool | np.ndarray, Info | list[Info]
]
"""Results of a step in the old form: observation, reward, done, info."""

TerminatedTruncatedStepType = tuple[
    ObsType | np.ndarray,
    SupportsFloat | np.ndarray,
    bool | np.ndarray,
    bool | np.ndarray,
    Info | list[Info],
]
"""Results of a step in the new form: observation, reward, terminated, truncated, info."""

_Results: TypeAlias = tuple[Any, ...]

_KEY = "TimeLimit.truncated"


def _check_length(step_returns: _Results) -> int:
    length = len(step_returns)
    if length not in (4, 5):
        raise error.FailedCheck(
            f"step_returns: expected four elements (with done) or five, got {length}"
        )
    return length


def _check_infos(infos: object) -> None:
    if not isinstance(infos, (list, dict)):
        raise error.ArgumentTypeError(
            "Unexpected value of infos, as is_vector_envs=True, expects `info` to be a list or "
            f"dict, actual type: {type(infos)}"
        )


def convert_to_terminated_truncated_step_api(
    step_returns: _Results, is_vector_env: bool = False
) -> _Results:
    """Convert the result of `step` to five elements: observation, reward, two flags, info.

    An episode is truncated if it is done and `info["TimeLimit.truncated"]` is true; otherwise it is
    terminated. The key is removed from the infos.

    Args:
        step_returns: Four elements, or five, which are returned unchanged.
        is_vector_env: Whether they come from a vector environment. Then `done` is a bool array
            [num_envs], and the infos are a dict of arrays or a list of dicts.

    Returns:
        A tuple of five elements. Observation, reward and infos are the same objects.

    Raises:
        FailedCheck: If there are neither four nor five elements (also an `AssertionError`).
        ArgumentTypeError: If the infos of a vector environment are neither a list nor a dict.

    Examples:
        >>> info = {"TimeLimit.truncated": True, "x": 1}
        >>> convert_to_terminated_truncated_step_api((0, 1.0, True, info))
        (0, 1.0, False, True, {'x': 1})
    """
    if _check_length(step_returns) == 5:
        return step_returns
    observations, rewards, dones, infos = step_returns

    if not is_vector_env:
        truncated = infos.pop(_KEY, False)
        return observations, rewards, dones and not truncated, dones and truncated, infos

    _check_infos(infos)
    dones = np.asarray(dones, dtype=np.bool_)
    if isinstance(infos, list):
        reasons = np.array([info.pop(_KEY, False) for info in infos], dtype=np.bool_)
    else:
        reasons = np.asarray(infos.pop(_KEY, np.zeros(len(dones))), dtype=np.bool_)
        infos.pop(f"_{_KEY}", None)  # the mask of the key
    return observations, rewards, dones & ~reasons, dones & reasons, infos


def convert_to_done_step_api(step_returns: _Results, is_vector_env: bool = False) -> _Results:
    """Convert the result of `step` to four elements: observation, reward, done, info.

    If an episode is done, `info["TimeLimit.truncated"]` tells whether it was truncated and not
    terminated.

    Args:
        step_returns: Five elements, or four, which are returned unchanged.
        is_vector_env: Whether they come from a vector environment. Then the flags are bool arrays
            [num_envs], and the infos are a dict of arrays or a list of dicts.

    Returns:
        A tuple of four elements. Observation, reward and infos are the same objects.

    Raises:
        FailedCheck: If there are neither four nor five elements (also an `AssertionError`).
        ArgumentTypeError: If the infos of a vector environment are neither a list nor a dict.

    Examples:
        >>> convert_to_done_step_api((0, 1.0, False, True, {"x": 1}))
        (0, 1.0, True, {'x': 1, 'TimeLimit.truncated': True})
    """
    if _check_length(step_returns) == 4:
        return step_returns
    observations, rewards, terminated, truncated, infos = step_returns

    if not is_vector_env:
        done = terminated or truncated
        if done:
            infos[_KEY] = bool(truncated and not terminated)
        return observations, rewards, done, infos

    _check_infos(infos)
    terminated = np.asarray(terminated, dtype=np.bool_)
    truncated = np.asarray(truncated, dtype=np.bool_)
    dones = terminated | truncated
    reasons = truncated & ~terminated
    if isinstance(infos, list):
        for info, done, reason in zip(infos, dones, reasons, strict=True):
            if done:
                info[_KEY] = bool(reason)
    elif dones.any():
        infos[_KEY] = reasons
    return observations, rewards, dones, infos


def step_api_compatibility(
    step_returns: _Results, output_truncation_bool: bool = True, is_vector_env: bool = False
) -> _Results:
    """Convert the result of `step` to five or to four elements.

    Args:
        step_returns: Four or five elements.
        output_truncation_bool: Whether to return five elements, with `terminated` and `truncated`,
            instead of four, with `done`.
        is_vector_env: Whether they come from a vector environment.

    Returns:
        A tuple of five or four elements; see `convert_to_terminated_truncated_step_api` and
        `convert_to_done_step_api`.

    Raises:
        FailedCheck: If there are neither four nor five elements (also an `AssertionError`).
        ArgumentTypeError: If the infos of a vector environment are neither a list nor a dict.

    Examples:
        >>> step_api_compatibility((0, 1.0, True, {}))
        (0, 1.0, True, False, {})
        >>> step_api_compatibility((0, 1.0, True, False, {}), output_truncation_bool=False)
        (0, 1.0, True, {'TimeLimit.truncated': False})
    """
    if output_truncation_bool:
        return convert_to_terminated_truncated_step_api(step_returns, is_vector_env)
    return convert_to_done_step_api(step_returns, is_vector_env)
