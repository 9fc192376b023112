from typing import Any

FUNCTIONS: tuple[str, ...]
HANDLERS: tuple[tuple[str, ...], ...]

class Stepper:
    def __init__(self, functions: dict[str, int]) -> None: ...
    def step(self, model: Any, data: Any, count: int) -> tuple[str, bool] | None: ...
