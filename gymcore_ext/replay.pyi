from typing import Any

import numpy.typing as npt

VERSION: int

class ReplayMemory:
    @property
    def num_transitions(self) -> int: ...
    def __init__(
        self,
        records: npt.NDArray[Any],
        saved: npt.NDArray[Any],
        parts: tuple[Any, ...],
        num_observations: int,
        *,
        num_envs: int,
        n_steps: int,
        discount: float,
        stack: int,
        alpha: float,
        autoreset_mode: int,
        prioritized: bool,
        single: bool,
        errors: Any,
    ) -> None: ...
    def add(
        self,
        observations: Any,
        actions: Any,
        next_observations: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        infos: Any,
        batch: Any,
        buffer: Any,
    ) -> None: ...
    def sample(
        self, batch_size: int, beta: float, out: tuple[Any, ...] | None
    ) -> list[npt.NDArray[Any]]: ...
    def update_priorities(self, indices: Any, priorities: Any) -> None: ...

def priority_tree_size(capacity: int) -> int: ...
