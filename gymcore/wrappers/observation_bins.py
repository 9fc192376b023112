"""Arrays of numbers as indices of bins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType, WrapperObsType
from gymcore.spaces import Box, Discrete, MultiDiscrete
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.observation_base import (
    BatchFunction,
    TransformObservation,
    is_integer,
    observed,
)

__all__ = ["Bins", "DiscretizeObservation"]

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


class Bins:
    """Equal bins between the bounds of each element of a bounded `Box`.

    Attributes:
        low: Lower bounds, `[size]` in the dtype of the box.
        high: Upper bounds, likewise.
        bins: How many bins there are an element, `[size]` int.
        bin_edges: The edges between the bins, an array `[bins - 1]` an element.

    Example:
        >>> bins = Bins(Box(0, 1, (2,)), 4)
        >>> bins.indices(np.float32([[0.1, 0.3], [0.5, 2]]))
        array([[0, 1],
               [2, 3]])
    """

    def __init__(self, space: Box[Any], bins: Any) -> None:
        """Cut the elements of a space.

        Args:
            space: A box with finite bounds.
            bins: How many bins an element has: one number for all, or one for each.

        Raises:
            FailedTypeCheck: if `bins` is neither an integer nor a sequence of them (a `TypeError`).
            FailedCheck: if there are too many or too few of them, one is not positive, or the space
                is not bounded (a `ValueError`).
        """
        self.low, self.high = space.low.flatten(), space.high.flatten()
        bounded = space.bounded_below.all() and space.bounded_above.all()
        if not (bounded and np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise error.FailedCheck(
                "Discretization requires observation space to be finite. "
                f"Found: low={space.low}, high={space.high}"
            )
        self.bins = _checked_bins(bins, len(self.low))
        self.bin_edges = [
            np.linspace(lo, hi, count + 1)[1:-1]
            for lo, hi, count in zip(self.low, self.high, self.bins.tolist(), strict=True)
        ]
        counts = self.bins.tolist()
        self.count = math.prod(counts)
        # Indices of elements as digits of one number, the last one moving fastest.
        self._strides = [math.prod(counts[i + 1 :]) for i in range(len(counts))]
        ends = zip(self.low.tolist(), self.bin_edges, self.high.tolist(), strict=True)
        self._all_edges = [np.array([lo, *edges, hi]) for lo, edges, hi in ends]

    def indices(self, values: Array) -> Indices:
        """Return the bins of values.

        Args:
            values: `[n, size]`; beyond the bounds counts as on them, and NaN as above.

        Returns:
            `[n, size]` int64.
        """
        values = np.minimum(np.maximum(values, self.low), self.high)
        out = np.empty(values.shape, np.int64)
        for i, edges in enumerate(self.bin_edges):
            out[:, i] = edges.searchsorted(values[:, i], "right")
        return out

    def flat(self, indices: Indices) -> Indices:
        """Return one number for the bins of all elements, `[n]` from `[n, size]`."""
        return indices @ np.array(self._strides, np.int64)

    def unflat(self, numbers: Any) -> Indices:
        """Return the bins of all elements for one number, `[n, size]` from `[n]`."""
        column = np.asarray(numbers)[..., None]
        result: Indices = column // np.array(self._strides, np.int64) % self.bins
        return result

    def edges(self, indices: Indices) -> tuple[Array, Array]:
        """Return the lower and upper edges of bins, each `[n, size]` in the dtype of the box."""
        lower = np.empty(indices.shape, self.low.dtype)
        upper = np.empty_like(lower)
        for i, edges in enumerate(self._all_edges):
            lower[:, i] = edges[indices[:, i]]
            upper[:, i] = edges[indices[:, i] + 1]
        return lower, upper

    def checked(self, indices: Any, multidiscrete: bool, batch: tuple[int, ...]) -> Indices:
        """Return what a caller gave as the bins of all elements, `[n, size]`.

        Args:
            indices: Of shape `batch`, or `(*batch, size)` if `multidiscrete`.
            multidiscrete: Whether there is an index an element, or one for all.
            batch: The axes before.

        Raises:
            FailedTypeCheck: if they are no integers (a `TypeError`).
            IndexError: if one is not that of a bin. Also an `InvalidArgument`.
        """
        given = np.asarray(indices)
        size = len(self.bins)
        shape = (*batch, size) if multidiscrete else batch
        if given.dtype.kind not in "iu":
            raise error.FailedTypeCheck(f"revert_observation: expected integers, got {indices!r}")
        if given.shape != shape:
            raise _NoSuchBin(
                f"revert_observation: expected indices of shape {shape}, got {given.shape}"
            )
        limit = self.bins if multidiscrete else self.count
        if (given < 0).any() or (given >= limit).any():
            raise _NoSuchBin(
                f"revert_observation: expected indices from 0 to below {limit}, got {indices}"
            )
        return given.reshape(-1, size) if multidiscrete else self.unflat(given.reshape(-1))


class _NoSuchBin(error.FailedCheck, IndexError):
    """An index of no bin."""


def _checked_bins(bins: Any, size: int) -> npt.NDArray[np.int64]:
    """Return the number of bins of each element."""
    given = [bins] * size if is_integer(bins) else bins
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        raise error.FailedTypeCheck(
            f"bins must be an integer or a sequence of integers, got {type(bins)}"
        )
    if len(given) != size:
        raise error.FailedCheck(
            f"bins must match observation dimensions: expected {size}, got {len(given)}"
        )
    if not all(map(is_integer, given)):
        raise error.FailedTypeCheck(f"bins must be integers, got {bins!r}")
    if min(given, default=1) < 1:
        raise error.FailedCheck(f"bins must be positive, got {bins!r}")
    return np.array(given, np.int64).reshape(size)


class DiscretizeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Cut the numbers of observations into equal bins, and observe the index of the bin.

    Attributes:
        bins: How many bins there are an element of the observation, `[size]`.
        multidiscrete: Whether there is an index an element, or one for all of them.
        low: Lower bounds, `[size]`.
        high: Upper bounds, `[size]`.
        bin_edges: The edges between the bins, an array an element.
        n_dims: How many elements an observation has.

    Example:
        >>> import gymcore
        >>> import numpy as np
        >>> env = DiscretizeObservation(gymcore.make("MountainCar-v0"), (10, 5))
        >>> env.observation_space
        Discrete(50)
        >>> env.observation(np.float32([-0.4, 0.0]))
        22
        >>> lower, upper = env.revert_observation(22)
        >>> np.round(lower, 3), np.round(upper, 3)
        (array([-0.48 , -0.014], dtype=float32), array([-0.3  ,  0.014], dtype=float32))
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        bins: int | tuple[int, ...],
        multidiscrete: bool = False,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space that has finite bounds.
            bins: How many bins an element has: one number for all, or one for each.
            multidiscrete: Observe an index an element, an array `[size]` int64 of a
                `MultiDiscrete`, instead of one number of a `Discrete`.

        Raises:
            FailedTypeCheck: if the space is no `Box`, or `bins` neither an integer nor a sequence
                of them (`TypeError`s).
            FailedCheck: if the space is not bounded, `bins` has another length than observations,
                one is not positive, or there are more than 2**63 combinations (`ValueError`s).
        """
        space = observed(env)
        if not isinstance(space, Box):
            raise error.FailedTypeCheck(
                "DiscretizeObservation is only compatible with Box continuous observations, "
                f"got {type(space)}"
            )
        cut = Bins(space, bins)
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
        TransformObservation.__init__(self, env, _never, discrete_space(cut, multidiscrete))
        del self.func
        self._cut = cut
        self.bins, self.bin_edges = cut.bins, cut.bin_edges
        self.low, self.high = cut.low, cut.high
        self.n_dims = len(cut.bins)
        self.multidiscrete = multidiscrete

    def observation(self, observation: ObsType) -> Any:
        """Return the bins of an observation.

        Args:
            observation: Of the wrapped environment.

        Returns:
            An `int`, or `[size]` int64 if `multidiscrete`.
        """
        indices = self._cut.indices(np.asarray(observation).reshape(1, -1))
        return indices[0] if self.multidiscrete else int(self._cut.flat(indices)[0])

    def revert_observation(self, obs: Any) -> tuple[Array, Array]:
        """Return the bounds of the bins that a discrete observation stands for.

        Args:
            obs: An element of the observation space.

        Returns:
            The lower and the upper edges, each `[size]` in the dtype of the wrapped environment's
            observations.

        Raises:
            FailedTypeCheck: if it is no integer (a `TypeError`).
            IndexError: if there is no such bin. Also an `InvalidArgument`.
        """
        lower, upper = self._cut.edges(self._cut.checked(obs, self.multidiscrete, ()))
        return lower[0], upper[0]

    def _batch_function(self, num_envs: int) -> BatchFunction | None:
        if type(self).observation is not DiscretizeObservation.observation:
            return None
        cut, multidiscrete = self._cut, bool(self.multidiscrete)

        def discretize(observations: Any) -> Indices:
            indices = cut.indices(np.asarray(observations).reshape(num_envs, -1))
            return indices if multidiscrete else cut.flat(indices)

        return discretize


def _never(observation: Any) -> Any:
    raise NotImplementedError


def discrete_space(cut: Bins, multidiscrete: bool) -> Any:
    """Return the space of bins."""
    if multidiscrete:
        return MultiDiscrete(cut.bins)
    if cut.count > np.iinfo(np.int64).max:
        raise error.FailedCheck(
            f"bins: {cut.bins} have too many combinations for one number; use multidiscrete=True"
        )
    return Discrete(cut.count)
