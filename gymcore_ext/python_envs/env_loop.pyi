from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.infos import InfoSlots

REWARD_AND_END_LAYOUT: tuple[Any, ...]
EPISODE_STATS_LAYOUT: tuple[Any, ...]

class Outputs:
    def __init__(
        self,
        observations: BatchBuffer | None,
        rewards_and_ends: BatchBuffer,
        episodes: BatchBuffer | None,
    ) -> None: ...

class EnvLoop:
    def __init__(
        self,
        envs: list[Any],
        observations: BatchBuffer | None,
        rewards_and_ends: BatchBuffer,
        episodes: BatchBuffer | None = None,
        *,
        mode: int,
        add_info: Callable[[dict[str, Any], dict[str, Any], int], dict[str, Any]] | None = None,
        errors: Any,
        slots: InfoSlots | None = None,
        first: int = 0,
        final_observations: BatchBuffer | None = None,
    ) -> None: ...
    def needs_reset(self) -> bool: ...
    @property
    def final_frames(self) -> bool: ...
    @final_frames.setter
    def final_frames(self, value: bool) -> None: ...
    @property
    def failed_lane(self) -> int: ...
    @property
    def failed_call(self) -> str | None: ...
    def reset(
        self,
        lanes: list[int] | None = None,
        seeds: list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> Any: ...
    def step(self, actions: list[Any], lanes: list[int] | None = None) -> Any: ...
    def ended_lanes(self) -> npt.NDArray[np.bool_]: ...
    def mark_ended(self, lanes: list[int] | None = None) -> None: ...
    def save_lane(self, lane: int) -> tuple[Any, bool, int, float]: ...
    def load_lane(self, lane: int, saved: tuple[Any, bool, int, float]) -> None: ...
    def mark_ready(self) -> None: ...
