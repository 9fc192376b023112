from typing import Any

import numpy as np
import numpy.typing as npt

class ReturnStats:
    def __init__(self, num_envs: int, next_step: bool, same_step: bool) -> None: ...
    @property
    def accumulated(self) -> npt.NDArray[np.float32]: ...
    def reset(self, mask: npt.NDArray[np.bool_] | None) -> None: ...
    def end(self, mask: npt.NDArray[np.bool_]) -> None: ...
    def step(
        self,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        mean: float,
        var: float,
        count: float,
        gamma: float,
        epsilon: float,
        update: bool,
    ) -> tuple[npt.NDArray[np.float64], float, float, int]: ...
