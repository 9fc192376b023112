from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from gymcore_ext.rows import Rows

class RowLoop:
    def __init__(
        self,
        envs: list[Any],
        rows: Rows | None,
        *,
        mode: int,
        first: int = 0,
        num_envs: int | None = None,
        final_rows: Rows | None = None,
        rewards: npt.NDArray[Any] | None = None,
        terminated: npt.NDArray[Any] | None = None,
        truncated: npt.NDArray[Any] | None = None,
        statistics: bool
        | tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
        | None = None,
        slots: Any = None,
        add_info: Callable[[dict[str, Any], dict[str, Any], int], dict[str, Any]] | None = None,
        errors: Any,
    ) -> None: ...
    @property
    def needs_reset(self) -> bool: ...
    @property
    def statistics(self) -> bool: ...
    @property
    def mode(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def num_envs(self) -> int: ...
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
    def check_ended(self, lanes: list[int] | None = None) -> None: ...
    def mark_ended(self, lanes: list[int] | None = None) -> None: ...
    def save_lane(self, lane: int) -> tuple[Any, bool, int, float]: ...
    def load_lane(self, lane: int, saved: tuple[Any, bool, int, float]) -> None: ...
    def mark_ready(self) -> None: ...
