"""The wrappers of Gym 0.26 (and `Monitor` of 0.21), by their names and with their behaviour.

`gymcore.wrappers` has Gymnasium's under most of these names. Attributes of inner layers are
forwarded by all of them, and most take a vector environment too, as in Gym 0.26.
"""

from __future__ import annotations

from gymcore.compat.gym26.wrappers.episodes import (
    AutoResetWrapper,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    StepAPICompatibility,
    TimeLimit,
    VectorListInfo,
)
from gymcore.compat.gym26.wrappers.frame_stack import FrameStack, LazyFrames
from gymcore.compat.gym26.wrappers.images import (
    AtariPreprocessing,
    GrayScaleObservation,
    PixelObservationWrapper,
    ResizeObservation,
)
from gymcore.compat.gym26.wrappers.normalize import NormalizeObservation, NormalizeReward
from gymcore.compat.gym26.wrappers.recording import (
    HumanRendering,
    Monitor,
    RecordVideo,
    RenderCollection,
    VideoRecorder,
    capped_cubic_video_schedule,
)
from gymcore.compat.gym26.wrappers.transforms import (
    ClipAction,
    FilterObservation,
    FlattenObservation,
    RescaleAction,
    TimeAwareObservation,
    TransformObservation,
    TransformReward,
)
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
