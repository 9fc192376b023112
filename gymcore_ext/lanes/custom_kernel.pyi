from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.engine.kernels import LaneOwner

LOOPS: tuple[str, ...]
RECORD_FAILURE_ADDRESS: int
FIRST_ARRAYS: tuple[str, ...]
PART: np.dtype[np.void]
INFO_FIELD: np.dtype[np.void]

class CustomKernel:
    def __init__(
        self,
        name: str,
        *,
        parts: tuple[tuple[Any, tuple[int, ...]], ...],
        action: tuple[Any, tuple[int, ...]],
        ranges: tuple[tuple[int, int], ...] = (),
        parameters: dict[str, float] | None = None,
        reset_options: dict[str, float] | None = None,
        infos: tuple[tuple[Any, ...], ...] = (),
        functions: object = None,
        loops: bool = True,
        agents: tuple[int, ...] = (),
        first_agents: tuple[int, ...] = (),
        central: tuple[Any, tuple[int, ...]] | None = None,
    ) -> None: ...
    @property
    def capsule(self) -> object: ...

class LaneLoops(LaneOwner):
    def __init__(
        self,
        kernel: CustomKernel,
        fields: list[npt.NDArray[Any]],
        loops: dict[str, int],
        owner: object,
        lasting: list[int],
    ) -> None: ...
    @property
    def fields(self) -> list[npt.NDArray[Any]]: ...
    def fail(self, problem: BaseException, lane: int = -1, loop: int = 0) -> None: ...
    def take_fault(self) -> tuple[int, str, BaseException | bytes]: ...

class LaneResults(LaneOwner):
    def __init__(
        self,
        kernel: CustomKernel,
        last: list[npt.NDArray[Any]],
        first: list[npt.NDArray[Any]],
        rewards: npt.NDArray[np.float64],
        ends: npt.NDArray[np.uint8],
    ) -> None: ...
