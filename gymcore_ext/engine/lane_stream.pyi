import numpy as np
import numpy.typing as npt

def bind_bit_generator(
    bit_generator: np.random.BitGenerator, words: npt.NDArray[np.uint64]
) -> None: ...
