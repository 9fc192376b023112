"""Observations of one array: another shape, range or dtype."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType, WrapperObsType
from gymcore.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.observation_base import (
    BatchFunction,
    TransformObservation,
    checked_box,
    is_integer,
    observed,
    of_any_size,
)
from gymcore.wrappers.utils import rescale_box

__all__ = ["DtypeObservation", "RescaleObservation", "ReshapeObservation"]


class ReshapeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Give array observations another shape.

    Attributes:
        shape: The shape.

    Example:
        >>> import gymcore
        >>> env = ReshapeObservation(gymcore.make("CartPole-v1"), (2, 2))
        >>> env.reset(seed=1)[0].shape
        (2, 2)
    """

    _tuple_arguments = ("shape",)

    def __init__(self, env: Env[ObsType, ActType], shape: int | tuple[int, ...]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space.
            shape: The shape, with as many elements as the observations have. Observations are
                views of the environment's.

        Raises:
            FailedTypeCheck: if the space is no `Box`, or `shape` no tuple of integers
                (`TypeError`s).
            FailedCheck: if `shape` has another number of elements, or negative sizes
                (`ValueError`s).
        """
        space = checked_box("ReshapeObservation", env)
        _check_new_shape(shape, space.shape)
        assert isinstance(shape, tuple)
        func = functools.partial(_reshape, shape)
        box: Any = Box(space.low.reshape(shape), space.high.reshape(shape), shape, space.dtype)
        RecordConstructorArgs.__init__(self, shape=shape)
        TransformObservation.__init__(self, env, func, box)
        self._whole_batches = func, functools.partial(_batch_reshaper, shape)
        self.shape = shape


def _reshape(shape: tuple[int, ...], observation: Any) -> Any:
    return np.reshape(observation, shape)


def _batch_reshaper(shape: tuple[int, ...], num_envs: int) -> BatchFunction:
    return functools.partial(_reshape, (num_envs, *shape))


def _check_new_shape(shape: Any, old: tuple[int, ...]) -> None:
    """Raise unless `shape` is a tuple of integers with as many elements as `old`."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if isinstance(shape, tuple) or is_integer(shape):
        if not all(map(is_integer, sizes)):
            raise error.FailedTypeCheck(
                f"ReshapeObservation requires shape elements to be integers, got {shape}"
            )
        if math.prod(map(int, sizes)) != math.prod(old):
            raise error.FailedCheck(
                "ReshapeObservation requires the product of the new shape to match the original "
                f"shape, got {shape} for {old}"
            )
        if min(sizes, default=0) < 0:
            raise error.FailedCheck(
                f"ReshapeObservation requires shape elements to be greater than 0, got {shape}"
            )
    if not isinstance(shape, tuple):
        raise error.FailedTypeCheck(
            f"ReshapeObservation requires shape to be a tuple, got {type(shape)}"
        )


class RescaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Map array observations linearly to other bounds.

    An element without bounds stays as it is; one that is bounded on one side only is shifted.

    Attributes:
        min_obs: The new lower bounds.
        max_obs: The new upper bounds.

    Example:
        >>> import gymcore
        >>> env = RescaleObservation(gymcore.make("MountainCar-v0"), 0, 1)
        >>> env.observation_space
        Box(0.0, 1.0, (2,), float32)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        min_obs: float | np.floating[Any] | np.integer[Any] | npt.NDArray[Any],
        max_obs: float | np.floating[Any] | np.integer[Any] | npt.NDArray[Any],
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space.
            min_obs: Lower bounds, a number or an array of the shape of observations; `-inf` where
                and only where the observation has none.
            max_obs: Upper bounds, likewise.

        Raises:
            FailedTypeCheck: if the space is no `Box` (a `TypeError`).
            ArgumentTypeError: if a bound is no number and no array (a `TypeError`).
            InvalidArgument: if a bound has the wrong shape, is infinite in other places than the
                observation's, or a lower one lies above the upper one (`ValueError`s).
        """
        space = checked_box("RescaleObservation", env)
        box: Any
        func: Any
        box, func, _ = rescale_box(space, min_obs, max_obs)
        RecordConstructorArgs.__init__(self, min_obs=min_obs, max_obs=max_obs)
        TransformObservation.__init__(self, env, func, box)
        self._whole_batches = func, functools.partial(of_any_size, func)
        self.min_obs = min_obs
        self.max_obs = max_obs


class DtypeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Give observations another dtype.

    Attributes:
        dtype: The dtype.

    Example:
        >>> import gymcore
        >>> env = DtypeObservation(gymcore.make("CartPole-v1"), "float64")
        >>> env.reset(seed=1)[0].dtype
        dtype('float64')
    """

    def __init__(self, env: Env[ObsType, ActType], dtype: Any) -> None:
        """Wrap `env`.

        Args:
            env: An environment whose observations are numbers or arrays. `Box`, `Discrete` and
                `MultiBinary` become a `Box`, `MultiDiscrete` stays one.
            dtype: Anything that `numpy.dtype` takes; an integer dtype for `MultiDiscrete`.

        Raises:
            FailedTypeCheck: if the space is of another kind (a `TypeError`).
            ArgumentTypeError: if there is no such dtype (a `TypeError`).
            InvalidArgument: if the space cannot have the dtype, or has bounds outside its range (a
                `ValueError`).
        """
        space, kind = _space_of_dtype(observed(env), dtype)
        func = functools.partial(_convert, kind)
        RecordConstructorArgs.__init__(self, dtype=dtype)
        TransformObservation.__init__(self, env, func, space)
        self._whole_batches = (
            func,
            functools.partial(of_any_size, functools.partial(_convert_batch, kind)),
        )
        self.dtype = dtype


def _convert(kind: np.dtype[Any], observation: Any) -> Any:
    return kind.type(observation)


def _convert_batch(kind: np.dtype[Any], batch: Any) -> Any:
    return np.asarray(batch).astype(kind)


def _space_of_dtype(space: Space[Any], dtype: Any) -> tuple[Any, np.dtype[Any]]:
    """Return the space with the dtype, and that."""
    if not isinstance(space, (Box, Discrete, MultiDiscrete, MultiBinary)):
        raise error.FailedTypeCheck(
            "DtypeObservation requires a Box, Discrete, MultiDiscrete, or MultiBinary space, "
            f"got {type(space)}"
        )
    if dtype is None:  # numpy would take it for float64
        raise error.InvalidArgument("DtypeObservation requires a dtype, got None")
    try:
        kind = np.dtype(dtype)
    except TypeError as problem:
        raise error.ArgumentTypeError(
            f"DtypeObservation requires a dtype, got {dtype!r}: {problem}"
        ) from None
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec, dtype=kind, start=space.start), kind
    if isinstance(space, Discrete):
        first, last = int(space.start), int(space.start) + int(space.n) - 1
        return Box(first, last, (), kind), kind
    if isinstance(space, MultiBinary):
        return Box(0, 1, space.shape, kind), kind
    low, high = space.low, space.high
    if np.can_cast(space.dtype, kind):  # all of its values are kept: nothing to check
        low, high = low.astype(kind), high.astype(kind)
    return Box(low, high, space.shape, kind), kind
