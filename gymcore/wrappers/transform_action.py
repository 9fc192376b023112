"""Wrappers that change actions: `TransformAction` and the wrappers built on it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np
import numpy.typing as npt

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActionWrapper, ActType, Env, ObsType, WrapperActType
from gymcore.error import ArgumentTypeError, InvalidAction, InvalidBound
from gymcore.spaces import Box, Space
from gymcore.wrappers.utils import Array, Change, Number, NumbersBins, Transforms, clip, rescale_box

__all__ = ["ClipAction", "DiscretizeAction", "RescaleAction", "TransformAction"]


class TransformAction(
    Transforms,
    ActionWrapper[ObsType, WrapperActType, ActType],
    RecordConstructorArgs,
    Generic[ObsType, WrapperActType, ActType],
):
    """Apply a function to the actions.

    Examples:
        >>> import gymcore
        >>> from gymcore.wrappers import TransformAction
        >>> env = gymcore.make("MountainCarContinuous-v0")
        >>> env = TransformAction(env, lambda action: 0.5 * action, env.action_space)
        >>> env.action(np.array([1.0], np.float32))
        array([0.5], dtype=float32)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[WrapperActType] | None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            func: Function that maps an action of the wrapper to an action of `env`.
            action_space: Space of the arguments of `func`; None for the action space of `env`.

        Raises:
            ArgumentTypeError: If `env` is not an `Env`, `func` cannot be called or `action_space`
                is not a `Space`.
        """
        if not callable(func):
            raise ArgumentTypeError(f"Expected func to be a function of actions, got {type(func)}")
        if not (action_space is None or isinstance(action_space, Space)):
            raise ArgumentTypeError(
                f"Expected action_space to be a Space or None, got {type(action_space)}"
            )
        ActionWrapper.__init__(self, env)
        if action_space is not None:
            self.action_space = action_space
        self.func = func

    def action(self, action: WrapperActType) -> ActType:
        """Return the action that is passed to `env`."""
        changed: ActType = self.func(action)
        return changed

    def _batch_function(self) -> Callable[[Array], Array] | None:
        is_overridden = type(self).action is not TransformAction.action
        return None if is_overridden else super()._batch_function()


class ClipAction(TransformAction[ObsType, Array, Array]):
    """Clip actions to the bounds of a `Box` space, so that the wrapper accepts any number.

    Its action space has the widest bounds of the dtype: infinite, or the limits of an integer type.
    A NaN stays a NaN.

    Examples:
        >>> import gymcore
        >>> from gymcore.wrappers import ClipAction
        >>> env = ClipAction(gymcore.make("Pendulum-v1"))
        >>> env.action_space
        Box(-inf, inf, (1,), float32)
        >>> env.action(np.array([7.0], np.float32))
        array([2.], dtype=float32)
    """

    def __init__(self, env: Env[ObsType, Array]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` action space.

        Raises:
            ArgumentTypeError: If the action space is not a `Box`.
        """
        space = _box(self, env)
        low, high = (0, np.iinfo(space.dtype).max) if space.dtype.kind == "u" else (-np.inf, np.inf)
        func = functools.partial(clip, space.low, space.high)
        TransformAction.__init__(self, env, func, Box(low, high, space.shape, space.dtype))
        self._batch = func, func


