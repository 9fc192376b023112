"""Modules that Gym 0.26 and 0.21 had in `gym.wrappers`, for programs that import from them.

`from gymcore.wrappers.frame_stack import LazyFrames` works. The modules exist in `sys.modules` only
and get a class when it is asked for: Gym's, from `gymcore.wrappers.legacy`, but for the classes
that `make` itself uses.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["LEGACY_MODULES", "provide_legacy_modules"]

_LEGACY = "gymcore.wrappers.legacy"
_COMMON = "gymcore.wrappers.common"

LEGACY_MODULES: dict[str, dict[str, str]] = {
    "autoreset": {"AutoResetWrapper": _LEGACY},
    "clip_action": {"ClipAction": _LEGACY},
    "compatibility": {"EnvCompatibility": _LEGACY},
    "env_checker": {"PassiveEnvChecker": _COMMON},
    "filter_observation": {"FilterObservation": _LEGACY},
    "flatten_observation": {"FlattenObservation": _LEGACY},
    "frame_stack": {"FrameStack": _LEGACY, "LazyFrames": _LEGACY},
    "gray_scale_observation": {"GrayScaleObservation": _LEGACY},
    "human_rendering": {"HumanRendering": _LEGACY},
    "monitor": {"Monitor": _LEGACY},
    "monitoring": {},
    "monitoring.video_recorder": {"VideoRecorder": _LEGACY},
    "normalize": {
        "NormalizeObservation": _LEGACY,
        "NormalizeReward": _LEGACY,
        "RunningMeanStd": "gymcore.wrappers.utils",
    },
    "order_enforcing": {"OrderEnforcing": _COMMON},
    "pixel_observation": {"PixelObservationWrapper": _LEGACY},
    "record_episode_statistics": {"RecordEpisodeStatistics": _LEGACY},
    "render_collection": {"RenderCollection": _LEGACY},
    "rescale_action": {"RescaleAction": _LEGACY},
    "resize_observation": {"ResizeObservation": _LEGACY},
    "step_api_compatibility": {"StepAPICompatibility": _LEGACY},
    "time_aware_observation": {"TimeAwareObservation": _LEGACY},
    "time_limit": {"TimeLimit": _COMMON},
    "vector_list_info": {"VectorListInfo": _LEGACY},
}
"""The classes of each module, by the module that has them today.

Where a file of today has the name (`transform_reward`), it serves both.
"""


class _LegacyModule(ModuleType):
    """A module whose classes are imported when they are asked for."""

    def __init__(self, name: str, places: dict[str, str]) -> None:
        super().__init__(name, "A module of Gym 0.26; see `gymcore.wrappers.legacy`.")
        self.__all__ = sorted(places)
        self._places = places

    def __getattr__(self, name: str) -> Any:
        places = self.__dict__.get("_places", {})
        if name in places:
            value = getattr(importlib.import_module(places[name]), name)
        elif f"{self.__name__}.{name}" in sys.modules:
            value = sys.modules[f"{self.__name__}.{name}"]
        else:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})


def provide_legacy_modules(package: str) -> frozenset[str]:
    """Put the modules into `sys.modules`.

    Args:
        package: The full name of the package they are in.

    Returns:
        The names, without the package, of those that are directly in it.
    """
    direct = set()
    for path, places in LEGACY_MODULES.items():
        name = f"{package}.{path}"
        sys.modules.setdefault(name, _LegacyModule(name, places))
        if "." not in path:
            direct.add(path)
    return frozenset(direct)
