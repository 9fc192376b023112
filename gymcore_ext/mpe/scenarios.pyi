import numpy as np
import numpy.typing as npt

ENTITY: np.dtype
LANE_FUNCTIONS: object

class World:
    def __init__(
        self,
        scenario: str,
        entities: npt.NDArray[np.void],
        *,
        agents: int,
        words: int = 0,
        goals: int = 0,
        reach: float = 1.0,
        food: int = 0,
        forests: int = 0,
        kinds: int = 0,
        agent_neighbors: int = 0,
        landmark_neighbors: int = 0,
        continuous: bool = False,
        ends_on_success: bool = False,
    ) -> None: ...
    @property
    def action_sizes(self) -> tuple[int, ...]: ...
    @property
    def observation_sizes(self) -> tuple[int, ...]: ...
    @property
    def lane_bytes(self) -> int: ...
    @property
    def lane_dtype(self) -> np.dtype: ...
    @property
    def capsule(self) -> object: ...
    def set_observation_rows(self, parts: list[int]) -> None: ...
