"""The frames of a batch arranged in one frame."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gymcore import error

_Frames = npt.NDArray[np.uint8] | Sequence[npt.NDArray[np.uint8]]


def columns_for(count: int, height: int, width: int, ratio: float) -> int:
    """Return the number of columns with which a grid of frames approaches a width-to-height ratio.

    The frames are made as large as possible; among equal sizes, the one with the fewest empty cells
    is chosen. `height` and `width` are those of a frame.

    Examples:
        >>> columns_for(6, 400, 600, 1.0), columns_for(6, 400, 600, 16 / 9)
        (2, 3)
    """

    def merit(columns: int) -> tuple[float, int, float]:
        rows = -(-count // columns)
        # Size of a frame when the grid is fitted into `ratio` x 1.
        size = min(ratio / (columns * width), 1.0 / (rows * height))
        shape = columns * width / (rows * height)
        return (round(size * height * width, 12), -rows * columns, -abs(math.log(shape / ratio)))

    return max(range(1, count + 1), key=merit)


class Tiling:
    """Copies the frames of a batch into one large frame, always the same array.

    Attributes:
        rows: Number of rows.

    Examples:
        >>> import numpy as np
        >>> tiling = Tiling(3, 1, 1, columns=2)
        >>> tiling([np.full((1, 1, 3), value, np.uint8) for value in (1, 2, 3)])[:, :, 0].tolist()
        [[1, 2], [3, 0]]
    """

    def __init__(self, count: int, height: int, width: int, columns: int) -> None:
        """Allocate the black grid for `count` frames of this size in `columns` columns."""
        self.columns, self.rows = columns, -(-count // columns)
        self.height, self.width = height, width
        self._tiled = np.zeros((self.rows * height, self.columns * width, 3), np.uint8)

    def __call__(self, frames: _Frames, *, lines: bool = False) -> npt.NDArray[np.uint8]:
        """Return the frames in one array, which the next call overwrites.

        Args:
            frames: Frames, each `[height, width, 3] uint8`.
            lines: Whether to draw a gray line, one pixel wide, between frames.
        """
        height, width = self.height, self.width
        for i, frame in enumerate(frames):
            row, column = divmod(i, self.columns)
            top, left = row * height, column * width
            self._tiled[top : top + height, left : left + width] = frame
        if lines:
            self._tiled[height - 1 : -1 : height] = 128
            self._tiled[:, width - 1 : -1 : width] = 128
        return self._tiled


def tile_frames(frames: _Frames, columns: int | None = None) -> npt.NDArray[np.uint8]:
    """Arrange the frames of a batch in one new frame, row by row from the upper left.

    Args:
        frames: uint8 [n, height, width, 3], or a sequence of n frames [height, width, 3].
        columns: Number of columns; None for as many columns as rows, or one more.

    Returns:
        A new array [rows * height, columns * width, 3] uint8. Empty cells are black.

    Raises:
        gymcore.error.ArgumentTypeError: If `frames` is not uint8, or `columns` not an integer.
        gymcore.error.InvalidArgument: If `frames` has another shape or is empty, or `columns` is
            not positive.

    Examples:
        >>> red, blue = np.zeros((2, 1, 1, 3), dtype=np.uint8)
        >>> red[..., 0] = blue[..., 2] = 255
        >>> tile_frames([red, blue, red], columns=2)[:, :, 0].tolist()
        [[255, 0], [255, 0]]
    """
    batch = _as_batch(frames)
    count, height, width, _ = batch.shape
    if columns is None:
        columns = math.isqrt(count - 1) + 1
    elif isinstance(columns, bool) or not isinstance(columns, (int, np.integer)):
        raise error.ArgumentTypeError(
            f"columns: expected an integer or None, got {columns!r} ({type(columns).__name__})"
        )
    elif columns < 1:
        raise error.InvalidArgument(f"columns: expected at least 1, got {columns}")
    return Tiling(count, height, width, int(columns))(batch)


def _as_batch(
    frames: npt.NDArray[np.uint8] | Sequence[npt.NDArray[np.uint8]],
) -> npt.NDArray[np.uint8]:
    """Return `frames` as one array [n, height, width, 3] after checking dtype and shape."""
    if not isinstance(frames, np.ndarray):
        for index, frame in enumerate(frames):
            if not isinstance(frame, np.ndarray):
                raise error.ArgumentTypeError(
                    f"frames[{index}]: expected a uint8 array [height, width, 3], "
                    f"got {type(frame).__name__}"
                )
            if frame.shape != frames[0].shape or frame.dtype != frames[0].dtype:
                raise error.InvalidArgument(
                    f"frames[{index}]: expected {frames[0].dtype} {frames[0].shape} as frames[0], "
                    f"got {frame.dtype} {frame.shape}"
                )
        frames = np.stack(frames) if len(frames) else np.zeros((0, 0, 0, 3), dtype=np.uint8)
    if frames.dtype != np.uint8:
        raise error.ArgumentTypeError(f"frames: expected dtype uint8, got {frames.dtype}")
    if frames.ndim != 4 or frames.shape[3] != 3 or 0 in frames.shape:
        raise error.InvalidArgument(
            f"frames: expected shape (n, height, width, 3) with no empty axis, got {frames.shape}"
        )
    return frames
