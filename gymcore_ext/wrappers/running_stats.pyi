from typing import Any

import numpy as np
import numpy.typing as npt

class ColumnStats:
    def __init__(self, rows: int, shape: tuple[int, ...]) -> None: ...
    def normalize(
        self, x: Any, mean: Any, var: Any, count: float, epsilon: float, update: bool
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any], npt.NDArray[Any]] | None: ...
    @staticmethod
    def update(
        x: Any, mean: Any, var: Any, count: float
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None: ...
