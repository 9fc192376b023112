from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

def merge_info(
    vector_infos: dict[str, Any],
    env_info: dict[str, Any],
    env_num: SupportsIndex,
    num_envs: SupportsIndex,
    depth: SupportsIndex = 1,
) -> None: ...
def copied(value: Any) -> Any: ...
def split_info(vector_infos: dict[str, Any], env_num: SupportsIndex) -> dict[str, Any]: ...
def split_rows(
    batch: npt.NDArray[Any] | dict[str, Any], mask: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]: ...

class RowSplitter:
    def __call__(
        self, batch: npt.NDArray[Any] | dict[str, Any], mask: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.object_]: ...

class InfoSlots:
    def __init__(self, memory: Buffer, offset: int, num_envs: int, slot_bytes: int) -> None: ...
    @staticmethod
    def nbytes(num_envs: int, slot_bytes: int) -> int: ...
    def put(
        self,
        lane: int,
        info: Mapping[str, Any],
        final_info: Mapping[str, Any] | None = None,
        extra: Any = None,
    ) -> bool: ...
    def take_overflow(self) -> dict[int, bytes]: ...
    def filled(self) -> list[int]: ...
    def overflowed(self, lanes: Iterable[int]) -> list[int]: ...
    def get(
        self, lane: int, overflow: bytes | None = None
    ) -> tuple[dict[str, Any], dict[str, Any] | None, Any]: ...
