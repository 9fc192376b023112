from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typing_extensions import Buffer

class InfoSlots:
    def __init__(self, memory: Buffer, offset: int, num_envs: int, slot_bytes: int) -> None: ...
    @property
    def num_envs(self) -> int: ...
    @property
    def slot_bytes(self) -> int: ...
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
    def clear(self, lane: int) -> None: ...
    def empty(self, lane: int) -> bool: ...
    def overflowed(self, lane: int) -> bool: ...
    def get(
        self, lane: int, blob: bytes | None = None
    ) -> tuple[dict[str, Any], dict[str, Any] | None, Any]: ...

def merge_slots(
    vector_infos: dict[str, Any],
    slots: InfoSlots,
    first: int,
    count: int,
    final_obs: Callable[[int, Any], Any] | None = None,
    overflow: dict[int, bytes] | None = None,
    *,
    lanes: Sequence[int] | None = None,
    num_envs: int | None = None,
) -> dict[int, Any]: ...
