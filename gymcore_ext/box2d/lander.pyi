from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.box2d.worlds import Worlds

EPISODE_DTYPE: np.dtype[Any]
kernel: object
continuous_kernel: object

class Landers(Worlds):
    @property
    def smoke(self) -> npt.NDArray[np.float64]: ...
    def __init__(self, **options: Any) -> None: ...
