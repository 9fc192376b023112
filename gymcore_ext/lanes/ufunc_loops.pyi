import numpy as np

POW: int
POWF: int

def loop_of(ufunc: np.ufunc, numbers: bytes) -> tuple[int, int]: ...
