"""Checks that the spaces of sub-environments can be batched, with errors that name the odd ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gymcore.error import SpaceMismatch
from gymcore.spaces import Box, Space
from gymcore.spaces.utils import is_space_dtype_shape_equiv

_MOST_NAMED = 5


def check_equal_spaces(
    kind: str, single_space: Space[Any], spaces: Sequence[Space[Any]], vector_class: str
) -> None:
    """Raise unless every space equals the first environment's.

    Args:
        kind: "observation" or "action".
        single_space: The space that every environment must have.
        spaces: The environments' spaces.
        vector_class: Name of the vector environment's class, for the message.

    Raises:
        SpaceMismatch: Some differ (a `RuntimeError`); the message names them.
    """
    odd = [
        i for i, space in enumerate(spaces) if not (space is single_space or space == single_space)
    ]
    if not odd:
        return
    message = (
        f"Some environments have an {kind} space different from `{single_space}`. "
        f"In order to batch {kind}s, the {kind} spaces from all environments must be equal: "
        f"{_named(single_space, spaces, odd)}."
    )
    if kind == "observation":
        message += (
            f" {vector_class}(..., observation_mode='same') however the sub-environments "
            f"observation spaces are not equivalent. single_observation_space={single_space}, "
            f"sub-environment observation_space={spaces[odd[0]]}. "
            "If this is intentional, use `observation_mode='different'` instead."
        )
    else:
        message += (
            " Sub-environment action space doesn't make the `single_action_space`, "
            f"action_space={spaces[odd[0]]}, single_action_space={single_space}"
        )
    raise SpaceMismatch(message)


def check_equivalent_spaces(
    single_space: Space[Any], spaces: Sequence[Space[Any]], vector_class: str
) -> None:
    """Raise unless every observation space has the shape and dtype of `single_space`.

    Args:
        single_space: The observation space that the vector environment announces.
        spaces: The environments' observation spaces.
        vector_class: Name of the vector environment's class, for the message.

    Raises:
        SpaceMismatch: Some differ (a `RuntimeError`); the message names them.
    """
    odd = [
        i for i, space in enumerate(spaces) if not is_space_dtype_shape_equiv(space, single_space)
    ]
    if odd:
        raise SpaceMismatch(
            f"{vector_class}(..., observation_mode='different' or custom space) however the "
            "sub-environments observation spaces do not share a common shape and dtype, "
            f"single_observation_space={single_space}, "
            f"sub-environment observation space={spaces[odd[0]]}: "
            f"{_named(single_space, spaces, odd)}."
        )


def _named(expected: Space[Any], spaces: Sequence[Space[Any]], odd: list[int]) -> str:
    """Return "env 1 has Box(...) (shape (3,) instead of (2,)), env 4 has ... and 12 more"."""
    parts = [
        f"env {i} has {spaces[i]}{_difference(expected, spaces[i])}" for i in odd[:_MOST_NAMED]
    ]
    if len(odd) > _MOST_NAMED:
        parts.append(f"and {len(odd) - _MOST_NAMED} more")
    return ", ".join(parts)


def _difference(expected: Space[Any], space: Space[Any]) -> str:
    """Return in what `space` differs, in brackets, where that can be said in a few words."""
    if type(space) is not type(expected):
        return f" (a {type(space).__name__} instead of a {type(expected).__name__})"
    if space.shape != expected.shape:
        return f" (shape {space.shape} instead of {expected.shape})"
    if space.dtype != expected.dtype:
        return f" (dtype {space.dtype} instead of {expected.dtype})"
    if isinstance(space, Box) and isinstance(expected, Box):
        sides = [
            side
            for side in ("low", "high")
            if not np.array_equal(getattr(space, side), getattr(expected, side))
        ]
        return f" (other bounds: {' and '.join(sides)})" if sides else ""
    return ""
