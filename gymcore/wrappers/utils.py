"""Shared parts of wrappers: running statistics, zeros of a space, rescaled boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial, singledispatch
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import MAX_COUNT, count
from gymcore.error import (
    ArgumentTypeError,
    FailedCheck,
    FailedTypeCheck,
    InvalidArgument,
    InvalidBound,
)
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
from gymcore.spaces.batching import unsupported_space
from gymcore.vector.utils.space_utils import batch_space, concatenate, create_empty_array

__all__ = [
    "RunningMeanStd",
    "create_zero_array",
    "rescale_box",
    "update_mean_var_count_from_moments",
]


Array: TypeAlias = np.ndarray
Number: TypeAlias = float | np.floating | np.integer
Change: TypeAlias = Callable[[Array], Array]
State: TypeAlias = dict[str, Any]
Moment = TypeVar("Moment", float, np.ndarray)
Function: TypeAlias = Callable[[Any], Any]


class RunningMeanStd:
    """Running mean and variance of each element.

    A batch is merged with the parallel algorithm of Chan, Golub and LeVeque (1979); see
    https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Parallel_algorithm.

    Attributes:
        mean: The mean, an array of the given shape; if that is `()`, a NumPy scalar after the first
            update. An update assigns a new array, so an array read before does not change.
        var: The variance, of the same type.
        count: Number of elements seen so far, plus `epsilon`.

    Examples:
        >>> import numpy as np
        >>> statistics = RunningMeanStd(shape=(2,))
        >>> statistics.update(np.array([[0.0, 10.0], [2.0, 14.0]]))
        >>> statistics.mean.round(2), statistics.var.round(2), statistics.count
        (array([ 1., 12.]), array([1.  , 4.01]), 2.0001)
    """

    def __init__(
        self,
        epsilon: float = 1e-4,
        shape: int | tuple[int, ...] = (),
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        """Initialize the mean to 0 and the variance to 1.

        Args:
            epsilon: Weight of these initial values, as a number of elements.
            shape: Shape of one element.
            dtype: Dtype of mean and variance. Elements of a wider dtype change it to their own.
        """
        self.mean: Any = np.zeros(shape, dtype)
        self.var: Any = np.ones(shape, dtype)
        self.count: float = epsilon

    def update(self, x: Array) -> None:
        """Add a batch.

        Args:
            x: Batch of n elements, `[n, *shape]`; not changed. An empty batch adds nothing.

        Raises:
            InvalidArgument: If `x` is not a batch of elements of this shape.
        """
        x = np.asarray(x)
        if x.ndim == 0 or x.dtype.kind not in "iufb":
            raise InvalidArgument(
                f"x: expected an array [n, *{np.shape(self.mean)}] of numbers, "
                f"got {x.dtype} of shape {x.shape}"
            )
        if not len(x):
            return
        try:
            np.broadcast_shapes(x.shape[1:], np.shape(self.mean))
        except ValueError:
            raise InvalidArgument(
                f"x: expected shape [n, *{np.shape(self.mean)}], got {x.shape}"
            ) from None
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), x.shape[0])

    def update_from_moments(
        self, batch_mean: npt.ArrayLike, batch_var: npt.ArrayLike, batch_count: float
    ) -> None:
        """Add a batch given by its moments.

        Args:
            batch_mean: Mean of the batch.
            batch_var: Variance of the batch (the mean squared deviation from the mean).
            batch_count: Number of elements in the batch.
        """
        self.mean, self.var, self.count = update_mean_var_count_from_moments(
            self.mean, self.var, self.count, batch_mean, batch_var, batch_count
        )

    def merge(
        self,
        others: RunningMeanStd | Iterable[RunningMeanStd],
        start: RunningMeanStd | None = None,
    ) -> None:
        """Add the elements that other statistics have seen; exact up to rounding.

        If workers began with copies of the same statistics, each copy includes those elements.
        `start` subtracts this common part from each of the others, so that it is counted once.

        Args:
            others: One or several other statistics; not changed.
            start: State from which each of the others began; None to count all their elements.

        Raises:
            ArgumentTypeError: If one of these is not a `RunningMeanStd`.
            InvalidArgument: If shapes differ, or one of the others has seen fewer elements than
                `start`. In this case nothing is changed.

        Examples:
            >>> import copy
            >>> start = RunningMeanStd()
            >>> one, other = copy.deepcopy(start), copy.deepcopy(start)
            >>> one.update(np.array([1.0, 2.0, 3.0]))
            >>> other.update(np.array([10.0]))
            >>> start.merge([one, other], start=copy.deepcopy(start))
            >>> round(float(start.mean), 3), round(start.count, 4)
            (4.0, 4.0001)
        """
        if isinstance(others, RunningMeanStd):
            others = [others]
        merged = self._moments("self", self)
        common = None if start is None else self._moments("start", start)
        for i, other in enumerate(others):
            mean, var, count = self._moments(f"others[{i}]", other)
            if common is not None:
                added = count - common[2]
                if added < 0:
                    raise InvalidArgument(
                        f"others[{i}]: expected a count of at least that of start, {common[2]}, "
                        f"got {count}"
                    )
                if added == 0:
                    continue
                new_mean = mean + (mean - common[0]) * (common[2] / added)
                between = np.square(new_mean - common[0]) * (common[2] * added / count)
                squares = var * count - common[1] * common[2] - between
                mean, var, count = new_mean, np.maximum(squares / added, 0), added
            merged = update_mean_var_count_from_moments(*merged, mean, var, count)
        dtype = np.asarray(self.mean).dtype
        self.mean, self.var = (np.asarray(each, dtype)[()] for each in merged[:2])
        self.count = merged[2]

    def _moments(self, name: str, other: RunningMeanStd) -> tuple[Array, Array, float]:
        """Return the moments of other statistics in double precision."""
        if not isinstance(other, RunningMeanStd):
            raise ArgumentTypeError(f"{name}: expected a RunningMeanStd, got {type(other)}")
        if np.shape(other.mean) != np.shape(self.mean):
            raise InvalidArgument(
                f"{name}: expected shape {np.shape(self.mean)}, got {np.shape(other.mean)}"
            )
        return np.asarray(other.mean, float), np.asarray(other.var, float), float(other.count)

    def get_state(self) -> State:
        """Return the state as a dict, for saving.

        Returns:
            `{"mean": array, "var": array, "count": float, "dtype": str}`, all copies. `numpy.savez`
            and `pickle` accept it directly, JSON after `.tolist()` of the arrays.

        Examples:
            >>> RunningMeanStd(shape=(1,)).get_state()
            {'mean': array([0.]), 'var': array([1.]), 'count': 0.0001, 'dtype': 'float64'}
        """
        mean, var = np.array(self.mean), np.array(self.var)
        return {"mean": mean, "var": var, "count": float(self.count), "dtype": mean.dtype.name}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `get_state`, from this or another process.

        Args:
            state: The dict, with arrays or lists, or its form as loaded by `numpy.load`; copied and
                not changed.

        Raises:
            ArgumentTypeError: If `state` is not a mapping.
            InvalidArgument: If a key is missing, or a value is not a number or has another shape
                than these statistics. In this case nothing is changed.

        Examples:
            >>> import json
            >>> statistics = RunningMeanStd(shape=(1,))
            >>> statistics.set_state(json.loads('{"mean": [3], "var": [2], "count": 10}'))
            >>> statistics.mean, statistics.count
            (array([3.]), 10.0)
        """
        if not isinstance(state, Mapping):
            raise ArgumentTypeError(f"state: expected a dict, got {type(state)}")
        missing = [key for key in ("mean", "var", "count") if key not in state]
        if missing:
            raise InvalidArgument(f"state: expected keys mean, var and count, missing: {missing}")
        shape = np.shape(self.mean)
        try:
            dtype = (
                np.dtype(str(state["dtype"])) if "dtype" in state else np.asarray(self.mean).dtype
            )
            mean, var = (np.array(state[key], dtype) for key in ("mean", "var"))
            count = float(state["count"])
        except (TypeError, ValueError) as problem:
            raise InvalidArgument(f"state: expected numbers, {problem}") from None
        for name, array in (("mean", mean), ("var", var)):
            if array.shape != shape:
                raise InvalidArgument(f"state[{name!r}]: expected shape {shape}, got {array.shape}")
        if not count >= 0 or not np.all(var >= 0):
            raise InvalidArgument(
                f"state: expected a count and variances of at least 0, got count={count}, var={var}"
            )
        self.mean, self.var, self.count = mean, var, count


