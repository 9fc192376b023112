"""`FrameStack` and `LazyFrames` of Gym 0.26: stacks of observations that share memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import positive
from gymcore.base.optional_packages import needs
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.compat.gym26.core import ObservationWrapper
from gymcore.compat.gym26.wrappers.transforms import box_space
from gymcore.core import Env
from gymcore.spaces import Box
from gymcore.wrappers.utils import Array

__all__ = ["FrameStack", "LazyFrames"]


def _lz4_block() -> ModuleType:
    """Import `lz4.block`, or raise `DependencyNotInstalled`."""
    with needs("lz4"):
        import lz4.block
    module: ModuleType = lz4.block
    return module


class _CompressedFrame:
    """An array, stored as lz4-compressed bytes."""

    __slots__ = ("_bytes", "dtype", "shape")

    def __init__(self, frame: Array) -> None:
        self.shape = frame.shape
        self.dtype = frame.dtype
        self._bytes: bytes = _lz4_block().compress(np.ascontiguousarray(frame))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        raw = _lz4_block().decompress(self._bytes, return_bytearray=True)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)


class LazyFrames:
    """A sequence of frames that is stacked into one array [len(frames), ...] when it is read.

    Consecutive stacks share their frames, so a replay buffer of stacks of four needs a quarter of
    the memory of stacked arrays. `lz4_compress` stores the frames compressed.

    Attributes:
        shape: Shape of the stack.
        frame_shape: Shape of a frame.
        dtype: Dtype of the frames.
        lz4_compress: Whether the frames are stored compressed.

    Examples:
        >>> import numpy as np
        >>> frames = LazyFrames([np.zeros(2), np.ones(2)])
        >>> frames.shape, len(frames), frames[-1]
        ((2, 2), 2, array([1., 1.]))
        >>> np.asarray(frames, dtype=np.int64)
        array([[0, 0],
               [1, 1]])
    """

    __slots__ = ("_frames", "dtype", "frame_shape", "lz4_compress", "shape")

    def __init__(
        self, frames: Sequence[npt.ArrayLike | _CompressedFrame], lz4_compress: bool = False
    ) -> None:
        """Store arrays of one shape and dtype without copying; `lz4_compress` needs lz4."""
        if not len(frames):
            raise error.InvalidArgument("frames: expected at least one frame, got none")
        self._frames = [_as_frame(frame, lz4_compress) for frame in frames]
        self.frame_shape: tuple[int, ...] = self._frames[0].shape
        self.shape: tuple[int, ...] = (len(frames), *self.frame_shape)
        self.dtype: np.dtype = self._frames[0].dtype
        self.lz4_compress = lz4_compress

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Return the stack as a new array; `copy=False` raises `ValueError`."""
        if copy is False:
            raise ValueError("LazyFrames cannot be converted to an array without a copy")
        stack: Array = self[:]
        return stack if dtype is None else stack.astype(dtype, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        """Return one frame (the stored array, unless compressed), or a new array of several."""
        if isinstance(index, (int, np.integer)):
            return np.asarray(self._frames[index])
        if isinstance(index, slice):
            frames = [np.asarray(frame) for frame in self._frames[index]]
            return np.stack(frames) if frames else np.empty((0, *self.frame_shape), self.dtype)
        selected: Array = self[:][index]
        return selected

    # NumPy evaluates `array == frames` with `__array__`.

    def __eq__(self, other: object) -> Any:
        return self[:] == (other[:] if isinstance(other, LazyFrames) else other)

    def __ne__(self, other: object) -> Any:
        return self[:] != (other[:] if isinstance(other, LazyFrames) else other)

    def __repr__(self) -> str:
        return f"LazyFrames(shape={self.shape}, dtype={self.dtype})"


def _as_frame(frame: npt.ArrayLike | _CompressedFrame, compress: bool) -> Array | _CompressedFrame:
    """Return a frame in its stored form: as an array, or compressed."""
    if isinstance(frame, _CompressedFrame):
        return frame
    frame = np.asarray(frame)
    return _CompressedFrame(frame) if compress else frame


class FrameStack(ObservationWrapper, RecordConstructorArgs):
    """Stack the last `num_stack` observations as `LazyFrames` (Gym 0.26).

    `reset` returns the first observation `num_stack` times. Gymnasium 1.x has
    `FrameStackObservation` instead, whose stacks are arrays.

    Attributes:
        frames: The last observations, compressed if `lz4_compress` is set.

    Examples:
        >>> import gymcore as gym
        >>> env = FrameStack(gym.make("CartPole-v1"), 3)
        >>> observation, info = env.reset(seed=1)
        >>> observation
        LazyFrames(shape=(3, 4), dtype=float32)
        >>> env.step(0)[0][0] is observation[1]
        True
    """

    def __init__(self, env: Env, num_stack: int, lz4_compress: bool = False) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Box` observation space; any other raises `FailedTypeCheck`
                (an `AssertionError`).
            num_stack: Number of observations in a stack, at least 1.
            lz4_compress: Whether to store them compressed; requires lz4.
        """
        ObservationWrapper.__init__(self, env)
        space = box_space(env.observation_space, "FrameStack", "observation")
        self.num_stack = positive("num_stack", num_stack)
        if lz4_compress:
            _lz4_block()
        self.lz4_compress = lz4_compress
        self.frames: deque[_CompressedFrame | Array] = deque(maxlen=self.num_stack)
        low, high = (np.repeat(side[None], num_stack, axis=0) for side in (space.low, space.high))
        self.observation_space = Box(low, high, dtype=space.dtype)

    def observation(self, observation: object = None) -> LazyFrames:
        """Return the stack of the last observations; raise `ResetNeeded` before a reset."""
        if len(self.frames) != self.num_stack:
            raise error.ResetNeeded(
                f"FrameStack: expected {self.num_stack} observations, got {len(self.frames)}; "
                "call reset first"
            )
        return LazyFrames(self.frames, self.lz4_compress)

    def step(self, action: object) -> Any:
        """Step the environment, and return the stack that ends with the new observation."""
        observation, *rest = self.env.step(action)
        self.frames.append(self._frame(observation))
        return self.observation(), *rest

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment, and return a stack of the first observation."""
        return self._with_first(self.env.reset(**kwargs), self._first_stack)

    def _first_stack(self, observation: npt.ArrayLike) -> LazyFrames:
        self.frames.extend([self._frame(observation)] * self.num_stack)
        return self.observation()

    def _frame(self, observation: npt.ArrayLike) -> _CompressedFrame | Array:
        """Return a copy of an observation, whose array the environment may change."""
        return _as_frame(np.array(observation), self.lz4_compress)
