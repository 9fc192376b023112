"""Resizer: frames rescaled by weights of rows and columns."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

COLUMNS: int
"""Maximum number of columns of a frame."""

@final
class Resizer:
    """Rescales frames uint8 [rows, columns] or [rows, columns, 3].

    Args:
        size: rows and columns.
        first_row: the first row that each row of the target covers, [height].
        row_weights: weights of this row and the following ones, [height, taps].
        first_column: the first column that each column of the target covers, [width].
        column_weights: weights of this column and the following ones, [width, taps].
        scale: factor of the weighted sum, before it is rounded.
        offset: number that is then added.
    """

    def __init__(
        self,
        size: tuple[int, int],
        first_row: NDArray[np.int32],
        row_weights: NDArray[np.float32],
        first_column: NDArray[np.int32],
        column_weights: NDArray[np.float32],
        scale: float,
        offset: float,
    ) -> None: ...
    @property
    def size(self) -> tuple[int, int]: ...
    @property
    def target(self) -> tuple[int, int]: ...
    def __call__(self, frame: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
        """Rescale a frame into `out` [height, width] or [height, width, 3], and return it."""
