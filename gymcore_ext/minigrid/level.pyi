import numpy as np
import numpy.typing as npt

FAULT_TEXTS: list[str]
FUNCTIONS: object
MODES: list[str]
LAYOUTS: list[str]

class Level:
    def __init__(
        self,
        rules: object,
        width: int,
        height: int,
        *,
        room_size: int = 0,
        columns: int = 0,
        rows: int = 0,
        view_size: int = 7,
        see_through_walls: bool = False,
        mode: str = "partial",
        one_hot: bool = False,
        layout: str = "dict",
        text_size: int = 0,
        highlight: bool = True,
        tiles: npt.NDArray[np.uint8] | None = None,
        tile_of: npt.NDArray[np.int32] | None = None,
        goal_directions: npt.NDArray[np.float64] | None = None,
    ) -> None: ...
    @property
    def lane_bytes(self) -> int: ...
    @property
    def lane_dtype(self) -> np.dtype: ...
    @property
    def parameter_names(self) -> list[str]: ...
    @property
    def capsule(self) -> object: ...
    @property
    def parts(self) -> tuple[tuple[np.dtype, tuple[int, ...]], ...]: ...
    def begin(self, lane: npt.NDArray[np.uint8]) -> None: ...
    def observe(self, lane: npt.NDArray[np.uint8]) -> list[np.ndarray]: ...
    def mission(self, lane: npt.NDArray[np.uint8]) -> str: ...

class Missions:
    def __init__(
        self, level: Level, lanes: npt.NDArray[np.uint8], elapsed: npt.NDArray[np.int32]
    ) -> None: ...
    @property
    def texts(self) -> npt.NDArray[np.object_]: ...
    def read(self, again: bool = False) -> npt.NDArray[np.object_]: ...
