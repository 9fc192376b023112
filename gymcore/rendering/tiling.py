"""How the frames of a batch are laid out in one picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Tiling", "columns_for"]


def columns_for(count: int, height: int, width: int, ratio: float) -> int:
    """Return how many frames to put in a row, so that the whole gets near to a shape.

    Args:
        count: How many frames there are.
        height: Of a frame.
        width: Of a frame.
        ratio: Width over height that the whole picture should have.

    Returns:
        The number for which the frames are largest in a picture of that shape, with the fewest
        places left empty among equals.

    Example:
        >>> columns_for(6, 400, 600, 1.0), columns_for(6, 400, 600, 16 / 9)
        (2, 3)
    """

    def merit(columns: int) -> tuple[float, int, float]:
        rows = -(-count // columns)
        # Size of a frame when the whole is fitted into `ratio` x 1.
        size = min(ratio / (columns * width), 1.0 / (rows * height))
        whole = columns * width / (rows * height)
        return (round(size * height * width, 12), -rows * columns, -abs(math.log(whole / ratio)))

    return max(range(1, count + 1), key=merit)


class Tiling:
    """Copies the frames of a batch into one picture, the same one every time.

    Attributes:
        columns: Frames in a row.
        rows: Rows.
        height: Of a frame.
        width: Of a frame.

    Example:
        >>> import numpy as np
        >>> tiling = Tiling(3, 1, 1, columns=2)
        >>> tiling([np.full((1, 1, 3), value, np.uint8) for value in (1, 2, 3)])[:, :, 0].tolist()
        [[1, 2], [3, 0]]
    """

    def __init__(self, count: int, height: int, width: int, columns: int) -> None:
        """Make the picture, black.

        Args:
            count: How many frames a batch has.
            height: Of a frame.
            width: Of a frame.
            columns: Frames in a row; places behind the last frame stay black.
        """
        self.columns, self.rows = columns, -(-count // columns)
        self.height, self.width = height, width
        self._picture = np.zeros((self.rows * height, self.columns * width, 3), np.uint8)

    def __call__(
        self, frames: Sequence[npt.NDArray[np.uint8]], *, lines: bool = False
    ) -> npt.NDArray[np.uint8]:
        """Return the picture of these frames, which the next call draws over.

        Args:
            frames: Each `[height, width, 3] uint8`.
            lines: Draw a grey line of one pixel over the lower and right edges between frames.
        """
        height, width = self.height, self.width
        for i, frame in enumerate(frames):
            row, column = divmod(i, self.columns)
            top, left = row * height, column * width
            self._picture[top : top + height, left : left + width] = frame
        if lines:
            self._picture[height - 1 : -1 : height] = 128
            self._picture[:, width - 1 : -1 : width] = 128
        return self._picture
