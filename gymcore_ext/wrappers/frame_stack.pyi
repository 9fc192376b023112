from typing import Any

import numpy as np
import numpy.typing as npt

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
    def reset(self, observations: Any, begun: npt.NDArray[np.bool_]) -> npt.NDArray[Any]: ...
    def step(
        self,
        observations: Any,
        begun: npt.NDArray[np.bool_],
        lanes: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[Any]: ...
    def peek(
        self,
        observations: Any,
        mask: npt.NDArray[np.bool_],
        lanes: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[Any]: ...