def update_mean_var_count_from_moments(
    mean: Moment,
    var: Moment,
    count: float,
    batch_mean: Moment,
    batch_var: Moment,
    batch_count: float,
) -> tuple[Moment, Moment, float]:
    """Combine the mean, variance and count of two sets; see Chan, Golub and LeVeque (1979).

    Examples:
        >>> mean, var, count = update_mean_var_count_from_moments(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        >>> mean, float(var), count
        (3.0, 6.0, 9.0)
    """
    delta = batch_mean - mean
    total = count + batch_count
    new_mean = mean + delta * batch_count / total
    squares = var * count + batch_var * batch_count
    squares = squares + delta * delta * count * batch_count / total
    return new_mean, squares / total, total


class KeepsStatistics:
    """A wrapper with running statistics in the attribute named by `_statistics_name`.

    To merge the statistics of several processes, see `RunningMeanStd.merge`.

    Attributes:
        update_running_mean: Whether the statistics are updated; set it to False to freeze them.
    """

    _statistics_name: str
    epsilon: float
    update_running_mean = True

    def _begin_statistics(
        self, epsilon: float, shape: tuple[int, ...] = (), dtype: npt.DTypeLike = np.float64
    ) -> None:
        """Initialize the statistics, and set `epsilon`, which must be positive."""
        if not isinstance(epsilon, (int, float, np.number)):
            raise ArgumentTypeError(f"epsilon: expected a number, got {type(epsilon)}")
        if not epsilon > 0:
            raise InvalidBound(f"`epsilon` should be strictly positive. Received {epsilon}")
        setattr(self, self._statistics_name, RunningMeanStd(shape=shape, dtype=dtype))
        self.epsilon = epsilon

    def get_statistics(self) -> State:
        """Return mean, variance and count for saving; see `RunningMeanStd.get_state`."""
        statistics: RunningMeanStd = getattr(self, self._statistics_name)
        return statistics.get_state()

    def set_statistics(self, state: Mapping[str, object]) -> None:
        """Restore the result of `get_statistics`, from this or another process."""
        statistics: RunningMeanStd = getattr(self, self._statistics_name)
        statistics.set_state(state)


