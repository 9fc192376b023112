from typing import Any

import numpy as np
import numpy.typing as npt

def are_lanes(lanes: npt.NDArray[np.int64], num_envs: int) -> bool: ...

# The rest is for other Cython modules: see arrays.pxd.
class ArrayRing:
    def __init__(self, shape: tuple[int, ...], dtype: Any, reuse: bool = False) -> None: ...
