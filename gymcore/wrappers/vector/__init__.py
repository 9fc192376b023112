"""Wrappers for vector environments: each does to a batch what its namesake does to one environment.

A wrapper is imported when it is first asked for, so that the packages it needs are.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymcore.wrappers.vector.array_conversion import ArrayConversion
    from gymcore.wrappers.vector.common import RecordEpisodeStatistics, TimeLimit
    from gymcore.wrappers.vector.dict_info_to_list import DictInfoToList
    from gymcore.wrappers.vector.jax_to_numpy import JaxToNumpy
    from gymcore.wrappers.vector.jax_to_torch import JaxToTorch
    from gymcore.wrappers.vector.numpy_to_torch import NumpyToTorch
    from gymcore.wrappers.vector.rendering import (
        AddRenderObservation,
        HumanRendering,
        RecordVideo,
        RenderCollection,
    )
    from gymcore.wrappers.vector.stateful_action import RepeatAction, StickyAction
    from gymcore.wrappers.vector.stateful_observation import (
        DelayObservation,
        FrameStackObservation,
        MaxAndSkipObservation,
        NormalizeObservation,
        TimeAwareObservation,
    )
    from gymcore.wrappers.vector.stateful_reward import NormalizeReward
    from gymcore.wrappers.vector.vectorize_action import (
        ClipAction,
        DiscretizeAction,
        RescaleAction,
        TransformAction,
        VectorizeTransformAction,
    )
    from gymcore.wrappers.vector.vectorize_observation import (
        DiscretizeObservation,
        DtypeObservation,
        FilterObservation,
        FlattenObservation,
        GrayscaleObservation,
        RescaleObservation,
        ReshapeObservation,
        ResizeObservation,
        TransformObservation,
        VectorizeTransformObservation,
    )
    from gymcore.wrappers.vector.vectorize_reward import (
        ClipReward,
        TransformReward,
        VectorizeTransformReward,
    )

__all__ = [
    "AddRenderObservation",
    "ArrayConversion",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "DictInfoToList",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "FrameStackObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "JaxToNumpy",
    "JaxToTorch",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "NumpyToTorch",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "RepeatAction",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "VectorizeTransformAction",
    "VectorizeTransformObservation",
    "VectorizeTransformReward",
]

_NAMES = {
    "array_conversion": ("ArrayConversion",),
    "common": ("RecordEpisodeStatistics", "TimeLimit"),
    "dict_info_to_list": ("DictInfoToList",),
    "jax_to_numpy": ("JaxToNumpy",),
    "jax_to_torch": ("JaxToTorch",),
    "numpy_to_torch": ("NumpyToTorch",),
    "rendering": ("AddRenderObservation", "HumanRendering", "RecordVideo", "RenderCollection"),
    "stateful_action": ("RepeatAction", "StickyAction"),
    "stateful_observation": (
        "DelayObservation",
        "FrameStackObservation",
        "MaxAndSkipObservation",
        "NormalizeObservation",
        "TimeAwareObservation",
    ),
    "stateful_reward": ("NormalizeReward",),
    "vectorize_action": (
        "ClipAction",
        "DiscretizeAction",
        "RescaleAction",
        "TransformAction",
        "VectorizeTransformAction",
    ),
    "vectorize_observation": (
        "DiscretizeObservation",
        "DtypeObservation",
        "FilterObservation",
        "FlattenObservation",
        "GrayscaleObservation",
        "RescaleObservation",
        "ReshapeObservation",
        "ResizeObservation",
        "TransformObservation",
        "VectorizeTransformObservation",
    ),
    "vectorize_reward": ("ClipReward", "TransformReward", "VectorizeTransformReward"),
}
"""Names that are imported at first use, by the module of this package that has them."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}
_SUBMODULES = frozenset(
    {
        "array_conversion",
        "common",
        "dict_info_to_list",
        "jax_to_numpy",
        "jax_to_torch",
        "numpy_to_torch",
        "rendering",
        "stateful_action",
        "stateful_observation",
        "stateful_reward",
        "vectorize_action",
        "vectorize_observation",
        "vectorize_reward",
    }
)


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