# --- zeros ----------------------------------------------------------------------------------------


@singledispatch
def create_zero_array(space: Space) -> Any:
    """Return the zero element of a space, or the nearest one that the space contains.

    `create_zero_array.register(MySpace)` adds support for another type of space.

    Args:
        space: The space.

    Returns:
        A new element of the space. Numbers are 0, or the bound nearest to 0; texts have their
        minimum length; a sequence is empty, or contains one zero if it is stacked; a graph has one
        node and, if it has edges, one edge.

    Raises:
        ArgumentTypeError: If `space` is not a Space.
        CustomSpaceError: If no function is registered for the type of the space.

    Examples:
        >>> import numpy as np
        >>> from gymcore.spaces import Box, Dict, Discrete
        >>> create_zero_array(Dict(goal=Discrete(3, start=1), place=Box(2, 4, (2,), np.int8)))
        {'goal': np.int64(1), 'place': array([2, 2], dtype=int8)}
    """
    raise unsupported_space("create_zero_array", space)


@create_zero_array.register(Box)
def _zero_box(space: Box) -> Array:
    zeros = np.zeros(space.shape, space.dtype)
    zeros = np.where(space.low > 0, space.low, zeros)
    return np.where(space.high < 0, space.high, zeros)


@create_zero_array.register(Discrete)
def _zero_discrete(space: Discrete) -> np.integer:
    return space.start


