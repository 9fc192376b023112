"""What several wrappers build on: running statistics, zeros of a space, rescaled boxes."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument
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
from gymcore.vector.utils.dispatch import unsupported_space
from gymcore.vector.utils.space_utils import concatenate, create_empty_array
from gymcore.wrappers.running_mean_std import (
    RunningMeanStd,
    update_mean_var_count_from_moments,
)

__all__ = [
    "RunningMeanStd",
    "create_zero_array",
    "rescale_box",
    "update_mean_var_count_from_moments",
]

Change = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


# --- zeros ----------------------------------------------------------------------------------------


@singledispatch
def create_zero_array(space: Space[Any]) -> Any:
    """Return the element of a space that is zero, or as near to it as the space allows.

    `create_zero_array.register(MySpace)` teaches it a new space.

    Args:
        space: Any space.

    Returns:
        A new element of the space. Numbers are 0, or the bound that is nearest to it; texts have
        their least length; a sequence is empty, or one zero if it is stacked; a graph has one node
        and, if it has edges, one edge.

    Raises:
        ArgumentTypeError: `space` is not a Space (a `TypeError`).
        CustomSpaceError: The type of the space has no registered function.

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import Box, Dict, Discrete
        >>> create_zero_array(Dict(goal=Discrete(3, start=1), place=Box(2, 4, (2,), np.int8)))
        {'goal': np.int64(1), 'place': array([2, 2], dtype=int8)}
    """
    raise unsupported_space("create_zero_array", space)


@create_zero_array.register(Box)
def _zero_box(space: Box[Any]) -> npt.NDArray[Any]:
    zeros = np.zeros(space.shape, space.dtype)
    zeros = np.where(space.low > 0, space.low, zeros)
    return np.where(space.high < 0, space.high, zeros)


@create_zero_array.register(Discrete)
def _zero_discrete(space: Discrete) -> Any:
    return space.start


@create_zero_array.register(MultiDiscrete)
def _zero_multi_discrete(space: MultiDiscrete) -> npt.NDArray[Any]:
    return np.array(space.start, space.dtype)


@create_zero_array.register(MultiBinary)
def _zero_multi_binary(space: MultiBinary) -> npt.NDArray[Any]:
    return np.zeros(space.shape, space.dtype)


@create_zero_array.register(Tuple)
def _zero_tuple(space: Tuple) -> tuple[Any, ...]:
    return tuple(create_zero_array(each) for each in space.spaces)


@create_zero_array.register(Dict)
def _zero_dict(space: Dict) -> dict[str, Any]:
    return {key: create_zero_array(each) for key, each in space.spaces.items()}


@create_zero_array.register(Text)
def _zero_text(space: Text) -> str:
    return space.characters[0] * space.min_length


@create_zero_array.register(Sequence)
def _zero_sequence(space: Sequence) -> Any:
    if not space.stack:
        return ()
    feature = space.feature_space
    return concatenate(feature, [create_zero_array(feature)], create_empty_array(feature, 1))


@create_zero_array.register(Graph)
def _zero_graph(space: Graph) -> GraphInstance:
    nodes = np.expand_dims(create_zero_array(space.node_space), 0)
    if space.edge_space is None:
        return GraphInstance(nodes=nodes, edges=None, edge_links=None)
    edges = np.expand_dims(create_zero_array(space.edge_space), 0)
    return GraphInstance(nodes=nodes, edges=edges, edge_links=np.zeros((1, 2), np.int64))


@create_zero_array.register(OneOf)
def _zero_one_of(space: OneOf) -> tuple[int, Any]:
    return 0, create_zero_array(space.spaces[0])


# --- boxes ----------------------------------------------------------------------------------------


def rescale_box(
    box: Box[Any],
    new_min: float | np.floating[Any] | np.integer[Any] | npt.NDArray[Any],
    new_max: float | np.floating[Any] | np.integer[Any] | npt.NDArray[Any],
) -> tuple[Box[Any], Change, Change]:
    """Return a box with other bounds, and the affine maps between the two.

    Where an element is bounded on one side only it is shifted, where on none it stays.

    Args:
        box: The box to rescale.
        new_min: Lower bounds of the new one, a number or an array of its shape; `-inf` where and
            only where those of `box` are.
        new_max: Upper bounds, likewise with `inf`.

    Returns:
        The new box, of the shape and dtype of `box`; the function from elements of `box` to
        elements of the new one; the function back. The functions take one element or any batch and
        return new arrays. Slope and offset are rounded to the dtype of `box`.

    Raises:
        ArgumentTypeError: `box` is no `Box`, or a bound no number and no array (a `TypeError`).
        InvalidArgument: Wrong shapes, a lower bound above the upper one, or infinite bounds in
            other places than those of `box` (a `ValueError`).

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import Box
        >>> scaled, forward, backward = rescale_box(Box(-1, 1, (2,)), 0, np.array([1, 10]))
        >>> scaled
        Box(0.0, [ 1. 10.], (2,), float32)
        >>> forward(np.float32([0, 0.5])), backward(np.float32([0.5, 7.5]))
        (array([0.5, 7.5], dtype=float32), array([0. , 0.5], dtype=float32))
    """
    if not isinstance(box, Box):
        raise ArgumentTypeError(f"Expected box to be a Box space, got {type(box)}")
    low = _bound(box, "new_min", new_min)
    high = _bound(box, "new_max", new_max)
    if not np.all(low <= high):
        raise InvalidArgument(
            f"Expected new_min to be less than or equal to new_max, got {low} and {high}"
        )
    below, above = np.isfinite(box.low), np.isfinite(box.high)
    if np.any(below != np.isfinite(low)) or np.any(above != np.isfinite(high)):
        raise InvalidArgument(
            "For unbounded components, the target bounds must match the original infinity bounds."
        )
    # The slope in the longest type there is, rounded once; the offset from that slope, so that
    # bounds are mapped to bounds. Gymnasium's to the bit.
    slope = np.ones(box.shape, np.longdouble)
    both, only_above = below & above, above & ~below
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        length = box.high.astype(np.longdouble) - box.low.astype(np.longdouble)
        np.divide(high - low, length, out=slope, where=both)
        slope = slope.astype(box.dtype)
        shift = np.where(only_above, high - box.high, np.where(below, low - slope * box.low, 0))
        offset = shift.astype(box.dtype)

    def forward(element: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return `element` of the box that was given, as one of the new box."""
        changed: npt.NDArray[Any] = slope * element + offset
        return changed

    def backward(element: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return `element` of the new box, as one of the box that was given."""
        changed: npt.NDArray[Any] = (element - offset) / slope
        return changed

    new_box = Box(low=low, high=high, shape=box.shape, dtype=box.dtype)
    return new_box, forward, backward


def _bound(box: Box[Any], name: str, value: Any) -> npt.NDArray[Any]:
    """Return a bound as an array of the shape of the box."""
    if not isinstance(value, np.ndarray):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise ArgumentTypeError(
                f"Expected {name} to be an integer, float, or numpy array, got {type(value)}"
            )
        value = np.full(box.shape, value)
    if value.shape != box.shape:
        raise InvalidArgument(f"Expected {name}.shape to be {box.shape}, got {value.shape}")
    if value.dtype.kind not in "iufb":
        raise ArgumentTypeError(f"Expected {name} to hold real numbers, got dtype {value.dtype}")
    return value
