import numpy as np
import numpy.typing as npt

def sincos(
    x: npt.ArrayLike, *, isa: str | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
def mod_two_pi(x: npt.ArrayLike, *, isa: str | None = None) -> npt.NDArray[np.float64]: ...
def clip(
    x: npt.ArrayLike, low: float, high: float, *, isa: str | None = None
) -> npt.NDArray[np.float64]: ...
