"""Wrappers that change each observation separately: filter, flatten, rescale, render and so on."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.base import program
from gymcore.base.optional_packages import pip_install
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Env, ObservationWrapper, ObsType, WrapperObsType
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Space,
    Text,
    Tuple,
    flatdim,
    flatten,
    flatten_space,
)
from gymcore.spaces.utils import _flat_dtype
from gymcore.wrappers.utils import (
    Array,
    Function,
    Number,
    NumbersBins,
    Transforms,
    is_integer,
    rescale_box,
)

__all__ = [
    "AddRenderObservation",
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "TransformObservation",
]


Indices: TypeAlias = npt.NDArray[np.int64]
Join: TypeAlias = Callable[[Any, object], Any]


class TransformObservation(
    Transforms, ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
):
    """Change observations with a function.

    `gymcore.wrappers.vector.TransformObservation` applies a function to whole batches;
    `gymcore.wrappers.vector.VectorizeTransformObservation` applies this wrapper to each lane.

    Examples:
        >>> import gymcore
        >>> env = TransformObservation(gymcore.make("CartPole-v1"), abs, None)
        >>> bool((env.reset(seed=1)[0] >= 0).all())
        True
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[ObsType], object],
        observation_space: Space[WrapperObsType] | None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            func: Function that maps an observation of `env` to an element of `observation_space`.
                It should not change the observation in place.
            observation_space: Space of the results; None if `func` does not change the space.

        Raises:
            ArgumentTypeError: If `func` cannot be called, or `observation_space` is not a `Space`.
        """
        if not callable(func):
            raise error.ArgumentTypeError(
                f"TransformObservation requires func to be callable, got {type(func)}"
            )
        if observation_space is not None and not isinstance(observation_space, Space):
            raise error.ArgumentTypeError(
                "TransformObservation requires observation_space to be a Space or None, "
                f"got {type(observation_space)}"
            )
        ObservationWrapper.__init__(self, env)
        if observation_space is not None:
            self.observation_space = observation_space
        self.func = func

    def _apply(
        self,
        env: Env[ObsType, ActType],
        space: Space,
        func: Callable[..., object],
        batch_func: Callable[..., object],
    ) -> None:
        """Wrap `env` with a function and its equivalent for batches."""
        TransformObservation.__init__(self, env, func, space)
        self._batch = func, batch_func

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Return `func(observation)`."""
        changed: WrapperObsType = self.func(observation)
        return changed

    def _batch_function(self) -> Function | None:
        is_overridden = type(self).observation is not TransformObservation.observation
        return None if is_overridden else super()._batch_function()


def observed(env: Env) -> Space:
    """Return the observation space of `env`; raise if `env` is not an environment."""
    if not isinstance(env, Env):
        raise error.ArgumentTypeError(
            f"Expected env to be a `{program.package}.Env` but got {type(env)}"
        )
    return env.observation_space


def checked_box(wrapper: str, env: Env) -> Box:
    """Return the observation space of `env`; raise if it is not a `Box`."""
    space = observed(env)
    if not isinstance(space, Box):
        raise error.FailedTypeCheck(
            f"{wrapper} requires a Box observation space, got {type(space)}"
        )
    return space


# --- filter ---------------------------------------------------------------------------------------


class FilterObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Keep some entries of a `Dict` or `Tuple` observation.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> env = gymcore.wrappers.AddRenderObservation(env, render_only=False)
        >>> env = FilterObservation(env, ["state"])
        >>> env.reset(seed=1)[0]
        {'state': array([ 0.00118216,  0.04504637, -0.03558404,  0.04486495], dtype=float32)}
    """

    def __init__(self, env: Env[ObsType, ActType], filter_keys: Sequence[str | int]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Dict` or `Tuple` observation space.
            filter_keys: Keys of the `Dict`, or indices of the `Tuple` (negative ones count from the
                end). Observations contain the entries in this order.

        Raises:
            FailedTypeCheck: If `filter_keys` is not a sequence, or contains a key of another type.
            FailedCheck: If `filter_keys` is empty, a key is not in the space, an index occurs
                twice, or the space is of another kind.
        """
        if not isinstance(filter_keys, Sequence):
            raise error.FailedTypeCheck(
                f"Expects `filter_keys` to be a Sequence, actual type: {type(filter_keys)}"
            )
        space = observed(env)
        pick: Function
        pick_batch: Function
        if isinstance(space, Dict):
            keys = _checked_keys(filter_keys, space)
            parts = {key: space.spaces[key] for key in keys}
            filtered: Any = Dict(parts, sort_keys=space.sort_keys)
            pick = functools.partial(_pick_keys, tuple(parts))
            # The entries of a batch are in the order of its space.
            pick_batch = functools.partial(_pick_keys, tuple(filtered.spaces))
        elif isinstance(space, Tuple):
            indices = _checked_indices(filter_keys, len(space.spaces))
            filtered = Tuple([space.spaces[i] for i in indices])
            pick = pick_batch = functools.partial(_pick_indices, tuple(indices))
        else:
            raise error.FailedCheck(
                "FilterObservation wrapper is only usable with `Dict` and `Tuple` observations, "
                f"actual type: {type(space)}"
            )
        self._apply(env, filtered, pick, pick_batch)
        self.filter_keys = filter_keys


