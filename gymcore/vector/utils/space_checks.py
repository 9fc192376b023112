"""Checks that the spaces of sub-environments can be batched, with errors that name the odd ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import eq
from typing import Any, TypeAlias

import numpy as np

from gymcore.error import SpaceMismatch
from gymcore.spaces import Box, Dict, Space, Tuple
from gymcore.spaces.utils import is_space_dtype_shape_equiv

Fits: TypeAlias = Callable[[Any, Any], bool]

_MOST_NAMED = 5


def differing_spaces(expected: Space[Any], spaces: Sequence[Space[Any]]) -> list[int]:
    """Return the indices, in order, of the spaces for which not `space == expected`.

    Args:
        expected: The space to compare with.
        spaces: Any spaces.

    Example:
        >>> from gymcore.spaces import Discrete
        >>> differing_spaces(Discrete(3), [Discrete(3), Discrete(4), Discrete(3, start=1)])
        [1, 2]
    """
    return [i for i, space in enumerate(spaces) if space is not expected and space != expected]


def _parts(space: Any) -> Iterable[tuple[Any, Space[Any]]]:
    """Return the subspaces of a Dict or a Tuple with their keys or indices."""
    if isinstance(space, Dict):
        return space.spaces.items()
    return enumerate(space.spaces) if isinstance(space, Tuple) else ()


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
    odd = differing_spaces(single_space, spaces)
    if not odd:
        return
    message = (
        f"Some environments have an {kind} space different from `{single_space}`. "
        f"In order to batch {kind}s, the {kind} spaces from all environments must be equal: "
        f"{_named(single_space, spaces, odd, eq)}."
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
            f"{_named(single_space, spaces, odd, is_space_dtype_shape_equiv)}."
        )


def _named(expected: Space[Any], spaces: Sequence[Space[Any]], odd: list[int], fits: Fits) -> str:
    """Return "env 1 has Box(...) (shape (3,) instead of (2,)), env 4 has ... and 12 more"."""
    parts = []
    for i in odd[:_MOST_NAMED]:
        words = _difference(expected, spaces[i], fits)
        parts.append(f"env {i} has {spaces[i]}{f' ({words})' if words else ''}")
    if len(odd) > _MOST_NAMED:
        parts.append(f"and {len(odd) - _MOST_NAMED} more")
    return ", ".join(parts)


def _difference(expected: Any, space: Any, fits: Fits, path: str = "") -> str:
    """Return in what `space` differs, where that can be said in a few words."""
    words = ""
    if type(space) is not type(expected):
        words = f"a {type(space).__name__} instead of a {type(expected).__name__}"
    elif space.shape != expected.shape:
        words = f"shape {space.shape} instead of {expected.shape}"
    elif space.dtype != expected.dtype:
        words = f"dtype {space.dtype} instead of {expected.dtype}"
    elif isinstance(space, Box):
        sides = [
            side
            for side in ("low", "high")
            if not np.array_equal(getattr(space, side), getattr(expected, side))
        ]
        words = f"other bounds: {' and '.join(sides)}" if sides else ""
    elif isinstance(space, Dict) and space.spaces.keys() != expected.spaces.keys():
        words = f"keys {list(space.spaces)} instead of {list(expected.spaces)}"
    elif isinstance(space, Tuple) and len(space.spaces) != len(expected.spaces):
        words = f"{len(space.spaces)} spaces instead of {len(expected.spaces)}"
    else:
        for key, part in _parts(expected):
            if not fits(space.spaces[key], part):
                return _difference(part, space.spaces[key], fits, f"{path}[{key!r}]")
        if path:
            words = f"{space} instead of {expected}"
    return f"{path}: {words}" if path and words else words
