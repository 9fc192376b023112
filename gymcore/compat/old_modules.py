"""Modules of earlier versions whose contents are now in one package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

__all__ = ["JOINED", "joined_modules"]

JOINED = {
    "vector": {"async_vector_env", "sync_vector_env", "vector_env"},
    "vector.utils": {"numpy_utils", "spaces"},
    "wrappers": {
        "atari_preprocessing",
        "autoreset",
        "clip_action",
        "compatibility",
        "env_checker",
        "filter_observation",
        "flatten_observation",
        "frame_stack",
        "gray_scale_observation",
        "human_rendering",
        "monitor",
        "monitoring",
        "monitoring.video_recorder",
        "normalize",
        "order_enforcing",
        "pixel_observation",
        "record_episode_statistics",
        "record_video",
        "render_collection",
        "rescale_action",
        "resize_observation",
        "step_api_compatibility",
        "time_aware_observation",
        "time_limit",
        "transform_observation",
        "transform_reward",
        "vector_list_info",
    },
}
"""The modules of each package that are now the package itself."""


def joined_modules(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package of an earlier version: its modules are the package.

    Examples:
        >>> import gymcore.compat.gym26 as gym
        >>> gym.wrappers.time_limit.TimeLimit is gym.wrappers.TimeLimit
        True
    """
    name_in_era = package.split(".", 3)[3]  # without gymcore.compat.gym26

    def get_module(name: str) -> ModuleType:
        if name not in {*JOINED[name_in_era], "video_recorder"}:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return sys.modules[package]

    return get_module
