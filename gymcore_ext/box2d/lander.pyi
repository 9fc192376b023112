import numpy as np
import numpy.typing as npt

class Observer:
    def __init__(self, half_width: float, half_height: float, floor: float, fps: float) -> None: ...
    def observe(
        self,
        x: float,
        y: float,
        x_speed: float,
        y_speed: float,
        angle: float,
        turn: float,
        leg_1: bool,
        leg_2: bool,
    ) -> tuple[npt.NDArray[np.float32], float, bool]: ...