@create_zero_array.register(MultiDiscrete)
def _zero_multi_discrete(space: MultiDiscrete) -> Array:
    return np.array(space.start, space.dtype)


@create_zero_array.register(MultiBinary)
def _zero_multi_binary(space: MultiBinary) -> Array:
    return np.zeros(space.shape, space.dtype)


@create_zero_array.register(Tuple)
@create_zero_array.register(Dict)
def _zero_parts(space: Tuple | Dict) -> object:
    return space._pack(map(create_zero_array, space._parts()))


@create_zero_array.register(Text)
def _zero_text(space: Text) -> str:
    return space.characters[0] * space.min_length


@create_zero_array.register(Sequence)
def _zero_sequence(space: Sequence) -> object:
    if not space.stack:
        return ()
    feature = space.feature_space
    return concatenate(feature, [create_zero_array(feature)], create_empty_array(feature, 1))


@create_zero_array.register(Graph)
def _zero_graph(space: Graph) -> GraphInstance:
    nodes = create_zero_array(batch_space(space.node_space, 1))
    if space.edge_space is None:
        return GraphInstance(nodes=nodes, edges=None, edge_links=None)
    edges = create_zero_array(batch_space(space.edge_space, 1))
    return GraphInstance(nodes=nodes, edges=edges, edge_links=np.zeros((1, 2), np.int64))


@create_zero_array.register(OneOf)
def _zero_one_of(space: OneOf) -> tuple[int, object]:
    return 0, create_zero_array(space.spaces[0])


# --- boxes ----------------------------------------------------------------------------------------


def rescale_box(
    box: Box,
    new_min: Number | Array,
    new_max: Number | Array,
) -> tuple[Box, Change, Change]:
    """Return a box with other bounds, and the affine maps between both boxes.

    Elements with one bound are shifted; elements without bounds are unchanged.

    Args:
        box: The box to rescale.
        new_min: Lower bounds of the new box, a number or an array of its shape; `-inf` exactly
            where `box` has no lower bound.
        new_max: Upper bounds of the new box; `inf` exactly where `box` has no upper bound.

    Returns:
        The new box, of the shape of `box`; the function that maps elements of `box` to the new
        box; the inverse function. The functions accept one element or any batch, and return new
        arrays. The dtype of the new box, to which slope and offset are rounded, is that of `box`,
        except that integers become floats unless the map takes integers to integers.

    Raises:
        ArgumentTypeError: If `box` is not a `Box`, or a bound is neither a number nor an array.
        InvalidArgument: If a bound has the wrong shape, a lower bound is above the upper one, or a
            bound is infinite where that of `box` is not, or the reverse.

    Examples:
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
    # The slope is computed in the widest float type and rounded once. The offset is computed from
    # this slope, so that bounds are mapped to bounds. Bit-identical to Gymnasium.
    slope = np.ones(box.shape, np.longdouble)
    both, only_above = below & above, above & ~below
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        length = box.high.astype(np.longdouble) - box.low.astype(np.longdouble)
        np.divide(high - low, length, out=slope, where=both)
        dtype = box.dtype
        if dtype.kind != "f" and not all(np.all(each == np.rint(each)) for each in (slope, low)):
            dtype = np.result_type(dtype, np.float32)  # float64 for integers of 32 bits and more
        slope = slope.astype(dtype)
        shift = np.where(only_above, high - box.high, np.where(below, low - slope * box.low, 0))
        offset = shift.astype(dtype)

    new_box = Box(low=low, high=high, shape=box.shape, dtype=dtype)
    return new_box, partial(_scale, slope, offset), partial(_unscale, slope, offset)


def _scale(slope: Array, offset: Array, element: Array) -> Array:
    scaled: Array = slope * element + offset
    return scaled


def _unscale(slope: Array, offset: Array, element: Array) -> Array:
    unscaled: Array = (element - offset) / slope
    return unscaled


def _bound(box: Box, name: str, value: Number | Array) -> Array:
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


def clip(low: Number | Array | None, high: Number | Array | None, values: npt.ArrayLike) -> Array:
    """Equivalent of `np.clip`, six times as fast for small arrays; a bound may be None."""
    clipped = np.asanyarray(values)  # a Python number becomes float64 or int64
    if low is not None:
        clipped = np.maximum(clipped, low)
    return clipped if high is None else np.minimum(clipped, high)


# --- arguments ------------------------------------------------------------------------------------


def is_integer(value: object) -> TypeGuard[int | np.integer]:
    """Return whether a value is a Python or NumPy integer, and not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def integer(name: str, value: object) -> int:
    """Return an integer argument as an int; raise an ArgumentTypeError if it is not one."""
    if not is_integer(value):
        raise ArgumentTypeError(
            f"The {name} is expected to be an integer, actual type: {type(value)}"
        )
    return int(value)


