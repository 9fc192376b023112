"""`FrameStack` and `LazyFrames` of Gym 0.26: stacks of observations that share their frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.compat.gym26.core import ObservationWrapper
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
    block: ModuleType = lz4.block
    return block


class LazyFrames:
    """Frames that look like one array [len(frames), ...] and are stacked when somebody reads them.

    Stacks that follow each other hold the same frames, so a replay memory of stacks of four takes a
    quarter of what stacked arrays take. With `lz4_compress` frames are held compressed.

    Attributes:
        shape: Of the stack.
        frame_shape: Of one frame.
        dtype: Of both.
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
        """Hold frames.

        Args:
            frames: At least one array, all of one shape and dtype. They are kept, not copied.
            lz4_compress: Compress them.

        Raises:
            InvalidArgument: if there are no frames.
            DependencyNotInstalled: if lz4 is needed and missing.
        """
        if not len(frames):
            raise error.InvalidArgument("frames: expected at least one frame, got none")
        arrays = [np.asarray(frame) for frame in frames]
        self.frame_shape: tuple[int, ...] = arrays[0].shape
        self.shape: tuple[int, ...] = (len(arrays), *self.frame_shape)
        self.dtype: np.dtype[Any] = arrays[0].dtype
        self.lz4_compress = lz4_compress
        self._frames: list[Any] = [compress_frame(a) for a in arrays] if lz4_compress else arrays

    @classmethod
    def of_compressed(
        cls, frames: Sequence[bytes], frame_shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> LazyFrames:
        """Hold frames that `compress_frame` made, which may be in other stacks too.

        Args:
            frames: The compressed frames, kept.
            frame_shape: Their shape.
            dtype: Their dtype.
        """
        stack = object.__new__(cls)
        stack.frame_shape = tuple(frame_shape)
        stack.shape = (len(frames), *stack.frame_shape)
        stack.dtype = np.dtype(dtype)
        stack.lz4_compress = True
        stack._frames = list(frames)
        return stack

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the stack as a new array.

        Args:
            dtype: Of the array; None for that of the frames.
            copy: As for `numpy.array`.

        Raises:
            ValueError: if `copy` is False: there is no array that could be shared.
        """
        if copy is False:
            raise ValueError("LazyFrames cannot be made an array without a copy")
        stack: npt.NDArray[Any] = self[:]
        return stack if dtype is None else stack.astype(dtype, copy=False)

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.shape[0]

    def __getitem__(self, index: Any) -> npt.NDArray[Any]:
        """Return one frame (the frame itself unless it is compressed), or a new array of several.

        Args:
            index: An integer, a slice, or anything else that indexes the stacked array.
        """
        if isinstance(index, slice):
            frames = [self._frame(frame) for frame in self._frames[index]]
            return np.stack(frames) if frames else np.empty((0, *self.frame_shape), self.dtype)
        if isinstance(index, (int, np.integer)):
            return self._frame(self._frames[index])
        item: npt.NDArray[Any] = self[:][index]
        return item

    def __eq__(self, other: object) -> Any:
        """Compare as an array: element by element."""
        return self.__array__() == (other.__array__() if isinstance(other, LazyFrames) else other)

    def __ne__(self, other: object) -> Any:
        """Compare as an array: element by element."""
        return self.__array__() != (other.__array__() if isinstance(other, LazyFrames) else other)

    def __repr__(self) -> str:
        """Return the shape and dtype."""
        return f"LazyFrames(shape={self.shape}, dtype={self.dtype})"

    def _frame(self, frame: Any) -> npt.NDArray[Any]:
        """Return a frame as it was put in."""
        if not self.lz4_compress:
            array: npt.NDArray[Any] = frame
            return array
        raw = _lz4_block().decompress(frame, return_bytearray=True)
        return np.frombuffer(raw, self.dtype).reshape(self.frame_shape)


def compress_frame(frame: npt.NDArray[Any]) -> bytes:
    """Return the compressed bytes of an array.

    Raises:
        DependencyNotInstalled: if lz4 is missing.
    """
    compressed: bytes = _lz4_block().compress(np.ascontiguousarray(frame))
    return compressed


class FrameStack(ObservationWrapper, RecordConstructorArgs):
    """Show the last `num_stack` observations, as `LazyFrames` (Gym 0.26).

    The stack of a reset is the first observation, `num_stack` times. `FrameStackObservation` is the
    wrapper of Gymnasium 1.x, whose stacks are arrays.

    Attributes:
        frames: The last observations.
        num_stack: How many there are.
        lz4_compress: Whether stacks hold them compressed, each one once.

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
            env: An environment whose observations are arrays (a `Box` space).
            num_stack: Observations in a stack, at least 1.
            lz4_compress: Hold them compressed.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if the observation space is no `Box`.
            ArgumentTypeError: if `num_stack` is no integer.
            InvalidArgument: if it is less than 1.
            DependencyNotInstalled: if lz4 is needed and missing.
        """
        RecordConstructorArgs.__init__(self, num_stack=num_stack, lz4_compress=lz4_compress)
        ObservationWrapper.__init__(self, env)
        space = env.observation_space
        if not isinstance(space, Box):
            raise error.FailedTypeCheck(
                f"FrameStack: expected a Box observation space, got {space}"
            )
        num_stack = positive("num_stack", num_stack)
        if lz4_compress:
            _lz4_block()
        self.num_stack = num_stack
        self.lz4_compress = lz4_compress
        self.frames: deque[Any] = deque(maxlen=num_stack)
        self._compressed: deque[bytes] = deque(maxlen=num_stack)
        low = np.repeat(space.low[np.newaxis, ...], num_stack, axis=0)
        high = np.repeat(space.high[np.newaxis, ...], num_stack, axis=0)
        self.observation_space = Box(low, high, dtype=space.dtype)

    def observation(self, observation: Any = None) -> LazyFrames:
        """Return the stack of the last observations.

        Args:
            observation: Ignored.

        Raises:
            ResetNeeded: (also an `AssertionError`) before the first reset.
        """
        if len(self.frames) != self.num_stack:
            raise error.ResetNeeded(
                f"FrameStack: expected {self.num_stack} observations, got {len(self.frames)}; "
                "call reset first"
            )
        if self.lz4_compress:
            first = self.frames[0]
            return LazyFrames.of_compressed(self._compressed, first.shape, first.dtype)
        return LazyFrames(self.frames)

    def step(self, action: Any) -> tuple[LazyFrames, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, and return the stack that ends with its observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._append(observation, 1)
        return self.observation(), reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[LazyFrames, dict[str, Any]]:
        """Reset the environment, and return a stack of its first observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._append(observation, self.num_stack)
        return self.observation(), info

    def _append(self, observation: Any, times: int) -> None:
        """Put an observation at the end of the stack."""
        frame = np.asarray(observation)
        self.frames.extend([frame] * times)
        if self.lz4_compress:
            self._compressed.extend([compress_frame(frame)] * times)
