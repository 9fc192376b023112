from typing import Any

import numpy as np
import numpy.typing as npt

def effort(action: Any, unit: float) -> tuple[tuple[float, ...], npt.NDArray[Any]] | None: ...
def after_costs(reward: float, costs: npt.NDArray[Any]) -> float: ...

class Observer:
    def __init__(
        self, width: float, height: float, fps: float, hip: float, knee: float
    ) -> None: ...
    def observe(
        self,
        angle: float,
        turn: float,
        x_speed: float,
        y_speed: float,
        hip_1: float,
        hip_speed_1: float,
        knee_1: float,
        knee_speed_1: float,
        foot_1: bool,
        hip_2: float,
        hip_speed_2: float,
        knee_2: float,
        knee_speed_2: float,
        foot_2: bool,
        fractions: list[float],
    ) -> npt.NDArray[np.float32]: ...
