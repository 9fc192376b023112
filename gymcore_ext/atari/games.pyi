from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.atari.frames import Resizer
from gymcore_ext.lanes.struct_lanes import LaneStore

SYMBOLS: dict[str, str]
LIMITS: tuple[str, ...]
INFOS: tuple[tuple[str, type[np.generic], int], ...]
STATE_BYTES: int
PLAYER_ACTIONS: int

class Games(LaneStore):
    @property
    def ales(self) -> list[Any]: ...
    def __init__(
        self,
        *,
        functions: dict[str, int],
        num_lanes: int,
        stages: dict[str, Any],
        resizer: Resizer,
        palette: npt.ArrayLike,
        actions: Sequence[int],
        threshold: float,
        observation_shape: tuple[int, ...],
        state_size: int,
        resets_draw: bool,
        reports_lanes: bool,
    ) -> None: ...
    def set_ale(self, lane: int, ale: Any, address: int) -> None: ...
    def seed_generators(self, lane: int, noop_seed: int, sticky_seed: int) -> None: ...
    def take_generator(self, lane: int, probability: float) -> None: ...
