"""Wrappers: environments around an environment, that change what goes in or comes out.

`gymcore.wrappers.vector` has those for vector environments, and `gymcore.wrappers.legacy` Gym
0.26's under their names. A wrapper outside `gymcore.wrappers.common` is imported when it is first
asked for, so that the packages it needs are.
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
from gymcore.wrappers.legacy_paths import provide_legacy_modules

if TYPE_CHECKING:
    from gymcore.wrappers import vector
    from gymcore.wrappers.array_conversion import ArrayConversion
    from gymcore.wrappers.atari_preprocessing import AtariPreprocessing
    from gymcore.wrappers.jax_to_numpy import JaxToNumpy
    from gymcore.wrappers.jax_to_torch import JaxToTorch
    from gymcore.wrappers.legacy import (
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
    from gymcore.wrappers.numpy_to_torch import NumpyToTorch
    from gymcore.wrappers.rendering import (
        AddWhiteNoise,
        HumanRendering,
        ObstructView,
        RecordVideo,
        RenderCollection,
    )
    from gymcore.wrappers.stateful_action import RepeatAction, StickyAction
    from gymcore.wrappers.stateful_observation import (
        DelayObservation,
        FrameStackObservation,
        MaxAndSkipObservation,
        NormalizeObservation,
        TimeAwareObservation,
    )
    from gymcore.wrappers.stateful_reward import NormalizeReward
    from gymcore.wrappers.transform_action import (
        ClipAction,
        DiscretizeAction,
        RescaleAction,
        TransformAction,
    )
    from gymcore.wrappers.transform_observation import (
        AddRenderObservation,
        DiscretizeObservation,
        DtypeObservation,
        FilterObservation,
        FlattenObservation,
        GrayscaleObservation,
        RescaleObservation,
        ReshapeObservation,
        ResizeObservation,
        TransformObservation,
    )
    from gymcore.wrappers.transform_reward import ClipReward, TransformReward

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

_NAMES = {
    "array_conversion": ("ArrayConversion",),
    "atari_preprocessing": ("AtariPreprocessing",),
    "jax_to_numpy": ("JaxToNumpy",),
    "jax_to_torch": ("JaxToTorch",),
    "legacy": (
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
    "numpy_to_torch": ("NumpyToTorch",),
    "rendering": (
        "AddWhiteNoise",
        "HumanRendering",
        "ObstructView",
        "RecordVideo",
        "RenderCollection",
    ),
    "stateful_action": ("RepeatAction", "StickyAction"),
    "stateful_observation": (
        "DelayObservation",
        "FrameStackObservation",
        "MaxAndSkipObservation",
        "NormalizeObservation",
        "TimeAwareObservation",
    ),
    "stateful_reward": ("NormalizeReward",),
    "transform_action": ("ClipAction", "DiscretizeAction", "RescaleAction", "TransformAction"),
    "transform_observation": (
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
    "transform_reward": ("ClipReward", "TransformReward"),
}
"""Names that are imported at first use, by the module of this package that has them."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}
_SUBMODULES = frozenset(
    {
        "array_conversion",
        "atari_preprocessing",
        "common",
        "jax_to_numpy",
        "jax_to_torch",
        "legacy",
        "numpy_to_torch",
        "rendering",
        "stateful_action",
        "stateful_observation",
        "stateful_reward",
        "transform_action",
        "transform_observation",
        "transform_reward",
        "utils",
        "vector",
    }
) | provide_legacy_modules(__name__)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_SUBMODULES})
