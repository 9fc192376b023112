from typing import Any

class StepArrays:
    def __init__(
        self, n: int, spec: dict[str, Any], mode: int, reuse: bool, statistics: bool
    ) -> None: ...
