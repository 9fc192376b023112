"""The environments over Box2D: LunarLander, BipedalWalker and CarRacing.

Each is imported when it is first asked for, and Box2D with it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymcore.envs.box2d.bipedal_walker import BipedalWalker, BipedalWalkerHardcore
    from gymcore.envs.box2d.car_racing import CarRacing
    from gymcore.envs.box2d.lunar_lander import LunarLander, LunarLanderContinuous

__all__ = [
    "BipedalWalker",
    "BipedalWalkerHardcore",
    "CarRacing",
    "LunarLander",
    "LunarLanderContinuous",
]

_MODULES = {
    "BipedalWalker": "bipedal_walker",
    "BipedalWalkerHardcore": "bipedal_walker",
    "CarRacing": "car_racing",
    "LunarLander": "lunar_lander",
    "LunarLanderContinuous": "lunar_lander",
}
_SUBMODULES = frozenset(("bipedal_walker", "car_dynamics", "car_racing", "lunar_lander"))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_SUBMODULES})
