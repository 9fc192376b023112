"""Batches of elements of spaces.

`create_empty_array` makes room for a batch, `concatenate` fills it with single elements, and
`iterate` takes it apart again; the space of the batch comes from `batch_space`. All functions
dispatch on the type of the space, and `.register(MySpace)` teaches them a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    GraphInstance,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
)
from gymcore.vector.utils.batch_spaces import batch_differing_spaces, batch_space
from gymcore.vector.utils.dispatch import unsupported_space

__all__ = [
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "iterate",
]


@singledispatch
def iterate(space: Space[Any], items: Any) -> Iterator[Any]:
    """Return an iterator over the elements of a batch.

    Args:
        space: The space of the batch, as `batch_space` made it.
        items: An element of that space.

    Returns:
        An iterator over single elements; arrays among them are views of the batch.

    Raises:
        ArgumentTypeError: `space` is not a Space or has single elements only, or `items` cannot be
            iterated over (a `TypeError`).
        CustomSpaceError: The type of the space has no registered function.

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import Dict, Discrete
        >>> batch = {"goal": np.array([3, 0])}
        >>> list(iterate(batch_space(Dict(goal=Discrete(4)), 2), batch))
        [{'goal': np.int64(3)}, {'goal': np.int64(0)}]
    """
    raise unsupported_space("iterate", space)


@iterate.register(Discrete)
def _iterate_discrete(space: Discrete, items: Any) -> Iterator[Any]:
    raise ArgumentTypeError("space: Unable to iterate over a space of type `Discrete`.")


@iterate.register(Box)
@iterate.register(MultiDiscrete)
@iterate.register(MultiBinary)
def _iterate_array(space: Space[Any], items: Any) -> Iterator[Any]:
    try:
        return iter(items)
    except TypeError:
        raise ArgumentTypeError(
            f"items: Unable to iterate over the following elements: {items}"
        ) from None


@iterate.register(Tuple)
def _iterate_tuple(space: Tuple, items: Any) -> Iterator[Any]:
    unregistered = iterate.dispatch(object)
    if any(iterate.dispatch(type(subspace)) is unregistered for subspace in space.spaces):
        return iter(items)  # a batched custom space: a tuple of single elements already
    return zip(
        *(iterate(subspace, items[i]) for i, subspace in enumerate(space.spaces)), strict=True
    )


@iterate.register(Dict)
def _iterate_dict(space: Dict, items: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = [iterate(subspace, items[key]) for key, subspace in space.spaces.items()]
    for row in zip(*columns, strict=True):
        yield dict(zip(space.spaces, row, strict=True))


@singledispatch
def concatenate(space: Space[Any], items: Iterable[Any], out: Any) -> Any:
    """Return single elements as one batch.

    Args:
        space: The space of a single element (not of the batch).
        items: The elements; their number is the batch's.
        out: What `create_empty_array(space, n)` returned. Arrays in it are written to.

    Returns:
        `out` for a space of arrays; for a Tuple or Dict a new tuple or dict of the arrays in `out`;
        for any other space a tuple of the elements themselves.

    Raises:
        ArgumentTypeError: `space` is not a Space (a `TypeError`).
        ValueError: Elements whose shape does not fit into `out`.
        TypeError: Elements whose dtype cannot be cast to that of `out`.

    Example:
        >>> from gymcore.spaces import Box
        >>> space = Box(0, 1, (2,))
        >>> concatenate(space, [space.low, space.high], create_empty_array(space, n=2))
        array([[0., 0.],
               [1., 1.]], dtype=float32)
    """
    raise unsupported_space("concatenate", space)


@concatenate.register(Box)
@concatenate.register(Discrete)
@concatenate.register(MultiDiscrete)
@concatenate.register(MultiBinary)
def _concatenate_arrays(
    space: Space[Any], items: Iterable[Any], out: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    items = items if isinstance(items, (list, tuple)) else list(items)
    if type(out) is np.ndarray and len(items) == len(out) and out.flags.c_contiguous:
        # np.stack checks and expands every row on its own; for rows that are known to fit, this is
        # five times as fast.
        shape = out.shape[1:]
        if not shape:
            column = np.array(items)
            if column.shape == out.shape:
                np.copyto(out, column)
                return out
        elif all(type(item) is np.ndarray and item.shape == shape for item in items):
            np.concatenate(items, out=out.reshape(len(out) * shape[0], *shape[1:]))
            return out
    return np.stack(items, axis=0, out=out)


@concatenate.register(Tuple)
def _concatenate_tuple(space: Tuple, items: Iterable[Any], out: tuple[Any, ...]) -> tuple[Any, ...]:
    items = list(items)
    return tuple(
        concatenate(subspace, [item[i] for item in items], out[i])
        for i, subspace in enumerate(space.spaces)
    )


@concatenate.register(Dict)
def _concatenate_dict(space: Dict, items: Iterable[Any], out: dict[str, Any]) -> dict[str, Any]:
    items = list(items)
    return {
        key: concatenate(subspace, [item[key] for item in items], out[key])
        for key, subspace in space.spaces.items()
    }


@concatenate.register(Graph)
@concatenate.register(Text)
@concatenate.register(Sequence)
@concatenate.register(OneOf)
@concatenate.register(Space)
def _concatenate_other(space: Space[Any], items: Iterable[Any], out: Any) -> tuple[Any, ...]:
    return tuple(items)


@singledispatch
def create_empty_array(space: Space[Any], n: int = 1, fn: Callable[..., Any] = np.zeros) -> Any:
    """Return a batch of `n` elements, for `concatenate` to write to.

    Args:
        space: The space of a single element.
        n: Number of elements.
        fn: Makes an array, called as `fn(shape, dtype=dtype)`; `np.empty` and `np.ones` will do.

    Returns:
        An array of shape `(n, *space.shape)`; a tuple or dict of these for a Tuple or Dict; a tuple
        of `n` least elements for Text, Graph, Sequence and OneOf; None for a custom space.

    Raises:
        ArgumentTypeError: `space` is not a Space (a `TypeError`).

    Example:
        >>> from gymcore.spaces import Box, Discrete, Tuple
        >>> create_empty_array(Tuple([Discrete(3), Box(0, 1, (2,))]), n=2)
        (array([0, 0]), array([[0., 0.],
               [0., 0.]], dtype=float32))
    """
    raise unsupported_space("create_empty_array", space)


@create_empty_array.register(Box)
@create_empty_array.register(Discrete)
@create_empty_array.register(MultiDiscrete)
@create_empty_array.register(MultiBinary)
def _create_empty_arrays(
    space: Space[Any], n: int = 1, fn: Callable[..., Any] = np.zeros
) -> npt.NDArray[Any]:
    return fn((n, *space.shape), dtype=space.dtype)  # type: ignore[misc]


@create_empty_array.register(Tuple)
def _create_empty_tuple(
    space: Tuple, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[Any, ...]:
    return tuple(create_empty_array(subspace, n, fn) for subspace in space.spaces)


@create_empty_array.register(Dict)
def _create_empty_dict(
    space: Dict, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> dict[str, Any]:
    return {key: create_empty_array(subspace, n, fn) for key, subspace in space.spaces.items()}


@create_empty_array.register(Graph)
def _create_empty_graphs(
    space: Graph, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[GraphInstance, ...]:
    def one_node() -> GraphInstance:
        nodes = create_empty_array(space.node_space, 1, fn)
        if space.edge_space is None:
            return GraphInstance(nodes=nodes, edges=None, edge_links=None)
        return GraphInstance(
            nodes=nodes,
            edges=create_empty_array(space.edge_space, 1, fn),
            edge_links=fn((1, 2), dtype=np.int64),
        )

    return tuple(one_node() for _ in range(n))


@create_empty_array.register(Text)
def _create_empty_texts(
    space: Text, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[str, ...]:
    return tuple(space.characters[0] * space.min_length for _ in range(n))


@create_empty_array.register(Sequence)
def _create_empty_sequences(
    space: Sequence, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[Any, ...]:
    if space.stack:
        return tuple(create_empty_array(space.feature_space, 1, fn) for _ in range(n))
    return tuple(() for _ in range(n))


@create_empty_array.register(OneOf)
def _create_empty_one_ofs(
    space: OneOf, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[Any, ...]:
    return tuple(() for _ in range(n))


@create_empty_array.register(Space)
def _create_empty_other(space: Space[Any], n: int = 1, fn: Callable[..., Any] = np.zeros) -> None:
    return None