class RescaleAction(TransformAction[ObsType, Array, Array]):
    """Give a `Box` action space other bounds, and map actions linearly to the old ones.

    Actions are not clipped. An infinite bound must stay infinite: such components are shifted or
    left unchanged. An integer space becomes a floating one unless integers map to integers; the
    environment's actions are rounded to the nearest integer.

    Examples:
        >>> import gymcore
        >>> from gymcore.wrappers import RescaleAction
        >>> env = RescaleAction(gymcore.make("Pendulum-v1"), min_action=0, max_action=1)
        >>> env.action_space
        Box(0.0, 1.0, (1,), float32)
        >>> env.action(np.array([0.75], np.float32))
        array([1.], dtype=float32)
    """

    def __init__(
        self,
        env: Env[ObsType, Array],
        min_action: Number | Array,
        max_action: Number | Array,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` action space.
            min_action: Lower bounds of the new space, a number or an array of its shape.
            max_action: Upper bounds, in the same form.

        Raises:
            ArgumentTypeError: If the action space is not a `Box`, or a bound is neither a number
                nor an array.
            InvalidArgument: If the shape of a bound is wrong, a lower bound is above the upper one,
                or bounds are infinite where those of `env` are not, or the reverse.
            InvalidBound: If a lower bound of the new space or of the space of `env` equals the
                upper one.
        """
        space = _box(self, env)
        func: Change
        new_space, _, func = rescale_box(space, _cast(space, min_action), _cast(space, max_action))
        if np.any(new_space.low >= new_space.high):
            raise InvalidBound(
                f"Min action ({min_action}) must be strictly smaller than max action "
                f"({max_action}), the rescaling has no inverse where they are equal"
            )
        if np.any(space.low >= space.high):
            raise InvalidBound(
                "Expected an action space whose lower bounds are smaller than the upper ones, "
                f"got {space}: equal bounds have no inverse"
            )
        if space.dtype.kind in "iu":
            real = Box(space.low, space.high, dtype=np.float64)
            func = functools.partial(
                _rounded, rescale_box(real, min_action, max_action)[2], space.dtype
            )
        TransformAction.__init__(self, env, func, new_space)
        self._batch = func, func


class DiscretizeAction(NumbersBins, TransformAction[ObsType, int | Array, Array]):
    """Split each component of a bounded `Box` action space into equal bins, chosen by index.

    Attributes:
        low: Lower bounds, `[n_dims]`.
        high: Upper bounds, `[n_dims]`.
        n_dims: Number of components in an action.
        bins: Number of bins of each component, `[n_dims]`.
        bin_centers: Centers of the bins, one array per component.

    Examples:
        >>> import gymcore
        >>> from gymcore.wrappers import DiscretizeAction
        >>> env = DiscretizeAction(gymcore.make("Pendulum-v1"), bins=4)
        >>> env.action_space
        Discrete(4)
        >>> env.action(3)
        array([1.5], dtype=float32)
        >>> env.revert_action(np.array([1.2]))
        np.int64(3)
    """

    def __init__(
        self, env: Env[ObsType, Array], bins: int | tuple[int, ...], multidiscrete: bool = False
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a bounded `Box` action space.
            bins: Number of bins: one number for all components, or one per component.
            multidiscrete: Whether the space is `MultiDiscrete(bins)`, with one index per component.
                Otherwise it is `Discrete`, with one number per combination; the last component
                changes fastest.

        Raises:
            ArgumentTypeError: If the action space is not a `Box`, or `bins` are not integers.
            InvalidArgument: If the space is not bounded, `bins` has the wrong length or is not
                positive, or the number of combinations exceeds the integer range.
        """
        ActionWrapper.__init__(self, env)
        space = env.action_space
        numbers = self._divide("action", space, bins, multidiscrete)
        self._shape, self._dtype = space.shape or (), space.dtype
        self.bin_centers = [_centers(low, high, n) for low, high, n in self._bounds()]
        TransformAction.__init__(self, env, self.action, numbers)

    def _batch_function(self) -> Callable[[Array], Array] | None:
        is_overridden = type(self).action is not DiscretizeAction.action
        return None if is_overridden else self.batch_of_actions

    def action(self, act: object) -> Array:
        """Return the action that is passed to `env`, a new array.

        Raises:
            InvalidAction: If an index is outside the space or not a number, or the number of
                indices is wrong.
        """
        number = np.asarray(act)
        if self.multidiscrete:
            if number.shape != (self.n_dims,):
                raise InvalidAction(f"Expected {self.n_dims} bin indices as action, got {act!r}")
        elif number.size != 1:
            raise InvalidAction(f"Expected a bin index as action, got {act!r}")
        batch = number[None] if self.multidiscrete else number.reshape(1)
        action: Array = self.batch_of_actions(batch)[0]
        return action

    def revert_action(self, action: Array) -> Array | np.int64:
        """Return the action of the wrapper whose bin centers are nearest to `action`.

        Args:
            action: An action of `env`.

        Returns:
            The index of the bin; with `multidiscrete`, the indices `[n_dims] int64`.

        Raises:
            InvalidAction: If the number of components is wrong.
        """
        array = np.asarray(action)
        if array.size != self.n_dims:
            raise InvalidAction(f"Expected {self.n_dims} numbers as action, got {action!r}")
        number: Array | np.int64 = self.revert_batch(array.reshape(1, self.n_dims))[0]
        return number

    def batch_of_actions(self, actions: Array) -> Array:
        """Return a batch of actions of `env`, `[n, ...]`.

        Args:
            actions: Bin indices, `[n]`; `[n, n_dims]` with `multidiscrete`.

        Raises:
            InvalidAction: If an index is outside the space, or not a number.
        """
        is_valid = actions.dtype.kind in ("iubf" if self.multidiscrete else "iub")
        if is_valid and not self.multidiscrete:
            is_valid = bool(((actions >= 0) & (actions < self._count)).all())
        if not is_valid:
            raise InvalidAction(f"Expected actions in {self.action_space}, got {actions}")
        bins: Sequence[Array] | Array = np.moveaxis(actions, -1, 0).astype(np.int64, copy=False)
        if not self.multidiscrete:
            bins = np.unravel_index(bins, tuple(self.bins))
        chosen = np.empty((len(bins[0]), self.n_dims), self._dtype)
        for i, centers in enumerate(self.bin_centers):
            chosen[:, i] = centers.take(bins[i], mode="clip")
        return chosen.reshape(-1, *self._shape)

    def revert_batch(self, actions: Array) -> npt.NDArray[np.int64]:
        """Return the results of `revert_action` for a batch of actions of `env`, `[n, ...]`.

        Returns:
            Bin indices, `[n]`; `[n, n_dims]` with `multidiscrete`.
        """
        components = np.asarray(actions).reshape(len(actions), self.n_dims)
        bins = np.empty(components.shape, np.int64)
        for i, centers in enumerate(self.bin_centers):
            # Values beyond the outermost centers are clipped, so that infinite ones get a bin too.
            x = np.minimum(np.maximum(components[:, i], centers[0]), centers[-1])
            bins[:, i] = np.abs(x[:, None] - centers).argmin(axis=1)
        if self.multidiscrete:
            return bins
        numbers = np.ravel_multi_index(tuple(bins.T), tuple(self.bins))
        return np.asarray(numbers, np.int64)


def _box(wrapper: ActionWrapper, env: Env) -> Box:
    """Return the action space of `env`, or raise if it is not a `Box`."""
    ActionWrapper.__init__(wrapper, env)  # raises the error if `env` is not an environment
    space = env.action_space
    if not isinstance(space, Box):
        raise ArgumentTypeError(
            f"{type(wrapper).__name__} requires a Box action space, got {type(space)}"
        )
    return space


def _cast(space: Box, bound: Number | Array) -> Number | Array:
    """Return a bound in the dtype of `space`, casting it without a warning.

    A number may lose precision; an array is cast only if its dtype fits into that of the space.
    """
    if space.dtype.kind != "f":
        return bound
    if isinstance(bound, (float, np.floating)):
        with np.errstate(over="ignore"):
            cast: Number = space.dtype.type(bound)
        return cast if np.isinf(cast) == np.isinf(bound) else bound
    if isinstance(bound, np.ndarray) and np.can_cast(bound.dtype, space.dtype):
        return bound.astype(space.dtype)
    return bound


def _rounded(func: Change, dtype: np.dtype[np.generic], action: Array) -> Array:
    return np.rint(func(action)).astype(dtype)


def _centers(low: np.floating, high: np.floating, n: int) -> Array:
    """Return the centers of `n` equal intervals, rounded as in Gymnasium."""
    with np.errstate(over="ignore", invalid="ignore"):
        edges = np.linspace(low, high, n + 1)
        centers: Array = (edges[:-1] + edges[1:]) / 2
    if np.isfinite(centers).all():
        return centers
    fractions = (np.arange(n) + 0.5) / n  # the width overflows the dtype
    return ((1 - fractions) * float(low) + fractions * float(high)).astype(centers.dtype)
