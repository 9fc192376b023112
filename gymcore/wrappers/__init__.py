"""Wrappers: environments around an environment, that change what goes in or comes out.

A wrapper outside `gymcore.wrappers.common` is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gymcore.wrappers.common import (
    Autoreset,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
)

if TYPE_CHECKING:
    from gymcore.wrappers.rendering import HumanRendering, RenderCollection

__all__ = [
    "Autoreset",
    "HumanRendering",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RenderCollection",
    "TimeLimit",
]

_MODULES = {
    "HumanRendering": "rendering",
    "RenderCollection": "rendering",
    "common": "common",
    "rendering": "rendering",
}
"""Where each name is that is imported late: a module of this package, or a module itself."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    value = module if name == _MODULES[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
