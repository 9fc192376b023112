"""Vector versions of the wrappers, with the effect of the single wrapper of the same name.

A wrapper and the packages that it needs are imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace

if TYPE_CHECKING:
    from gymcore.wrappers.vector.agents_as_lanes import *
    from gymcore.wrappers.vector.array_conversion import *
    from gymcore.wrappers.vector.common import *
    from gymcore.wrappers.vector.dict_info_to_list import *
    from gymcore.wrappers.vector.jax_to_numpy import *
    from gymcore.wrappers.vector.jax_to_torch import *
    from gymcore.wrappers.vector.numpy_to_torch import *
    from gymcore.wrappers.vector.rendering import *
    from gymcore.wrappers.vector.stateful_action import *
    from gymcore.wrappers.vector.stateful_observation import *
    from gymcore.wrappers.vector.stateful_reward import *
    from gymcore.wrappers.vector.vectorize_action import *
    from gymcore.wrappers.vector.vectorize_observation import *
    from gymcore.wrappers.vector.vectorize_reward import *

# Imported at first use, because most of these modules need optional packages.
_LAZY: dict[str, tuple[str, ...]] = {
    ".agents_as_lanes": ("AgentsAsLanes",),
    ".array_conversion": ("ArrayConversion",),
    ".common": ("RecordEpisodeStatistics", "TimeLimit"),
    ".dict_info_to_list": ("DictInfoToList",),
    ".jax_to_numpy": ("JaxToNumpy",),
    ".jax_to_torch": ("JaxToTorch",),
    ".numpy_to_torch": ("NumpyToTorch",),
    ".rendering": ("AddRenderObservation", "HumanRendering", "RecordVideo", "RenderCollection"),
    ".stateful_action": ("RepeatAction", "StickyAction"),
    ".stateful_observation": (
        "DelayObservation",
        "FrameStackObservation",
        "MaxAndSkipObservation",
        "NormalizeObservation",
        "TimeAwareObservation",
    ),
    ".stateful_reward": ("NormalizeReward",),
    ".vectorize_action": (
        "ClipAction",
        "DiscretizeAction",
        "RescaleAction",
        "TransformAction",
        "VectorizeTransformAction",
    ),
    ".vectorize_observation": (
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
    ".vectorize_reward": ("ClipReward", "TransformReward", "VectorizeTransformReward"),
}

__getattr__, __dir__ = lazy_namespace(__name__, _LAZY)
__all__ = [name for names in _LAZY.values() for name in names]
