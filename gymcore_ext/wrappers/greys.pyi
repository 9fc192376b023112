from typing import Any

import numpy as np
import numpy.typing as npt

def grey(pictures: Any, red: float, green: float, blue: float) -> npt.NDArray[np.uint8]: ...
