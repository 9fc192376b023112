from collections.abc import Iterator
from typing import Any

def grouped(layout: tuple[Any, ...], arrays: Iterator[Any]) -> Any: ...
def leaves(
    layout: tuple[Any, ...],
    name: str,
    value: Any,
    type_error: type[Exception],
    value_error: type[Exception],
) -> list[tuple[str, tuple[Any, ...], Any]]: ...
