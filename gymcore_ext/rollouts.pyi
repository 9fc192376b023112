from typing import Any

import numpy as np
import numpy.typing as npt

def compute_advantages(
    rewards: npt.NDArray[np.float64],
    values: npt.NDArray[np.float32],
    terminated: npt.NDArray[np.bool_],
    truncated: npt.NDArray[np.bool_],
    final_values: npt.NDArray[np.float32],
    reset_steps: npt.NDArray[np.bool_],
    errors: Any,
    *,
    gamma: float,
    gae_lambda: float,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]: ...
def store(targets: tuple[npt.NDArray[Any], ...], outputs: Any, errors: Any) -> None: ...
