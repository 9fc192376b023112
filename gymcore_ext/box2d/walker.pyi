from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.box2d.worlds import Worlds

EPISODE: np.dtype[Any]
kernel: object

class Walkers(Worlds):
    def __init__(self, **options: Any) -> None: ...

class Rays:
    def __init__(
        self, corners: npt.ArrayLike, boxes: npt.ArrayLike, ends: npt.ArrayLike
    ) -> None: ...
    def cast(self, x: float, y: float) -> list[float]: ...
