"""Wrappers: environments around an environment, that change what goes in or comes out.

`gymcore.wrappers.vector` has those for vector environments. The names that only Gym 0.26 had are
here too; all of its wrappers are in `gymcore.compat.gym26.wrappers`. Wrappers outside
`gymcore.wrappers.common` are imported at first use, and with them the packages that they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.utils.lazy_namespace import lazy_namespace
from gymcore.wrappers.common import (
    Autoreset,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    TimeLimit,
)

if TYPE_CHECKING:
    from gymcore.compat.gym26.wrappers import (
        AutoResetWrapper,
        EnvCompatibility,
        FrameStack,
        GrayScaleObservation,
        LazyFrames,
        Monitor,
        PixelObservationWrapper,
        StepAPICompatibility,
        VectorListInfo,
    )
    from gymcore.wrappers import vector
    from gymcore.wrappers.array_conversion import *
    from gymcore.wrappers.atari_preprocessing import *
    from gymcore.wrappers.jax_to_numpy import *
    from gymcore.wrappers.jax_to_torch import *
    from gymcore.wrappers.numpy_to_torch import *
    from gymcore.wrappers.rendering import *
    from gymcore.wrappers.stateful_action import *
    from gymcore.wrappers.stateful_observation import *
    from gymcore.wrappers.stateful_reward import *
    from gymcore.wrappers.transform_action import *
    from gymcore.wrappers.transform_observation import *
    from gymcore.wrappers.transform_reward import *

__all__ = [
    "AddRenderObservation",
    "AddWhiteNoise",
    "ArrayConversion",
    "AtariPreprocessing",
    "AutoResetWrapper",
    "Autoreset",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "EnvCompatibility",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "FrameStackObservation",
    "GrayScaleObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "JaxToNumpy",
    "JaxToTorch",
    "LazyFrames",
    "MaxAndSkipObservation",
    "Monitor",
    "NormalizeObservation",
    "NormalizeReward",
    "NumpyToTorch",
    "ObstructView",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "PixelObservationWrapper",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "RepeatAction",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "StepAPICompatibility",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "VectorListInfo",
    "vector",
]

# At first use: most need packages that not everybody has.
__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        ".array_conversion": ("ArrayConversion",),
        ".atari_preprocessing": ("AtariPreprocessing",),
        ".jax_to_numpy": ("JaxToNumpy",),
        ".jax_to_torch": ("JaxToTorch",),
        ".numpy_to_torch": ("NumpyToTorch",),
        ".rendering": (
            "AddWhiteNoise",
            "HumanRendering",
            "ObstructView",
            "RecordVideo",
            "RenderCollection",
        ),
        ".stateful_action": ("RepeatAction", "StickyAction"),
        ".stateful_observation": (
            "DelayObservation",
            "FrameStackObservation",
            "MaxAndSkipObservation",
            "NormalizeObservation",
            "TimeAwareObservation",
        ),
        ".stateful_reward": ("NormalizeReward",),
        ".transform_action": ("ClipAction", "DiscretizeAction", "RescaleAction", "TransformAction"),
        ".transform_observation": (
            "AddRenderObservation",
            "DiscretizeObservation",
            "DtypeObservation",
            "FilterObservation",
            "FlattenObservation",
            "GrayscaleObservation",
            "RescaleObservation",
            "ReshapeObservation",
            "ResizeObservation",
            "TransformObservation",
        ),
        ".transform_reward": ("ClipReward", "TransformReward"),
        ".common": (),
        ".utils": (),
        ".vector": (),
        # What only Gym 0.26 (and `Monitor`, 0.21) had.
        "gymcore.compat.gym26.wrappers": (
            "AutoResetWrapper",
            "EnvCompatibility",
            "FrameStack",
            "GrayScaleObservation",
            "LazyFrames",
            "Monitor",
            "PixelObservationWrapper",
            "StepAPICompatibility",
            "VectorListInfo",
        ),
    },
)
