"""`FrameStack` and `LazyFrames` of Gym 0.26: stacks of observations that share their frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.gym26.core import ObservationWrapper
from gymcore.compat.gym26.wrappers.transforms import box_space
from gymcore.core import Env
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs
from gymcore.utils.arguments import positive

__all__ = ["FrameStack", "LazyFrames"]


def _lz4_block() -> ModuleType:
    """Return the module that compresses."""
    try:
        import lz4.block
    except ImportError as problem:
        raise error.DependencyNotInstalled(
            'lz4 is not installed, run `pip install "gymcore[other]"`'
        ) from problem
    return lz4.block


class _CompressedFrame:
    """An array that is held as its lz4-compressed bytes."""

    __slots__ = ("_bytes", "dtype", "shape")

    def __init__(self, frame: npt.NDArray[Any]) -> None:
        self.shape = frame.shape
        self.dtype = frame.dtype
        self._bytes: bytes = _lz4_block().compress(np.ascontiguousarray(frame))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        raw = _lz4_block().decompress(self._bytes, return_bytearray=True)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)


class LazyFrames:
    """Frames that look like one array [len(frames), ...] and are stacked when they are read.

    Stacks that follow each other hold the same frames, so a replay memory of stacks of four takes a
    quarter of what stacked arrays take. With `lz4_compress` frames are held compressed.

    Attributes:
        shape: Shape of the stack.
        frame_shape: Shape of a frame.
        dtype: Dtype of both.
        lz4_compress: Whether frames are held compressed.

    Example:
        >>> import numpy as np
        >>> frames = LazyFrames([np.zeros(2), np.ones(2)])
        >>> frames.shape, len(frames), frames[-1]
        ((2, 2), 2, array([1., 1.]))
        >>> np.asarray(frames, dtype=np.int64)
        array([[0, 0],
               [1, 1]])
    """

    __slots__ = ("_frames", "dtype", "frame_shape", "lz4_compress", "shape")

    # NumPy lets `array == frames` and the like go through `__array__`.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, frames: Sequence[Any], lz4_compress: bool = False) -> None:
        """Hold arrays of one shape and dtype, not copied; to compress them needs lz4."""
        if not len(frames):
            raise error.InvalidArgument("frames: expected at least one frame, got none")
        self._frames = [_as_frame(frame, lz4_compress) for frame in frames]
        self.frame_shape: tuple[int, ...] = self._frames[0].shape
        self.shape: tuple[int, ...] = (len(frames), *self.frame_shape)
        self.dtype: np.dtype[Any] = self._frames[0].dtype
        self.lz4_compress = lz4_compress

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the stack as a new array; `copy=False` is a `ValueError`."""
        if copy is False:
            raise ValueError("LazyFrames cannot be made an array without a copy")
        stack: npt.NDArray[Any] = self[:]
        return stack if dtype is None else stack.astype(dtype, copy=False)

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.shape[0]

    def __getitem__(self, index: Any) -> npt.NDArray[Any]:
        """Return one frame (not copied unless it is compressed), or a new array of several."""
        if isinstance(index, (int, np.integer)):
            return np.asarray(self._frames[index])
        if isinstance(index, slice):
            frames = [np.asarray(frame) for frame in self._frames[index]]
            return np.stack(frames) if frames else np.empty((0, *self.frame_shape), self.dtype)
        return self[:][index]

    def __eq__(self, other: object) -> Any:
        """Compare as an array: element by element."""
        return self[:] == (other[:] if isinstance(other, LazyFrames) else other)

    def __ne__(self, other: object) -> Any:
        """Compare as an array: element by element."""
        return self[:] != (other[:] if isinstance(other, LazyFrames) else other)

    def __repr__(self) -> str:
        """Return the shape and dtype."""
        return f"LazyFrames(shape={self.shape}, dtype={self.dtype})"


def _as_frame(frame: Any, compress: bool) -> Any:
    """Return a frame as it is held: an array, or compressed."""
    if isinstance(frame, _CompressedFrame):
        return frame
    frame = np.asarray(frame)
    return _CompressedFrame(frame) if compress else frame


class FrameStack(ObservationWrapper, RecordConstructorArgs):
    """Show the last `num_stack` observations, as `LazyFrames` (Gym 0.26).

    The stack of a reset is the first observation, `num_stack` times. `FrameStackObservation` is the
    wrapper of Gymnasium 1.x, whose stacks are arrays.

    Attributes:
        frames: The last observations, compressed with `lz4_compress`.
        num_stack: How many there are.
        lz4_compress: Whether they are held compressed, each one once.

    Example:
        >>> import gymcore as gym
        >>> env = FrameStack(gym.make("CartPole-v1"), 3)
        >>> observation, info = env.reset(seed=1)
        >>> observation
        LazyFrames(shape=(3, 4), dtype=float32)
        >>> env.step(0)[0][0] is observation[1]
        True
    """

    def __init__(self, env: Env[Any, Any], num_stack: int, lz4_compress: bool = False) -> None:
        """Wrap `env`.

        Args:
            env: An environment whose observations are arrays (a `Box` space); another is a
                `FailedTypeCheck` (an `AssertionError`).
            num_stack: Observations in a stack, at least 1.
            lz4_compress: Hold them compressed, which needs lz4.
        """
        ObservationWrapper.__init__(self, env)
        space = box_space(env.observation_space, "FrameStack", "observation")
        self.num_stack = positive("num_stack", num_stack)
        if lz4_compress:
            _lz4_block()
        self.lz4_compress = lz4_compress
        self.frames: deque[Any] = deque(maxlen=self.num_stack)
        low, high = (np.repeat(side[None], num_stack, axis=0) for side in (space.low, space.high))
        self.observation_space = Box(low, high, dtype=space.dtype)

    def observation(self, observation: Any = None) -> LazyFrames:
        """Return the stack of the last observations; before the first reset, a `ResetNeeded`."""
        if len(self.frames) != self.num_stack:
            raise error.ResetNeeded(
                f"FrameStack: expected {self.num_stack} observations, got {len(self.frames)}; "
                "call reset first"
            )
        return LazyFrames(self.frames, self.lz4_compress)

    def step(self, action: Any) -> Any:
        """Step the environment, and return the stack that ends with its observation."""
        observation, *rest = self.env.step(action)
        self.frames.append(_as_frame(observation, self.lz4_compress))
        return self.observation(), *rest

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment, and return a stack of its first observation."""
        observation, info = self.env.reset(**kwargs)
        self.frames.extend([_as_frame(observation, self.lz4_compress)] * self.num_stack)
        return self.observation(), info
