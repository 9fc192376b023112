import numpy as np
import numpy.typing as npt

def draw_shapes(
    shapes: list[tuple[str, tuple[int, int, int], list[tuple[int, int]]]],
) -> npt.NDArray[np.uint8]: ...
