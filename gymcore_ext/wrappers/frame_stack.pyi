from typing import Any

import numpy as np
import numpy.typing as npt

ADD: int
BEGIN: int
KEEP: int
PEEK: int

class FrameMemory:
    def __init__(
        self,
        num_envs: int,
        depth: int,
        shape: tuple[int, ...],
        dtype: Any,
        *,
        padding: Any = None,
        oldest: bool = False,
        errors: Any,
    ) -> None: ...
    def update(
        self,
        observations: Any,
        changes: npt.NDArray[np.uint8] | npt.NDArray[np.bool_],
        lanes: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[Any]: ...
    def copy_lanes(self, source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]) -> None: ...
