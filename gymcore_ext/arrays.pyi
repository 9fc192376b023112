from typing import Any

# The rest is for other Cython modules: see arrays.pxd.
class ArrayRing:
    def __init__(self, shape: tuple[int, ...], dtype: Any, reuse: bool = False) -> None: ...
