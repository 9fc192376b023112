from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

VERSION: int

class ReplayMemory:
    @property
    def size(self) -> int: ...
    def __init__(
        self,
        steps: npt.NDArray[Any],
        lanes: npt.NDArray[Any],
        parts: tuple[Any, ...],
        num_observations: int,
        *,
        n_steps: int,
        discount: float,
        stack: int,
        alpha: float,
        autoreset_mode: int,
        tree: npt.NDArray[np.float64] | None,
        errors: Any,
    ) -> None: ...
    def add(
        self,
        observations: tuple[Any, ...],
        actions: tuple[Any, ...],
        next_observations: tuple[Any, ...],
        rewards: Any,
        terminated: Any,
        truncated: Any,
        infos: Any,
        batch: Any,
        finals: Callable[[Any, Any, Any, Any], tuple[Any, ...]],
    ) -> None: ...
    def sample(
        self, batch_size: int, beta: float, out: tuple[Any, ...] | None
    ) -> list[npt.NDArray[Any]]: ...
    def update_priorities(self, indices: Any, priorities: Any) -> None: ...
