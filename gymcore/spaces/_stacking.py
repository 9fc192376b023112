"""Batches of elements, for the two spaces whose elements hold many elements of another space.

The functions for batches live in `gymcore.vector.utils`, which needs all spaces: they are looked
up at the first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gymcore import error
from gymcore.spaces.box import Box
from gymcore.spaces.dict import Dict
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.multi_binary import MultiBinary
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.space import Space
from gymcore.spaces.tuple import Tuple

_ARRAY_SPACES = (Box, Discrete, MultiDiscrete, MultiBinary)

# What reading a value that is no batch at all may raise.
_NOT_A_BATCH = (TypeError, ValueError, KeyError, IndexError, error.CustomSpaceError)


def batch_space(space: Space[Any], n: int) -> Space[Any]:
    """Return the space of batches of `n` elements; its generator is a copy of the space's."""
    from gymcore.vector.utils import batch_space as batch

    return batch(space, n)


def is_array_like(space: Space[Any]) -> bool:
    """Tell whether a batch of elements is made of arrays only (in dicts and tuples)."""
    if isinstance(space, Dict):
        return all(map(is_array_like, space.spaces.values()))
    if isinstance(space, Tuple):
        return all(map(is_array_like, space.spaces))
    return isinstance(space, _ARRAY_SPACES)


def stack(space: Space[Any], items: Sequence[Any]) -> Any:
    """Make a batch.

    Args:
        space: The space of one element.
        items: Elements of it.

    Returns:
        Arrays with a first axis over the elements, in the dicts and tuples of the space; a tuple
        of the elements where they are not arrays.
    """
    from gymcore.vector.utils import concatenate, create_empty_array

    if not items:
        return _empty(space)
    return concatenate(space, items, create_empty_array(space, len(items)))


def unstack(batched: Space[Any], batch: Any) -> list[Any] | None:
    """Take a batch apart.

    Args:
        batched: The space of batches (of any number of elements).
        batch: What may be a batch.

    Returns:
        The elements, or None if `batch` has not the form of a batch.
    """
    from gymcore.vector.utils import iterate

    try:
        return list(iterate(batched, batch))
    except _NOT_A_BATCH:
        return None


def batch_to_jsonable(space: Space[Any], batched: Space[Any], batch: Any) -> Any:
    """Turn a batch into what `json` can write.

    Args:
        space: The space of one element.
        batched: The space of batches.
        batch: A batch.

    Returns:
        A batch of arrays as one sample of the space of batches; another batch as a list of its
        elements.
    """
    if is_array_like(space):
        return batched.to_jsonable([batch])
    return space.to_jsonable(unstack(batched, batch) or [])


def batch_from_jsonable(space: Space[Any], batched: Space[Any], jsonable: Any) -> Any:
    """Turn the result of `batch_to_jsonable` back into a batch."""
    if is_array_like(space):
        return with_axes(space, batched.from_jsonable(jsonable)[0])
    return stack(space, space.from_jsonable(jsonable))


def with_axes(space: Space[Any], batch: Any) -> Any:
    """Give the arrays of an empty batch the axes that `[]` in a JSON text does not tell."""
    if isinstance(space, Dict):
        return {key: with_axes(sub, batch[key]) for key, sub in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(map(with_axes, space.spaces, batch))
    return batch if len(batch) else _empty(space)


def _empty(space: Space[Any]) -> Any:
    """Return the batch of no elements."""
    if isinstance(space, Dict):
        return {key: _empty(sub) for key, sub in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(map(_empty, space.spaces))
    if isinstance(space, _ARRAY_SPACES):
        return np.zeros((0, *(space.shape or ())), dtype=space.dtype)
    return ()
