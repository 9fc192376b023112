"""The wrappers of Gym 0.26 (and `Monitor` of 0.21), by their names and with their behaviour.

`gymcore.wrappers` has Gymnasium's under most of these names. It takes a call that only Gym 0.26
allowed as one for the wrapper here: a vector environment given to `RecordEpisodeStatistics`,
`TransformObservation(env, f)`, and so on. A program that wants Gym 0.26's behaviour throughout
imports from here:

    from gymcore.compat.gym26 import wrappers as legacy as wrappers

Attributes of inner layers are found on all of them, as in Gym 0.26.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymcore.compat.gym26.wrappers.actions import ClipAction, RescaleAction, TransformReward
    from gymcore.compat.gym26.wrappers.atari import AtariPreprocessing
    from gymcore.compat.gym26.wrappers.episode_statistics import RecordEpisodeStatistics
    from gymcore.compat.gym26.wrappers.episodes import AutoResetWrapper, OrderEnforcing, TimeLimit
    from gymcore.compat.gym26.wrappers.frame_stack import FrameStack, LazyFrames
    from gymcore.compat.gym26.wrappers.images import GrayScaleObservation, ResizeObservation
    from gymcore.compat.gym26.wrappers.monitor import Monitor
    from gymcore.compat.gym26.wrappers.normalize import NormalizeObservation, NormalizeReward
    from gymcore.compat.gym26.wrappers.observations import (
        FilterObservation,
        FlattenObservation,
        TransformObservation,
    )
    from gymcore.compat.gym26.wrappers.pixel_observation import PixelObservationWrapper
    from gymcore.compat.gym26.wrappers.record_video import RecordVideo, capped_cubic_video_schedule
    from gymcore.compat.gym26.wrappers.rendering import HumanRendering, RenderCollection
    from gymcore.compat.gym26.wrappers.time_aware import TimeAwareObservation
    from gymcore.compat.gym26.wrappers.vector_list_info import VectorListInfo
    from gymcore.compat.gym26.wrappers.video_recorder import VideoRecorder
    from gymcore.compat.old_envs import EnvCompatibility
    from gymcore.compat.step_api import StepAPICompatibility
    from gymcore.wrappers.common import PassiveEnvChecker

__all__ = [
    "AtariPreprocessing",
    "AutoResetWrapper",
    "ClipAction",
    "EnvCompatibility",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "GrayScaleObservation",
    "HumanRendering",
    "LazyFrames",
    "Monitor",
    "NormalizeObservation",
    "NormalizeReward",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "PixelObservationWrapper",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "RescaleAction",
    "ResizeObservation",
    "StepAPICompatibility",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformObservation",
    "TransformReward",
    "VectorListInfo",
    "VideoRecorder",
    "capped_cubic_video_schedule",
]

_NAMES = {
    "gymcore.compat.old_envs": ("EnvCompatibility",),
    "gymcore.compat.step_api": ("StepAPICompatibility",),
    "gymcore.wrappers.common": ("PassiveEnvChecker",),
    f"{__name__}.actions": ("ClipAction", "RescaleAction", "TransformReward"),
    f"{__name__}.atari": ("AtariPreprocessing",),
    f"{__name__}.episode_statistics": ("RecordEpisodeStatistics",),
    f"{__name__}.episodes": ("AutoResetWrapper", "OrderEnforcing", "TimeLimit"),
    f"{__name__}.frame_stack": ("FrameStack", "LazyFrames"),
    f"{__name__}.images": ("GrayScaleObservation", "ResizeObservation"),
    f"{__name__}.monitor": ("Monitor",),
    f"{__name__}.normalize": ("NormalizeObservation", "NormalizeReward"),
    f"{__name__}.observations": (
        "FilterObservation",
        "FlattenObservation",
        "TransformObservation",
    ),
    f"{__name__}.pixel_observation": ("PixelObservationWrapper",),
    f"{__name__}.record_video": ("RecordVideo", "capped_cubic_video_schedule"),
    f"{__name__}.rendering": ("HumanRendering", "RenderCollection"),
    f"{__name__}.time_aware": ("TimeAwareObservation",),
    f"{__name__}.vector_list_info": ("VectorListInfo",),
    f"{__name__}.video_recorder": ("VideoRecorder",),
}
"""Names that are imported at first use, by the module that has them."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
