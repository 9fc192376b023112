"""The environments over Box2D: LunarLander, BipedalWalker and CarRacing.

Box2D is imported with the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace

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

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        ".bipedal_walker": ("BipedalWalker", "BipedalWalkerHardcore"),
        ".car_dynamics": (),
        ".car_racing": ("CarRacing",),
        ".lunar_lander": ("LunarLander", "LunarLanderContinuous"),
    },
)
