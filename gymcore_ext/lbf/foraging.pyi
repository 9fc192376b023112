import numpy as np
import numpy.typing as npt

LANE_FUNCTIONS: object

class Field:
    def __init__(
        self,
        rows: int,
        columns: int,
        player_levels: npt.NDArray[np.int32],
        food_levels: npt.NDArray[np.int32],
        sight: int,
        coop: bool = False,
        grid: bool = False,
        shows_levels: bool = True,
        normalizes: bool = True,
    ) -> None: ...
    @property
    def lane_dtype(self) -> np.dtype: ...
    @property
    def capsule(self) -> object: ...
