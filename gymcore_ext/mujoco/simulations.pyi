from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.lanes.struct_lanes import LaneStore

OPERAND: np.dtype[Any]
OPERATION: np.dtype[Any]
FUNCTIONS: tuple[str, ...]
HANDLERS: tuple[tuple[str, ...], ...]
CALLBACK: tuple[str, ...]
PHASES: tuple[str, ...]
FIRST_ARRAYS: tuple[str, ...]

class Simulations(LaneStore):
    @property
    def models(self) -> list[Any]: ...
    @property
    def datas(self) -> list[Any]: ...
    @property
    def arrays(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def registers(self) -> int: ...
    def __init__(
        self,
        *,
        functions: dict[str, int],
        models: list[Any],
        datas: list[Any],
        arrays: list[tuple[str, str]],
        programs: dict[str, npt.NDArray[Any]],
        constants: npt.ArrayLike,
        registers: int,
        parameters: dict[str, float],
        observation_size: int,
        action_size: int,
        infos: tuple[tuple[str, Any, int, bool], ...],
        info_register: int,
        reward_register: int,
        terminated_register: int,
        frame_skip: int,
        signature: int,
        on_fault: Callable[[list[int], list[str], bool], None],
    ) -> None: ...
    def raise_faults(self) -> None: ...
    def start_from(
        self,
        qpos: npt.NDArray[np.float64] | None = None,
        qvel: npt.NDArray[np.float64] | None = None,
    ) -> None: ...
    def set_model(self, lane: int, model: Any) -> None: ...

def run(
    operations: npt.NDArray[Any], spaces: Sequence[npt.ArrayLike], float32_actions: bool
) -> npt.NDArray[np.float64]: ...

class Stepper:
    def __init__(self, functions: dict[str, int]) -> None: ...
    def step(self, model: Any, data: Any, count: int) -> tuple[str, bool] | None: ...
