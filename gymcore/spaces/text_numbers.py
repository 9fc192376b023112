"""Texts as arrays of numbers, for interfaces and files that only have arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.spaces.batching import with_parts
from gymcore.spaces.dict import Dict
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.space import Space
from gymcore.spaces.text import Text
from gymcore.spaces.tuple import Tuple
from gymcore.spaces.utils import flatten


def space_of_numbers(space: Space) -> Space:
    """Return a space with a `MultiDiscrete` in the place of each `Text`.

    Its elements are the indices of the characters, as in `flatten`: short texts are padded with the
    number of characters, and `gymcore.spaces.utils.unflatten(text_space, numbers)` returns the
    text. The dtype is uint8 if the numbers fit, otherwise int32.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> space_of_numbers(Dict(mission=Text(4, charset="abc"), direction=Discrete(4)))
        Dict('direction': Discrete(4), 'mission': MultiDiscrete([4 4 4 4]))
    """
    if isinstance(space, (Tuple, Dict)):
        return with_parts(space, map(space_of_numbers, space._parts()))
    if not isinstance(space, Text):
        return space
    padding = len(space.character_list)
    dtype = np.uint8 if padding < 256 else np.int32
    return MultiDiscrete(np.full(space.max_length, padding + 1), dtype)


def numbers_of_texts(space: Space, value: object) -> Any:
    """Return an element of a space, or a batch, with numbers in the place of texts.

    Args:
        space: The space of one element.
        value: An element, or a batch: texts are an array, a tuple or a list of strings. Other
            arrays are returned as they are.

    Raises:
        InvalidArgument: If a text does not belong to its space.

    Examples:
        >>> numbers_of_texts(Text(4, charset="abc"), "cab")
        array([2, 0, 1, 3], dtype=uint8)
        >>> numbers_of_texts(Text(2, charset="abc"), ("b", "ac")).tolist()
        [[1, 3], [0, 2]]
    """
    if isinstance(space, (Tuple, Dict)):
        pairs = zip(space._parts(), space._unpack(value), strict=True)
        return space._pack([numbers_of_texts(*pair) for pair in pairs])
    if not isinstance(space, Text):
        return value
    dtype = space_of_numbers(space).dtype
    if isinstance(value, str):
        return flatten(space, value).astype(dtype)
    texts = np.asarray(value, object)
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts.flat))}
    numbers = np.empty((len(rows), space.max_length), dtype)
    for text, row in rows.items():
        numbers[row] = flatten(space, text)
    return numbers[[rows[text] for text in texts.flat]].reshape(*texts.shape, space.max_length)