def bin_counts(bins: object, size: int) -> npt.NDArray[np.int64]:
    """Return the number of bins of each element of an observation or action."""
    counts = [bins] * size if is_integer(bins) else bins
    if isinstance(counts, (str, bytes)) or not isinstance(counts, Collection):
        raise FailedTypeCheck(
            f"bins must be an integer or a sequence of integers, got {type(bins)}"
        )
    if len(counts) != size:
        raise FailedCheck(f"bins must match action dimensions: expected {size}, got {len(counts)}")
    if not all(map(is_integer, counts)):
        raise FailedTypeCheck(f"bins must be integers, got {bins!r}")
    if min(counts, default=1) < 1:
        raise FailedCheck(f"bins must be positive, got {bins!r}")
    count("bins", max(counts, default=1), 1, MAX_COUNT)
    return np.array(counts, np.int64).reshape(size)


class NumbersBins:
    """A mixin for wrappers that divide the elements of a bounded `Box` into equal bins."""

    low: Array
    high: Array
    n_dims: int
    bins: npt.NDArray[np.int64]
    multidiscrete: bool
    _count: int

    def _divide(
        self, what: str, box: Space, bins: int | tuple[int, ...], multidiscrete: bool
    ) -> Space:
        """Set the attributes, and return the space of bin indices; see the subclasses."""
        if not isinstance(box, Box):
            raise FailedTypeCheck(
                f"Discretize{what.title()} is only compatible with Box continuous {what}s. "
                f"Got {type(box)}"
            )
        self.low, self.high = box.low.flatten(), box.high.flatten()
        finite = np.isfinite(self.low).all() and np.isfinite(self.high).all()
        if not (finite and box.bounded_below.all() and box.bounded_above.all()):
            raise FailedCheck(
                f"Discretization requires {what} space to be finite. "
                f"Found: low={self.low}, high={self.high}"
            )
        self.n_dims = len(self.low)
        self.bins = bin_counts(bins, self.n_dims)
        self.multidiscrete = multidiscrete
        self._count = math.prod(self.bins.tolist())
        if multidiscrete:
            return MultiDiscrete(self.bins)
        if self._count > np.iinfo(np.int64).max:
            raise FailedCheck(
                f"bins: {self._count} combinations are too many for a Discrete space; "
                "use multidiscrete=True"
            )
        return Discrete(self._count)

    def _bounds(self) -> Iterator[tuple[np.floating, np.floating, int]]:
        """Return the bounds and the number of bins of each element."""
        return zip(self.low, self.high, self.bins.tolist(), strict=True)


class Transforms:
    """A mixin of wrappers that apply a function to each observation or action."""

    func: Function
    _batch: tuple[Function, Function] | None = None
    """`func`, and its equivalent for a batch of any size."""

    def _batch_function(self) -> Function | None:
        """Return the function that applies the wrapper to a batch at once.

        Return None if `func` is a user's, or a subclass overrides the method that applies it.
        """
        return self._batch[1] if self._batch is not None and self._batch[0] is self.func else None
