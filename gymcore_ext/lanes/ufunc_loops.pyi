import numpy as np

COS: int
POW: int
POWF: int
SIN: int

def loop_of(ufunc: np.ufunc, numbers: bytes) -> tuple[int, int]: ...
