from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

def action_array(
    actions: object,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    name: str,
    errors: ModuleType,
    numbers: bool = False,
) -> npt.NDArray[Any]: ...
def joined_actions(
    actions: object,
    groups: tuple[tuple[str, tuple[int, ...]], ...],
    lead: tuple[int, ...],
    dtype: np.dtype[Any],
    errors: ModuleType,
) -> npt.NDArray[Any]: ...
