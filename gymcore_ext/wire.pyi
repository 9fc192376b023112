from typing import Any

DTYPES: tuple[str, ...]
MAX_HEADER_BYTES: int
MAX_SMALL_BYTES: int
MAX_SMALL_ARRAYS: int
MAX_VALUES: int
MAX_DEPTH: int
MAX_AXES: int

def encode(message: Any) -> list[bytes | memoryview]: ...
def decode(frames: list[bytes | memoryview]) -> Any: ...

class Writer:
    def __init__(self) -> None: ...

class Reader:
    def __init__(self, frames: list[bytes | memoryview]) -> None: ...
