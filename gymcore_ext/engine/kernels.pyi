from typing import Any

import numpy as np

ISA_NAMES: tuple[str, ...]
TYPES: tuple[type[np.generic], ...]

def kernel_spec(capsule: object) -> dict[str, Any]: ...
def choose_isa(name: str | None = None) -> int: ...

class LaneOwner:
    @property
    def kernel(self) -> object: ...
    def __len__(self) -> int: ...
