"""Lanes of grid worlds, without environments around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore import error
from gymcore_ext.engine.batch import Batch
from gymcore_ext.lanes.custom_kernel import CustomKernel
from gymcore_ext.lanes.struct_lanes import StructLanes
from gymcore_ext.minigrid.grid_lane import FAULT_TEXTS, LANE_FUNCTIONS, GridSpec
from gymcore_ext.minigrid.rules import RULES


class Faulted(Exception):
    """Error that the lanes of a test raise, with the lanes and their faults as text."""


def raise_faults(faults: list[tuple[int, int]]) -> None:
    raise Faulted([(lane, FAULT_TEXTS[fault]) for lane, fault in faults])


class Lanes:
    """A batch of lanes: `batch`, `store`, `level`.

    Args:
        rules: Name of the rules.
        size: Width and height.
        num_lanes: Number of lanes.
        numbers: Numbers of the level after its `max_steps`.
        kwargs: Further arguments of `GridSpec`.
    """

    def __init__(
        self,
        rules: str,
        size: tuple[int, int],
        num_lanes: int = 1,
        max_steps: int = 100,
        numbers: tuple[float, ...] = (),
        **kwargs: Any,
    ) -> None:
        self.level = GridSpec(RULES[rules], *size, **kwargs)
        parameters = {f"number_{k}": float(number) for k, number in enumerate(numbers)}
        kernel = CustomKernel(
            "grid world",
            parts=self.level.parts,
            action=(np.int64, ()),
            ranges=((0, 7),),
            parameters={"max_steps": float(max_steps), **parameters},
            functions=LANE_FUNCTIONS,
        ).capsule
        self.store = StructLanes(
            kernel=kernel,
            num_lanes=num_lanes,
            lane_bytes=self.level.lane_bytes,
            shared=self.level.capsule,
            on_fault=raise_faults,
        )
        self.batch = Batch(kernel, num_lanes, errors=error, store=self.store)

    @property
    def lanes(self) -> np.ndarray:
        """Return the lanes, as a view of `GridSpec.lane_dtype`."""
        dtype = self.level.lane_dtype
        return self.store.view()[:, : dtype.itemsize].view(dtype)[:, 0]

    def mission(self, lane: int = 0) -> str:
        return self.level.mission(self.store.view()[lane, : self.level.lane_bytes])
