"""Wrappers that change the inputs or outputs of an environment.

`gymcore.wrappers.vector` has the wrappers for vector environments. The names that only Gym 0.26
had are available here too; all of its wrappers are in `gymcore.compat.gym26.wrappers`. A wrapper
and the packages that it needs are imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace

if TYPE_CHECKING:
    from gymcore.wrappers import vector as vector
    from gymcore.wrappers.array_conversion import *
    from gymcore.wrappers.atari_preprocessing import *
    from gymcore.wrappers.common import *
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

# Imported at first use, because most of these modules need optional packages.
_LAZY: dict[str, tuple[str, ...]] = {
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
    ".common": (
        "Autoreset",
        "OrderEnforcing",
        "PassiveEnvChecker",
        "RecordEpisodeStatistics",
        "TimeLimit",
    ),
    ".utils": (),
    ".vector": (),
}

# Names that only Gym 0.26 (and `Monitor`, 0.21) had; `gymcore/__init__.py` adds them.
GYM26_NAMES = (
    "AutoResetWrapper",
    "EnvCompatibility",
    "FrameStack",
    "GrayScaleObservation",
    "LazyFrames",
    "Monitor",
    "PixelObservationWrapper",
    "StepAPICompatibility",
    "VectorListInfo",
)

__getattr__, __dir__ = lazy_namespace(__name__, _LAZY)
__all__ = ["vector", *(name for names in _LAZY.values() for name in names), *GYM26_NAMES]
