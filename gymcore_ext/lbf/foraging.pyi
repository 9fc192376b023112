from typing import Any

import numpy as np
import numpy.typing as npt

LANE_FUNCTIONS: object
FIELD: np.dtype[np.void]

def field_capsule(field: npt.NDArray[Any]) -> object: ...
