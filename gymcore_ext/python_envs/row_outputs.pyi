from typing import Any

import numpy.typing as npt

class Outputs: ...

def add_episodes(
    infos: dict[str, Any],
    ended: npt.NDArray[Any],
    returns: npt.NDArray[Any],
    lengths: npt.NDArray[Any],
    times: npt.NDArray[Any],
    errors: Any,
) -> None: ...
