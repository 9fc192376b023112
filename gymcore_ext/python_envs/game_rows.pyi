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
    def step(
        self, game: object, parts: object, *, is_cut: bool = False
    ) -> tuple[
        tuple[Any, npt.NDArray[np.float64]],
        float,
        bool,
        bool,
        Mapping[str, dict[str, Any]] | None,
    ]: ...
    def get_state(self) -> tuple[list[bool], npt.NDArray[np.float64]]: ...
    def set_state(self, state: tuple[Sequence[bool], npt.ArrayLike]) -> None: ...
