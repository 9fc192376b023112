from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.box2d.worlds import Worlds

LAP_FINISHED: int
LEFT_THE_FIELD: int
EPISODE_DTYPE: np.dtype[Any]
kernel: object
discrete_kernel: object

class Cars(Worlds):
    def __init__(
        self,
        *,
        lowest: int,
        shades: npt.NDArray[np.uint8],
        widths: npt.NDArray[np.int32],
        **options: Any,
    ) -> None: ...
