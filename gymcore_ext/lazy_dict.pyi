from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

Maker: TypeAlias = str | tuple[Callable[..., Any], *tuple[str, ...]]

class LazyDict(dict[str, Any]):
    def __init__(
        self,
        entries: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        makers: dict[str, Maker] | None = None,
    ) -> None: ...
    def unmade(self) -> dict[str, Any]: ...

def with_lazy_infos(
    present: str,
    absent: str,
    makers: dict[str, Maker],
    results: tuple[Any, Any, Any, Any, dict[str, Any]],
) -> tuple[Any, Any, Any, Any, dict[str, Any]]: ...
