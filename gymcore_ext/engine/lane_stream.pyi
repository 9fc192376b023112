import numpy as np
import numpy.typing as npt

def draw_from(bit_generator: np.random.BitGenerator, words: npt.NDArray[np.uint64]) -> None: ...
