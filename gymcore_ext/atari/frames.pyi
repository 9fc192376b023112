"""Resizer: frames rescaled by areas, as `cv2.resize` with INTER_AREA does it, without OpenCV."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

def area_weights(size: int, target: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Of each of `target` pixels the first of `size` pixels that it covers, and their weights.

    Returns int32 [target] and float32 [target, taps].
    """

@final
class Resizer:
    """Rescales frames uint8 [rows, columns] or [rows, columns, 3].

    Args:
        size: rows and columns.
        target: height and width, at most as large.
    """

    def __init__(self, size: tuple[int, int], target: tuple[int, int]) -> None: ...
    @property
    def size(self) -> tuple[int, int]: ...
    @property
    def target(self) -> tuple[int, int]: ...
    def __call__(self, frame: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
        """Rescale a frame into `out` [height, width] or [height, width, 3], and return it."""
