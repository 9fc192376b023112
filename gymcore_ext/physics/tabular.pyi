from typing import Any

import numpy as np
import numpy.typing as npt

# A PyCapsule with the kernel, for gymcore_ext.engine.batch.Batch.
kernel: object

def pack(
    outcomes: npt.NDArray[Any],
    starts: npt.NDArray[np.float64],
    masks: npt.NDArray[np.int8] | None = None,
) -> object: ...
