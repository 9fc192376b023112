"""Observations that are pictures: grey, of another size, or of the environment's rendering."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType, WrapperObsType
from gymcore.spaces import Box, Dict, Space
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.observation_base import (
    BatchFunction,
    TransformObservation,
    checked_box,
    is_integer,
    observed,
    of_any_size,
)
from gymcore_ext.wrappers import greys

__all__ = ["AddRenderObservation", "GrayscaleObservation", "ResizeObservation"]

Picture = npt.NDArray[np.uint8]

# Rec. 709 luma as scikit-image rounds it. OpenCV's, which Gym 0.26 used, is another.
GREY = (0.2125, 0.7154, 0.0721)


class GrayscaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Make colour pictures grey: `0.2125 red + 0.7154 green + 0.0721 blue`, rounded down.

    Attributes:
        keep_dim: Whether pictures keep their last axis, of length 1.

    Example:
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
            keep_dim: Return `[height, width, 1]` instead of `[height, width]`.

        Raises:
            FailedTypeCheck: if the space is no `Box` (a `TypeError`).
            FailedCheck: if it has another shape, dtype or bounds (a `ValueError`).
        """
        space = checked_box("GrayscaleObservation", env)
        if space.dtype != np.uint8 or (space.low != 0).any() or (space.high != 255).any():
            raise error.FailedCheck(
                "GrayscaleObservation requires observation bounds 0 to 255 and dtype uint8, "
                f"got {space}"
            )
        if len(space.shape) != 3 or space.shape[2] != 3:
            raise error.FailedCheck(
                f"GrayscaleObservation requires an image with 3 channels, got shape {space.shape}"
            )
        func = _grey_column if keep_dim else grey
        shape = (*space.shape[:2], 1) if keep_dim else space.shape[:2]
        box: Any = Box(0, 255, shape, np.uint8)
        RecordConstructorArgs.__init__(self, keep_dim=keep_dim)
        TransformObservation.__init__(self, env, func, box)
        self._whole_batches = func, functools.partial(of_any_size, func)
        self.keep_dim = keep_dim


def grey(pictures: Any) -> Picture:
    """Return the grey values of pictures `[..., 3]` uint8, as `[...]` uint8: a new array."""
    return greys.grey(np.asarray(pictures, np.uint8), *GREY)


def _grey_column(pictures: Any) -> Picture:
    return grey(pictures)[..., None]


class ResizeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Resize pictures with OpenCV's `INTER_AREA`.

    Gym 0.26: one number in place of the shape is height and width; pictures without channels then
    come back as `[height, width, 1]`.

    Attributes:
        shape: The new height and width.
        cv2_shape: The new width and height.

    Example:
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
            shape: The new height and width; channels stay.

        Raises:
            FailedTypeCheck: if the space is no `Box`, or `shape` no tuple of integers
                (`TypeError`s).
            FailedCheck: if `shape` is not two positive numbers, or the space has another shape,
                dtype or bounds (`ValueError`s).
            DependencyNotInstalled: if opencv is missing.
        """
        space = checked_box("ResizeObservation", env)
        _check_resizable(space)
        _check_size(shape)
        height, width = int(shape[0]), int(shape[1])
        new = (height, width, *space.shape[2:])
        func = functools.partial(resize, load_cv2("ResizeObservation"), new)
        box: Any = Box(0, 255, new, np.uint8)
        RecordConstructorArgs.__init__(self, shape=shape)
        TransformObservation.__init__(self, env, func, box)
        self._whole_batches = func, functools.partial(_batch_resizer, func, new)
        self.shape = (height, width)
        self.cv2_shape = (width, height)


def load_cv2(wrapper: str) -> ModuleType:
    """Import OpenCV, or say how to install it.

    Args:
        wrapper: Name of the wrapper that needs it, for the message.
    """
    try:
        import cv2
    except ImportError as problem:
        raise error.DependencyNotInstalled(
            f'opencv (cv2) is not installed, {wrapper} needs it: run `pip install "gymcore[other]"`'
        ) from problem
    module: ModuleType = cv2
    return module


def resize(
    cv2: ModuleType, shape: tuple[int, ...], picture: Any, out: Picture | None = None
) -> Picture:
    """Resize one picture.

    Args:
        cv2: The module.
        shape: `(height, width)` or `(height, width, channels)` of the result.
        picture: `[height, width]` or `[height, width, channels]` uint8, not changed.
        out: Where to put the result, contiguous; a new array without it.
    """
    if out is None:
        out = np.empty(shape, np.uint8)
    size = (shape[1], shape[0])
    channels = shape[2] if len(shape) == 3 else 1
    if channels <= 4:
        target = out.reshape(shape[:2]) if channels == 1 else out
        result = cv2.resize(picture, size, dst=target, interpolation=cv2.INTER_AREA)
        if result is not target:
            target[...] = result
    else:  # OpenCV takes four at a time
        for lo in range(0, channels, 4):
            part = np.ascontiguousarray(picture[..., lo : lo + 4])
            result = cv2.resize(part, size, interpolation=cv2.INTER_AREA)
            out[..., lo : lo + 4] = result.reshape(*shape[:2], -1)
    return out


def _batch_resizer(func: Any, shape: tuple[int, ...], num_envs: int) -> BatchFunction:
    def resize_batch(pictures: Any) -> Picture:
        out = np.empty((num_envs, *shape), np.uint8)
        for picture, target in zip(pictures, out, strict=True):
            func(picture, target)
        return out

    return resize_batch


def _check_resizable(space: Box[Any]) -> None:
    """Raise unless elements are pictures of bytes."""
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


def _check_size(shape: Any) -> None:
    """Raise unless a shape is a tuple of two positive integers."""
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
    """Observe what `render` returns, alone or beside the observation.

    Example:
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
        """Wrap `env`, and reset it to see what it renders.

        Args:
            env: An environment whose `render` returns an array.
            render_only: Observe the frame alone. Otherwise a `Dict` observation has the frame
                added, and any other one becomes the dict `{obs_key: observation, render_key:
                frame}`.
            render_key: Key of the frame.
            obs_key: Key of the observation, unless it is a `Dict`.

        Raises:
            FailedCheck: if the render mode is None or "human", or there is something under
                `render_key` already (a `ValueError`).
            FailedTypeCheck: if `render` returns something else (a `TypeError`).
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
        RecordConstructorArgs.__init__(
            self, render_only=render_only, render_key=render_key, obs_key=obs_key
        )
        TransformObservation.__init__(
            self, env, lambda observation: func(observation, env.render()), joined
        )


def check_render_mode(mode: str | None) -> None:
    """Raise if nothing is rendered that could be observed."""
    if mode is None or mode == "human":
        raise error.FailedCheck(
            f"AddRenderObservation requires render_mode to be not None and not 'human', got {mode}"
        )


def check_render_keys(space: Space[Any], render_key: str, obs_key: str) -> None:
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


def frame_space(frame: npt.NDArray[Any]) -> Any:
    """Return the space of frames: of bytes from 0 to 255, or for others what their dtype holds."""
    if frame.dtype == np.uint8:
        return Box(0, 255, frame.shape, np.uint8)
    if frame.dtype.kind == "f":
        return Box(-np.inf, np.inf, frame.shape, frame.dtype)
    limits = np.iinfo(frame.dtype) if frame.dtype.kind in "iu" else None
    low, high = (limits.min, limits.max) if limits else (0, 1)
    return Box(low, high, frame.shape, frame.dtype)


def join_frames(
    space: Space[Any], frames: Any, render_only: bool, render_key: str, obs_key: str
) -> tuple[Any, Any]:
    """Return the space of observations with frames, and what makes one of the two.

    Args:
        space: Space of the observations.
        frames: Space of the frames.
        render_only: Whether to leave the observation out.
        render_key: Key of the frame.
        obs_key: Key of the observation, unless it is a `Dict`.
    """
    if render_only:
        return frames, lambda observation, frame: frame
    if isinstance(space, Dict):
        return (
            Dict({render_key: frames, **space.spaces}),
            lambda observation, frame: {render_key: frame, **observation},
        )
    return (
        Dict({obs_key: space, render_key: frames}),
        lambda observation, frame: {obs_key: observation, render_key: frame},
    )
