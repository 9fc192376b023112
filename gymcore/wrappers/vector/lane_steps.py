"""Steps of vector wrappers that follow lanes also where only some of them are stepped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["stepped"]


def stepped(
    wrapper: Any, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None
) -> tuple[tuple[Any, Any, Any, Any, dict[str, Any]], npt.NDArray[np.int64] | None]:
    """Step what a wrapper wraps, all of it or some lanes.

    Args:
        wrapper: The wrapper.
        actions: A row for each lane that is stepped.
        env_ids: Which lanes, indices or a mask; None for all.

    Returns:
        The five results, and the lanes as int64 `[k]`, or None for all.

    Raises:
        UnsupportedMode: What is wrapped steps all lanes or none.
    """
    if env_ids is None:
        return wrapper.env.step(actions), None
    results = wrapper.env.step_lanes(actions, env_ids)
    return results, results[4]["env_id"]
