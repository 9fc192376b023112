import numpy as np
import numpy.typing as npt

FAULT_TEXTS: tuple[str, ...]
LANE_FUNCTIONS: object
OBSERVES: tuple[str, ...]
LAYOUTS: tuple[str, ...]

class Tiles:
    def __init__(self, size: int) -> None: ...

class GridSpec:
    def __init__(
        self,
        rules: object,
        width: int,
        height: int,
        rooms: tuple[int, int, int] = (0, 0, 0),
        *,
        view_size: int = 7,
        see_through_walls: bool = False,
        observes: str = "partial",
        layout: str = "dict",
        highlight: bool = True,
        tile_size: int = 8,
        goal_directions: npt.NDArray[np.float64] | None = None,
    ) -> None: ...
    @property
    def parts(self) -> tuple[tuple[np.dtype, tuple[int, ...]], ...]: ...
    @property
    def capsule(self) -> object: ...
    @property
    def lane_bytes(self) -> int: ...
    @property
    def lane_dtype(self) -> np.dtype: ...
    @property
    def arguments(self) -> list[str]: ...
    @property
    def num_actions(self) -> int: ...
    @property
    def episode(self) -> int: ...
    def renew_episode(self) -> None: ...
    def finish_reset(self, lane: npt.NDArray[np.uint8]) -> None: ...
    def frame(
        self,
        lane: npt.NDArray[np.uint8],
        tile_size: int,
        agent_pov: bool,
        highlight: bool,
    ) -> npt.NDArray[np.uint8]: ...
    def mission(self, lane: npt.NDArray[np.uint8]) -> str: ...

class Missions:
    def __init__(
        self, spec: GridSpec, lanes: npt.NDArray[np.uint8], elapsed: npt.NDArray[np.int32]
    ) -> None: ...
    @property
    def texts(self) -> npt.NDArray[np.object_]: ...
    @property
    def are_current(self) -> bool: ...
    def read(self, all_lanes: bool) -> None: ...
