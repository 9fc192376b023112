from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.python_envs.batch_buffer import BatchBuffer

class GameRows:
    @property
    def names(self) -> tuple[str, ...]: ...
    def __init__(
        self,
        names: tuple[str, ...],
        buffers: BatchBuffer | dict[str, BatchBuffer],
        zeros: tuple[object, ...],
    ) -> None: ...
    def begin(
        self, agents: Collection[str], observations: Mapping[str, Any]
    ) -> tuple[Any, npt.NDArray[np.float64]]: ...
    def actions(self, parts: object) -> dict[str, object]: ...
    def step(
        self,
        observations: Mapping[str, Any],
        rewards: Mapping[str, float],
        terminated: Mapping[str, bool],
        truncated: Mapping[str, bool],
        *,
        is_over: bool = False,
        is_cut: bool = False,
    ) -> tuple[Any, npt.NDArray[np.float64], float, bool, bool]: ...
    def get_state(self) -> tuple[list[bool], npt.NDArray[np.float64]]: ...
    def set_state(self, state: tuple[Sequence[bool], npt.ArrayLike]) -> None: ...
