import numpy.typing as npt

class Rays:
    def __init__(
        self, corners: npt.ArrayLike, boxes: npt.ArrayLike, ends: npt.ArrayLike
    ) -> None: ...
    def cast(self, x: float, y: float) -> list[float]: ...