def _pick_keys(keys: Sequence[str], observation: dict[str, object]) -> dict[str, object]:
    return {key: observation[key] for key in keys}


def _pick_indices(indices: Sequence[int], observation: tuple[object, ...]) -> tuple[object, ...]:
    return tuple([observation[i] for i in indices])


def _checked_keys(keys: Sequence[Any], space: Dict) -> Sequence[str]:
    if not all(isinstance(key, str) for key in keys):
        raise error.FailedTypeCheck(f"All filter keys must be strings for a Dict space, got {keys}")
    missing = [key for key in keys if key not in space.spaces]
    if missing:
        raise error.FailedCheck(
            "All the `filter_keys` must be included in the observation space.\n"
            f"Filter keys: {keys}\n"
            f"Observation keys: {list(space.spaces)}\n"
            f"Missing keys: {missing}"
        )
    if not keys:
        raise error.FailedCheck("The observation space is empty due to filtering all of the keys.")
    return keys


def _checked_indices(keys: Sequence[Any], length: int) -> Sequence[int]:
    """Check the indices of a `Tuple` space of this length, and return them."""
    if not all(isinstance(key, int) for key in keys):
        raise error.FailedTypeCheck(
            f"All filter keys must be integers for a Tuple space, got {keys}"
        )
    missing = [key for key in keys if not -length <= key < length]
    if missing:
        raise FailedIndexCheck(
            "All the `filter_keys` must be included in the length of the observation space.\n"
            f"Filter keys: {keys}, length of observation: {length}, missing indexes: {missing}"
        )
    if len({key % length for key in keys}) != len(keys):
        raise error.FailedCheck(f"Duplicate keys exist, filter_keys: {keys}")
    if not keys:
        raise error.FailedCheck("The observation space is empty due to filtering all keys.")
    return keys


class FailedIndexCheck(error.FailedCheck, IndexError):
    """Raised for an invalid index; derives from both errors that Gym used for this."""


# --- flatten --------------------------------------------------------------------------------------


class FlattenObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Flatten observations; see `gymcore.spaces.flatten`.

    Examples:
        >>> import gymcore
        >>> env = FlattenObservation(gymcore.make("CartPole-v1"))
        >>> env.observation_space.shape
        (4,)
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        """Wrap `env`.

        Raises:
            InvalidArgument: If elements of the observation space cannot be flattened.
        """
        space = observed(env)
        func = functools.partial(flatten, space)
        flat = flatten_space(space)
        if not isinstance(flat, Box):
            logger.warn(
                f"FlattenObservation: elements of {space} do not flatten to arrays, because their "
                f"sizes vary; only their parts are flattened, to elements of {flat}"
            )
        TransformObservation.__init__(self, env, func, flat)
        if _flattens_as_batch(space):
            self._batch = func, functools.partial(flatten_batch, space)


