"""Running mean and variance: updated batch by batch, saved, restored and merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore_ext.wrappers.running_stats import ColumnStats

__all__ = ["RunningMeanStd", "update_mean_var_count_from_moments"]


class RunningMeanStd:
    """Mean and variance of everything seen so far, element by element.

    A batch is merged into them by the parallel formula of Chan, Golub and LeVeque (1979), see
    https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Parallel_algorithm.

    Attributes:
        mean: The mean, an array of the given shape; a NumPy number if that is `()`, after the first
            update. An update puts another array in its place, so one that was read stays as it was.
        var: The variance, likewise.
        count: How many elements have been seen, and `epsilon`.

    Example:
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
        """Begin with a mean of 0 and a variance of 1.

        Args:
            epsilon: What these count for, in elements.
            shape: Shape of one element.
            dtype: Of mean and variance. Elements of a longer type change it to theirs.
        """
        self.mean: Any = np.zeros(shape, dtype)
        self.var: Any = np.ones(shape, dtype)
        self.count: float = epsilon

    def update(self, x: npt.NDArray[Any]) -> None:
        """Add a batch.

        Args:
            x: `[n, *shape]`, n elements; not changed. An empty batch adds nothing.

        Raises:
            InvalidArgument: Not a batch of elements of that shape (a `ValueError`).
        """
        x = np.asarray(x)
        if x.ndim == 0 or x.dtype.kind not in "iufb":
            raise InvalidArgument(
                f"x: expected an array [n, *{np.shape(self.mean)}] of numbers, "
                f"got {x.dtype} of shape {x.shape}"
            )
        if not len(x):
            return
        found = ColumnStats.update(x, self.mean, self.var, self.count)
        if found is not None:
            self.mean, self.var = found
            self.count += len(x)
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
        """Add a batch of which only the moments are known.

        Args:
            batch_mean: Its mean.
            batch_var: Its variance (the mean square distance from the mean).
            batch_count: Its number of elements.
        """
        self.mean, self.var, self.count = update_mean_var_count_from_moments(
            self.mean, self.var, self.count, batch_mean, batch_var, batch_count
        )

    def merge(
        self,
        others: RunningMeanStd | Iterable[RunningMeanStd],
        start: RunningMeanStd | None = None,
    ) -> None:
        """Add what others have seen, as if it had been seen here; exact up to rounding.

        Workers that each began with the same statistics have all got these in theirs. With `start`
        that common beginning is taken out of each of the others, so it counts once, with what is
        here already:

            central = RunningMeanStd(shape=(4,))
            start = copy.deepcopy(central)          # sent to every worker
            ...                                     # each updates a copy of it
            central.merge(from_workers, start=start)

        Without `start` everything in the others counts, their `epsilon` included.

        Args:
            others: Other statistics, or several; not changed.
            start: What each of the others began with; not changed.

        Raises:
            ArgumentTypeError: One of these is no `RunningMeanStd` (a `TypeError`).
            InvalidArgument: Their shapes differ, or one of the others has seen less than `start`
                (a `ValueError`). Nothing has been added then.

        Example:
            >>> import copy
            >>> import numpy as np
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
                        f"others[{i}]: expected a count of at least {common[2]}, that of start, "
                        f"got {count}"
                    )
                if added == 0:
                    continue
                new_mean = mean + (mean - common[0]) * (common[2] / added)
                apart = np.square(new_mean - common[0]) * (common[2] * added / count)
                squares = var * count - common[1] * common[2] - apart
                mean, var, count = new_mean, np.maximum(squares / added, 0), added
            merged = update_mean_var_count_from_moments(*merged, mean, var, count)
        dtype = np.asarray(self.mean).dtype
        self.mean, self.var = (np.asarray(each, dtype)[()] for each in merged[:2])
        self.count = merged[2]

    def _moments(self, name: str, other: Any) -> tuple[Any, Any, float]:
        """Return other statistics in double precision."""
        if not isinstance(other, RunningMeanStd):
            raise ArgumentTypeError(f"{name}: expected a RunningMeanStd, got {type(other)}")
        if np.shape(other.mean) != np.shape(self.mean):
            raise InvalidArgument(
                f"{name}: expected shape {np.shape(self.mean)}, got {np.shape(other.mean)}"
            )
        return np.asarray(other.mean, float), np.asarray(other.var, float), float(other.count)

    def get_state(self) -> dict[str, Any]:
        """Return all there is to save.

        Returns:
            `{"mean": array, "var": array, "count": float, "dtype": str}`, copies. `numpy.savez` and
            `pickle` take it as it is, JSON after `.tolist()` of the arrays.

        Example:
            >>> RunningMeanStd(shape=(1,)).get_state()
            {'mean': array([0.]), 'var': array([1.]), 'count': 0.0001, 'dtype': 'float64'}
        """
        mean, var = np.array(self.mean), np.array(self.var)
        return {"mean": mean, "var": var, "count": float(self.count), "dtype": mean.dtype.name}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` returned, here or in another process.

        Args:
            state: That dict, with arrays or lists, or what `numpy.load` gives for it; not changed,
                and copied.

        Raises:
            ArgumentTypeError: Not a mapping (a `TypeError`).
            InvalidArgument: A key is missing, or of another shape than the statistics here, or not
                a number (a `ValueError`). Nothing has changed then.

        Example:
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
            raise InvalidArgument(f"state: expected the keys mean, var and count, got no {missing}")
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
    mean: Any, var: Any, count: float, batch_mean: Any, batch_var: Any, batch_count: float
) -> tuple[Any, Any, float]:
    """Return mean, variance and count of two sets of which these are known.

    Args:
        mean: Mean of the one.
        var: Its variance.
        count: Its number of elements.
        batch_mean: Mean of the other.
        batch_var: Its variance.
        batch_count: Its number of elements.

    Returns:
        Mean, variance and count of both together: Chan, Golub and LeVeque (1979).

    Example:
        >>> mean, var, count = update_mean_var_count_from_moments(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        >>> mean, float(var), count
        (3.0, 6.0, 9.0)
    """
    delta = batch_mean - mean
    total = count + batch_count
    new_mean = mean + delta * batch_count / total
    squares = var * count + batch_var * batch_count
    squares = squares + np.square(delta) * count * batch_count / total
    return new_mean, squares / total, total
