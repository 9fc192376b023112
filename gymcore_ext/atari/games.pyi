from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.atari.frames import Resizer
from gymcore_ext.lanes.struct_lanes import LaneStore

FUNCTIONS: dict[str, str]
LIMITS: tuple[str, ...]
STAGES: tuple[str, ...]
INFOS: tuple[tuple[str, type[np.generic], int], ...]
STATE_BYTES: int
PLAYER_ACTIONS: int
COMPLETE_FRAME: int

def position_of_state(state: bytes, other: bytes, fields: npt.ArrayLike) -> int | None: ...

class Games(LaneStore):
    @property
    def ales(self) -> list[Any]: ...
    @property
    def first_state(self) -> bytes: ...
    def __init__(
        self,
        *,
        functions: dict[str, int],
        num_lanes: int,
        stages: dict[str, int],
        resizer: Resizer,
        palette: npt.ArrayLike,
        actions: Sequence[int],
        threshold: float,
        observation_shape: tuple[int, ...],
        first_state: bytes,
        fields: npt.ArrayLike,
        resets_draw: bool,
    ) -> None: ...
    def set_ale(self, lane: int, ale: Any, address: int) -> None: ...
    def seed_generators(self, lane: int, noop_seed: int, sticky_seed: int) -> None: ...
    def take_generator(self, lane: int, probability: float) -> None: ...
