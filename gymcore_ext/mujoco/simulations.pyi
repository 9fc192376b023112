from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.lanes.struct_lanes import LaneStore

OPERAND: np.dtype[Any]
OPERATION: np.dtype[Any]
MUJOCO_FUNCTIONS: tuple[str, ...]
PHASES: tuple[str, ...]
CALLS: tuple[str, ...]

class Simulations(LaneStore):
    @property
    def models(self) -> list[Any]: ...
    @property
    def datas(self) -> list[Any]: ...
    def __init__(
        self,
        program: Any,
        *,
        models: list[Any],
        datas: list[Any],
        frame_skip: int,
        signature: int,
        on_fault: Callable[[list[int], list[str], bool], None],
        agents: dict[str, Any] | None = None,
    ) -> None: ...
    def raise_faults(self) -> None: ...
    def valid(self, saved: np.ndarray) -> npt.NDArray[np.bool_]: ...
    def set_initial_state(self, qpos: npt.ArrayLike, qvel: npt.ArrayLike) -> None: ...
    def seed_streams(self, entropy: int, lo: int, hi: int) -> None: ...
    def set_model(self, lane: int, model: Any) -> None: ...

def run(
    operations: npt.NDArray[Any],
    spaces: Sequence[npt.ArrayLike],
    float32_actions: bool,
    writable: list[int] | None = None,
    energy: int = -1,
) -> npt.NDArray[np.float64]: ...
def take_steps(model: Any, data: Any, count: int) -> tuple[str, bool] | None: ...
def set_functions(addresses: dict[str, int], place_of_contacts: int) -> None: ...
