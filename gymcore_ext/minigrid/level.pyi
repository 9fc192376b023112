import numpy as np
import numpy.typing as npt

MODES: list[str]
LAYOUTS: list[str]

class Level:
    lane_bytes: int
    parameter_names: list[str]
    parts: list[tuple[tuple[int, ...], np.dtype]]
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
    def mission(self, lane: npt.NDArray[np.uint8]) -> str: ...
