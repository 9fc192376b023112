from typing import Any

import numpy as np
import numpy.typing as npt

LANE_FUNCTIONS: object
WAREHOUSE: np.dtype[np.void]
ROBOT: np.dtype[np.void]

def warehouse_capsule(warehouse: npt.NDArray[Any]) -> object: ...
