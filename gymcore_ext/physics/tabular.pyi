import numpy as np
import numpy.typing as npt

# A PyCapsule with the kernel, for gymcore_ext.engine.batch.Batch.
kernel: object

class Table:
    """A table, and the arrays that it points to."""

def pack(
    values: npt.NDArray[np.int64],
    starts: npt.NDArray[np.float64],
    limits: npt.NDArray[np.int64],
    outcomes: npt.NDArray[np.int32],
    actions: int,
    first: int,
    second: int,
    masks: npt.NDArray[np.int8] | None = None,
) -> object: ...
