from typing import Any

import numpy.typing as npt

from gymcore_ext.lanes.struct_lanes import LaneStore

SYMBOLS: dict[str, str]
LANE_FUNCTIONS: object

class Worlds(LaneStore):
    @property
    def worlds(self) -> list[Any]: ...
    @property
    def episodes(self) -> npt.NDArray[Any]: ...
    def __init__(
        self,
        *,
        kernel: object,
        functions: dict[str, int],
        worlds: list[Any],
        definitions: list[Any],
        error: type[Exception],
        **family: Any,
    ) -> None: ...
    def leave_first_step(self) -> None: ...
    def builds(self, lane: int) -> int: ...
    def raise_faults(self) -> None: ...
    def refuse_to_save(self, lane: int) -> None: ...

def read_members(kind: str, address: int) -> dict[str, Any]: ...
def step_and_save(
    functions: dict[str, int], world: int, steps: int, state: bytes | None = None
) -> tuple[bytes | None, int]: ...
