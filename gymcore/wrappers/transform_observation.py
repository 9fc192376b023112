"""Wrappers that change every observation by itself: filter, flatten, rescale, draw and so on."""

from gymcore.wrappers.observation_base import TransformObservation
from gymcore.wrappers.observation_bins import DiscretizeObservation
from gymcore.wrappers.observation_form import (
    DtypeObservation,
    RescaleObservation,
    ReshapeObservation,
)
from gymcore.wrappers.observation_images import (
    AddRenderObservation,
    GrayscaleObservation,
    ResizeObservation,
)
from gymcore.wrappers.observation_parts import FilterObservation, FlattenObservation

__all__ = [
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
]

# Specs name wrappers by their module, also in files that outlive how these are divided.
for _name in __all__:
    globals()[_name].__module__ = __name__
