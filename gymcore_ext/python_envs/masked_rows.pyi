from typing import Any

import numpy as np
import numpy.typing as npt

def choose(
    mask: npt.NDArray[np.bool_], yes: npt.NDArray[Any], no: npt.NDArray[Any] | None
) -> npt.NDArray[Any]: ...
def take(batch: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]: ...
def put(
    batch: npt.NDArray[Any], mask: npt.NDArray[np.bool_], rows: npt.NDArray[Any]
) -> npt.NDArray[Any]: ...
