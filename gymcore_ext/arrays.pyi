from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_Method = TypeVar("_Method", bound=Callable[..., Any])

def are_lanes(lanes: npt.NDArray[np.int64], num_envs: int) -> bool: ...
def one_at_a_time(errors: Any) -> Callable[[_Method], _Method]: ...

class CurrentCaller: ...

# The rest is for other Cython modules: see arrays.pxd.
class ArrayRing:
    def __init__(self, shape: tuple[int, ...], dtype: Any, reuse: bool = False) -> None: ...
