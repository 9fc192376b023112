from typing import Any

import numpy as np

from gymcore_ext.box2d.worlds import Worlds

EPISODE_DTYPE: np.dtype[Any]
kernel: object

class Walkers(Worlds):
    def __init__(self, **options: Any) -> None: ...
