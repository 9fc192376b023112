"""The wrappers of Gym 0.26 (and `Monitor` of 0.21), by their names and with their behaviour.

`gymcore.wrappers` has Gymnasium's under most of these names. Attributes of inner layers are
forwarded by all of them, and most take a vector environment too, as in Gym 0.26.
"""

from __future__ import annotations

from gymcore.compat.gym26.wrappers.episodes import *
from gymcore.compat.gym26.wrappers.frame_stack import *
from gymcore.compat.gym26.wrappers.images import *
from gymcore.compat.gym26.wrappers.normalize import *
from gymcore.compat.gym26.wrappers.recording import *
from gymcore.compat.gym26.wrappers.transforms import *
from gymcore.compat.old_envs import EnvCompatibility

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