def flatten_batch(space: Space, batch: Any) -> Array:
    """Return a batch of flattened elements, using one array operation per part of the space.

    Returns:
        `[n, flatdim(space)]`, each row as returned by `flatten`; may be a view if `space` is a box.

    Examples:
        >>> space = Dict(goal=Discrete(3), place=Box(0, 9, (2,)))
        >>> flatten_batch(space, {"goal": np.array([0, 2]), "place": np.float32([[4, 5], [6, 7]])})
        array([[1., 0., 0., 4., 5.],
               [0., 0., 1., 6., 7.]])
    """
    if isinstance(space, (Tuple, Dict)):
        columns = [flatten_batch(part, batch[key]) for key, part in space._items()]
        return np.concatenate(columns, axis=1, dtype=_flat_dtype(space))
    if isinstance(space, (Discrete, MultiDiscrete)):
        return _one_hot(space, batch)
    if isinstance(space, (Box, MultiBinary)):
        array = _batch_of(space, batch, space.dtype)
        return array if array.ndim == 2 else array.reshape(len(array), flatdim(space))
    return np.stack([flatten(space, element) for element in batch])


def _flattens_as_batch(space: Space) -> bool:
    """Return whether a space and its parts are gymcore's own types and flatten to arrays."""
    if type(space) is Tuple or type(space) is Dict:
        return len(space.spaces) > 0 and all(map(_flattens_as_batch, space._parts()))
    return type(space) in (Box, Discrete, MultiBinary, MultiDiscrete, OneOf, Text)


def _batch_of(space: Space, batch: object, dtype: npt.DTypeLike) -> Array:
    """Return elements of a space as an array [n, ...] after checking its shape."""
    array = np.asarray(batch, dtype)
    if array.ndim == 0 or array.shape[1:] != space.shape:
        raise error.InvalidArgument(
            f"expected an array of shape (n, *{space.shape}), got shape {array.shape}"
        )
    return array


def _one_hot(space: Discrete | MultiDiscrete, batch: object) -> Array:
    sizes = np.atleast_1d(space.n if isinstance(space, Discrete) else space.nvec).ravel()
    numbers = _batch_of(space, batch, np.int64)
    numbers = numbers.reshape(len(numbers), len(sizes)) - np.asarray(space.start, np.int64).ravel()
    if (numbers < 0).any() or (numbers >= sizes).any():
        raise error.InvalidArgument(f"{batch} is not a batch of elements of {space}")
    out = np.zeros((len(numbers), int(sizes.sum())), _flat_dtype(space))
    out[np.arange(len(numbers))[:, None], numbers + (sizes.cumsum() - sizes)] = 1
    return out


class ReshapeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Give array observations another shape.

    Examples:
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
            shape: New shape, with the same number of elements. Observations are views of the
                environment's arrays.

        Raises:
            FailedTypeCheck: If the space is not a `Box`, or `shape` is not a tuple of integers.
            FailedCheck: If `shape` has another number of elements, or negative sizes.
        """
        space = checked_box("ReshapeObservation", env)
        shape = _checked_shape(shape, space.shape)
        func = functools.partial(_reshape, shape)
        box: Space = Box(space.low.reshape(shape), space.high.reshape(shape), shape, space.dtype)
        TransformObservation.__init__(self, env, func, box)
        self._batch = func, functools.partial(_reshape_batch, shape)
        self.shape = shape


def _reshape(shape: tuple[int, ...], observation: npt.ArrayLike) -> Array:
    return np.reshape(observation, shape)


def _reshape_batch(shape: tuple[int, ...], batch: Array) -> Array:
    return np.reshape(batch, (len(batch), *shape))


def _checked_shape(shape: int | tuple[int, ...], old: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` as a tuple; raise if it is invalid or does not have the size of `old`."""
    if isinstance(shape, tuple) or is_integer(shape):
        sizes = shape if isinstance(shape, tuple) else (shape,)
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
                f"ReshapeObservation requires shape elements to be greater than 0 or -1, got "
                f"{shape}"
            )
    if not isinstance(shape, tuple):
        raise error.FailedTypeCheck(
            f"ReshapeObservation requires shape to be a tuple, got {type(shape)}"
        )
    return shape


class RescaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Map array observations linearly to other bounds.

    Elements without bounds are left unchanged; elements with one bound are shifted. Integers become
    floats (uint8 becomes float32) unless integers map to integers.

    Examples:
        >>> import gymcore
        >>> env = RescaleObservation(gymcore.make("MountainCar-v0"), 0, 1)
        >>> env.observation_space
        Box(0.0, 1.0, (2,), float32)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        min_obs: Number | Array,
        max_obs: Number | Array,
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space.
            min_obs: Lower bounds, a number or an array of the observations' shape; `-inf` exactly
                where the observation has no lower bound.
            max_obs: Upper bounds in the same form, with `inf`.

        Raises:
            FailedTypeCheck: If the space is not a `Box`.
            ArgumentTypeError: If a bound is neither a number nor an array.
            InvalidArgument: If a bound has the wrong shape, is infinite where the observation's is
                not (or the reverse), or a lower bound is above the upper one.
        """
        space = checked_box("RescaleObservation", env)
        box, func, _ = rescale_box(space, min_obs, max_obs)
        self._apply(env, box, func, func)
        self.min_obs = min_obs
        self.max_obs = max_obs


class DtypeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Give observations another dtype.

    Examples:
        >>> import gymcore
        >>> env = DtypeObservation(gymcore.make("CartPole-v1"), "float64")
        >>> env.reset(seed=1)[0].dtype
        dtype('float64')
    """

    def __init__(self, env: Env[ObsType, ActType], dtype: npt.DTypeLike) -> None:
        """Wrap `env`.

        Args:
            env: An environment whose observations are numbers or arrays. `Box`, `Discrete` and
                `MultiBinary` spaces become a `Box`; `MultiDiscrete` stays a `MultiDiscrete`.
            dtype: Anything that `numpy.dtype` accepts; an integer dtype for `MultiDiscrete`.

        Raises:
            FailedTypeCheck: If the space is of another kind.
            ArgumentTypeError: If `dtype` is not a valid dtype.
            InvalidArgument: If the space cannot have the dtype, or has bounds outside its range.
        """
        space, kind = _space_of_dtype(observed(env), dtype)
        func = functools.partial(_convert, kind)
        self._apply(env, space, func, functools.partial(_convert_batch, kind))
        self.dtype = dtype


def _convert(kind: np.dtype, observation: npt.ArrayLike) -> Array:
    converted: Array = kind.type(observation).astype(kind, copy=False)  # types have no byte order
    return converted


def _convert_batch(kind: np.dtype, batch: npt.ArrayLike) -> Array:
    return np.asarray(batch).astype(kind)


def _space_of_dtype(space: Space, dtype: npt.DTypeLike) -> tuple[Space, np.dtype]:
    if not isinstance(space, (Box, Discrete, MultiDiscrete, MultiBinary)):
        raise error.FailedTypeCheck(
            "DtypeObservation requires a Box, Discrete, MultiDiscrete, or MultiBinary space, "
            f"got {type(space)}"
        )
    if dtype is None:  # numpy would interpret it as float64
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
    if np.can_cast(space.dtype, kind):  # every value is preserved: nothing to check
        low, high = low.astype(kind), high.astype(kind)
    return Box(low, high, space.shape, kind), kind


Image: TypeAlias = npt.NDArray[np.uint8]

# The values 0 to 255 of red, green and blue times their weights in brightness: Rec. 709 as
# scikit-image rounds it. (Gym 0.26 used OpenCV's weights, which differ.)
_BRIGHTNESS = np.arange(256) * np.array([[0.2125], [0.7154], [0.0721]])


class GrayscaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Convert color images to gray: `0.2125 red + 0.7154 green + 0.0721 blue`, rounded down.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> env = GrayscaleObservation(gymcore.wrappers.AddRenderObservation(env))
        >>> env.reset(seed=1)[0].shape
        (400, 600)
    """

    def __init__(self, env: Env[ObsType, ActType], keep_dim: bool = False) -> None:
        """Wrap `env`.

        Args:
            env: An environment with observations `[height, width, 3]` uint8, from 0 to 255.
            keep_dim: Whether to return `[height, width, 1]` instead of `[height, width]`.

        Raises:
            FailedTypeCheck: If the space is not a `Box`.
            FailedCheck: If the space does not have this shape, dtype and bounds.
        """
        space = checked_box("GrayscaleObservation", env)
        if len(space.shape) != 3 or space.shape[2] != 3:
            raise error.FailedCheck(
                f"GrayscaleObservation requires an image with 3 channels, got shape {space.shape}"
            )
        if space.dtype != np.uint8 or (space.low != 0).any() or (space.high != 255).any():
            raise error.FailedCheck(
                "GrayscaleObservation requires observation bounds 0 to 255 and dtype uint8, "
                f"got {space}"
            )
        func = _to_grayscale_axis if keep_dim else to_grayscale
        shape = (*space.shape[:2], 1) if keep_dim else space.shape[:2]
        images = functools.partial(_change_images, func, shape)
        self._apply(env, Box(0, 255, shape, np.uint8), func, images)
        self.keep_dim = keep_dim


def to_grayscale(image: npt.ArrayLike, out: Image | None = None) -> Image:
    """Return the gray values of an image `[..., 3]` uint8: `[...]` uint8, a new array or `out`."""
    image = np.asarray(image, np.uint8)
    brightness = _BRIGHTNESS[0].take(image[..., 0])
    brightness += _BRIGHTNESS[1].take(image[..., 1])
    brightness += _BRIGHTNESS[2].take(image[..., 2])
    if out is None:
        gray: npt.NDArray[np.uint8] = brightness.astype(np.uint8)
        return gray
    out[...] = brightness
    return out


def _to_grayscale_axis(image: Image, out: Image | None = None) -> Image:
    return to_grayscale(image, None if out is None else out[..., 0]).reshape(*image.shape[:-1], 1)


def _change_images(
    func: Callable[[Image, Image], object], shape: tuple[int, ...], images: Image
) -> Image:
    """Apply `func(image, out)` to the images of a batch."""
    out = np.empty((len(images), *shape), np.uint8)
    for image, target in zip(images, out, strict=True):
        func(image, target)
    return out


class ResizeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Resize images with OpenCV's `INTER_AREA`.

    Attributes:
        cv2_shape: The new width and height.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> env = ResizeObservation(gymcore.wrappers.AddRenderObservation(env), (84, 96))
        >>> env.reset(seed=1)[0].shape
        (84, 96, 3)
    """

    _tuple_arguments = ("shape",)

    def __init__(self, env: Env[ObsType, ActType], shape: tuple[int, int]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with observations `[height, width]` or `[height, width, channels]`
                uint8, from 0 to 255.
            shape: New height and width; the channels are kept.

        Raises:
            FailedTypeCheck: If the space is not a `Box`, or `shape` is not a tuple of integers.
            FailedCheck: If `shape` is not two positive numbers, or the space does not consist of
                such images.
            DependencyNotInstalled: If opencv is missing.
        """
        space = checked_box("ResizeObservation", env)
        _check_resizable(space)
        _check_size(shape)
        height, width = int(shape[0]), int(shape[1])
        new = (height, width, *space.shape[2:])
        load_cv2("ResizeObservation")
        func = functools.partial(resize, new)
        images = functools.partial(_change_images, func, new)
        self._apply(env, Box(0, 255, new, np.uint8), func, images)
        self.shape = (height, width)
        self.cv2_shape = (width, height)


def load_cv2(wrapper: str) -> ModuleType:
    """Import OpenCV; raise an error that tells how to install it if it is missing."""
    try:
        import cv2
    except ImportError as problem:
        raise error.DependencyNotInstalled(
            f"opencv (cv2) is not installed, run `{pip_install('cv2')}`: {wrapper} needs it"
        ) from problem
    return cv2


def resize(shape: tuple[int, ...], image: Image, out: Image | None = None) -> Image:
    """Resize one image in groups of four channels, the most that OpenCV accepts."""
    cv2 = load_cv2("ResizeObservation")  # not stored: wrappers are copied, modules cannot be
    if out is None:
        out = np.empty(shape, np.uint8)
    height, width = shape[:2]
    source, target = image.reshape(*image.shape[:2], -1), out.reshape(height, width, -1)
    for lo in range(0, target.shape[2], 4):
        part = np.ascontiguousarray(source[..., lo : lo + 4])
        result = cv2.resize(part, (width, height), interpolation=cv2.INTER_AREA)
        target[..., lo : lo + 4] = result.reshape(height, width, -1)
    return out


def _check_resizable(space: Box) -> None:
    """Raise unless the elements of `space` are images of bytes."""
    if len(space.shape) not in (2, 3):
        raise error.FailedCheck(
            f"ResizeObservation requires a 2D or 3D image, got shape {space.shape}"
        )
    if (space.low != 0).any() or (space.high != 255).any():
        raise error.FailedCheck(
            f"ResizeObservation requires observation bounds 0 to 255, got {space}"
        )
    if space.dtype != np.uint8:
        raise error.FailedCheck(
            f"ResizeObservation requires observation dtype uint8, got {space.dtype}"
        )


def _check_size(shape: object) -> None:
    """Raise unless `shape` is a tuple of two positive integers."""
    if not isinstance(shape, tuple):
        raise error.FailedTypeCheck(
            f"ResizeObservation requires shape to be a tuple, got {type(shape)}"
        )
    if len(shape) != 2:
        raise error.FailedCheck(f"ResizeObservation requires shape tuple of length 2, got {shape}")
    if not all(map(is_integer, shape)):
        raise error.FailedTypeCheck(
            f"ResizeObservation requires shape elements to be integers, got {shape}"
        )
    if min(shape) <= 0:
        raise error.FailedCheck(
            f"ResizeObservation requires shape elements to be greater than 0, got {shape}"
        )


class AddRenderObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Observe the result of `render`, alone or in addition to the original observation.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> env = AddRenderObservation(env, render_only=False)
        >>> observation, info = env.reset(seed=1)
        >>> {key: value.shape for key, value in observation.items()}
        {'state': (4,), 'pixels': (400, 600, 3)}
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        render_only: bool = True,
        render_key: str = "pixels",
        obs_key: str = "state",
    ) -> None:
        """Wrap `env`, and reset it to find the shape of its frames.

        Args:
            env: An environment whose `render` returns an array.
            render_only: Whether to observe the frame alone. Otherwise a `Dict` observation gets
                the frame as an entry, and any other one becomes the dict `{obs_key: observation,
                render_key: frame}`.
            render_key: Key of the frame.
            obs_key: Key of the original observation, unless it is a `Dict`.

        Raises:
            FailedCheck: If the render mode is None or "human", or the observation already has an
                entry under `render_key`.
            FailedTypeCheck: If `render` does not return an array.
        """
        space = observed(env)
        check_render_mode(env.render_mode)
        if not render_only:
            check_render_keys(space, render_key, obs_key)
        env.reset()
        frame = env.render()
        if not isinstance(frame, np.ndarray):
            raise error.FailedTypeCheck(
                "AddRenderObservation expects env.render() to return a numpy array, "
                f"got {type(frame)}"
            )
        joined, func = join_frames(space, frame_space(frame), render_only, render_key, obs_key)
        TransformObservation.__init__(
            self, env, functools.partial(_observed_with_frame, env, func), joined
        )


def _observed_with_frame(env: Env, join: Join, observation: object) -> object:
    return join(observation, env.render())


def check_render_mode(mode: str | None) -> None:
    """Raise if the render mode does not return frames."""
    if mode is None or mode == "human":
        raise error.FailedCheck(
            f"AddRenderObservation requires render_mode to be not None and not 'human', got {mode}"
        )


def check_render_keys(space: Space, render_key: str, obs_key: str) -> None:
    """Raise if a frame cannot be added to elements of a space under `render_key`."""
    if isinstance(space, Dict):
        if render_key in space.spaces:
            raise error.FailedCheck(
                f"AddRenderObservation render_key {render_key!r} already exists in the "
                "observation space"
            )
    elif render_key == obs_key:
        raise error.FailedCheck(
            f"AddRenderObservation requires render_key and obs_key to differ, got {obs_key!r} twice"
        )


def frame_space(frame: Array) -> Box:
    """Return the space of frames: 0 to 255 for bytes, the range of the dtype for others."""
    if frame.dtype == np.uint8:
        return Box(0, 255, frame.shape, np.uint8)
    if frame.dtype.kind == "f":
        return Box(-np.inf, np.inf, frame.shape, frame.dtype)
    limits = np.iinfo(frame.dtype) if frame.dtype.kind in "iu" else None
    low, high = (limits.min, limits.max) if limits else (0, 1)
    return Box(low, high, frame.shape, frame.dtype)


def join_frames(
    space: Space, frames: Space, render_only: bool, render_key: str, obs_key: str
) -> tuple[Any, Join]:
    """Return the space of observations with frames, and the function that adds a frame."""
    key, parts = (None, space.spaces) if isinstance(space, Dict) else (obs_key, space)
    sort_keys = space.sort_keys if isinstance(space, Dict) else True
    join = functools.partial(_add_frame, render_only, render_key, key)
    return frames if render_only else Dict(join(parts, frames), sort_keys=sort_keys), join


def _add_frame(
    only: bool,
    render_key: str,
    obs_key: str | None,
    observation: Any,
    frame: object,
) -> object:
    """Add a frame to an observation, which is a dict if `obs_key` is None."""
    if only:
        return frame
    if obs_key is None:
        return {render_key: frame, **observation}
    return {obs_key: observation, render_key: frame}


class DiscretizeObservation(NumbersBins, TransformObservation[WrapperObsType, ActType, ObsType]):
    """Split each number of an observation into equal bins, and observe the bin index.

    Attributes:
        bins: Number of bins of each element of the observation, `[size]`.
        low: Lower bounds, `[size]`.
        high: Upper bounds, `[size]`.
        bin_edges: Inner edges between the bins, one array per element.
        n_dims: Number of elements of an observation.

    Examples:
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
            bins: Number of bins: one number for all elements, or one per element.
            multidiscrete: Whether to observe one index per element, an array `[size]` int64 of a
                `MultiDiscrete` space, instead of one number of a `Discrete` space.

        Raises:
            FailedTypeCheck: If the space is not a `Box`, or `bins` is neither an integer nor a
                sequence of them.
            FailedCheck: If the space is not bounded, `bins` has the wrong length, a number of bins
                is not positive, or there are more than 2**63 combinations.
        """
        numbers = self._divide("observation", observed(env), bins, multidiscrete)
        counts = self.bins.tolist()
        if not multidiscrete:  # the number's digits are the indices of the elements
            self._strides = np.array([math.prod(counts[i + 1 :]) for i in range(len(counts))])
        self.bin_edges = [np.linspace(lo, hi, n + 1)[1:-1] for lo, hi, n in self._bounds()]
        self._apply(env, numbers, self._bin_of, self._bins_of_batch)

    def _bin_of(self, observation: npt.ArrayLike) -> int | Indices:
        """Return the bins of one observation: an `int`, or `[size]` int64 if `multidiscrete`."""
        bins: Indices = self._bins_of_batch(np.asarray(observation)[None])[0]
        return bins if self.multidiscrete else int(bins)

    def _bins_of_batch(self, observations: Array) -> Indices:
        """Return the bins of a batch: `[n]` int64, or `[n, size]` if `multidiscrete`.

        Numbers outside the bounds fall into the outermost bins, and NaN into the last one.
        """
        values = np.asarray(observations).reshape(len(observations), self.n_dims)
        values = np.minimum(np.maximum(values, self.low), self.high)
        indices = np.empty(values.shape, np.int64)
        for i, edges in enumerate(self.bin_edges):
            indices[:, i] = edges.searchsorted(values[:, i], "right")
        return indices if self.multidiscrete else indices @ self._strides

    def revert_observation(self, obs: object) -> tuple[Array, Array]:
        """Return the edges of the bins that a discrete observation denotes.

        Args:
            obs: An element of the observation space.

        Returns:
            The lower and the upper edges, each `[size]` in the dtype of the wrapped environment's
            observations.

        Raises:
            FailedTypeCheck: If `obs` is not an integer.
            IndexError: If there is no such bin; the error is also an `InvalidArgument`.
        """
        lower, upper = self._edges(obs, ())
        return lower[0], upper[0]

    def _edges(self, obs: object, batch: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the edges of a batch of bins, `[n, size]`; `[size]` if `batch` is `()`."""
        array = np.asarray(obs)
        shape = (*batch, self.n_dims) if self.multidiscrete else batch
        limit = self.bins if self.multidiscrete else self._count
        if array.dtype.kind not in "iu":
            raise error.FailedTypeCheck(f"revert_observation: expected integers, got {obs!r}")
        if array.shape != shape:
            raise FailedIndexCheck(
                f"revert_observation: expected indices of shape {shape}, got {array.shape}"
            )
        if (array < 0).any() or (array >= limit).any():
            raise FailedIndexCheck(
                f"revert_observation: expected indices of at least 0 and below {limit}, got {obs}"
            )
        if self.multidiscrete:
            indices = array.reshape(-1, self.n_dims)
        else:
            indices = array.reshape(-1, 1) // self._strides % self.bins
        lower = np.empty(indices.shape, self.low.dtype)
        upper = np.empty_like(lower)
        for i, (lo, inner, hi) in enumerate(zip(self.low, self.bin_edges, self.high, strict=True)):
            edges = np.array([lo.item(), *inner, hi.item()])
            lower[:, i], upper[:, i] = edges[indices[:, i]], edges[indices[:, i] + 1]
        return lower, upper
