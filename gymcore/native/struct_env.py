"""Environments whose lanes are structs: the functions of one lane, compiled, and spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from gymcore import error
from gymcore.core import Info
from gymcore.native.env import NativeEnv
from gymcore.native.kernel_spaces import array_layout, checked_action, leaves_of
from gymcore.native.parameters import Parameter
from gymcore.native.state import digest
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.spaces import Space
from gymcore_ext.engine.batch import Batch
from gymcore_ext.lanes.custom_kernel import CustomKernel
from gymcore_ext.lanes.struct_lanes import StructLanes


def struct_batch(
    name: str,
    num_envs: int,
    lane_spaces: tuple[Space, Space],
    *,
    functions: object,
    lane_bytes: int,
    saved_bytes: int = 0,
    parameters: dict[str, float],
    reset_options: dict[str, float] | None = None,
    shared: object = None,
    on_fault: Callable[[list[tuple[int, int]]], None],
    **options: Any,
) -> Batch:
    """Return a batch of lanes that are structs.

    Args:
        name: Of the kernel, in messages.
        num_envs: How many lanes.
        lane_spaces: What is observed of a lane, and its actions.
        functions: As for `StructEnv.of`.
        lane_bytes: Likewise.
        saved_bytes: Likewise.
        parameters: Names and values of the numbers that functions get.
        reset_options: As for `StructEnv.of`.
        shared: Likewise.
        on_fault: Raises for lanes that cannot go on, `[(lane, fault), ...]`.
        **options: Of the batch.
    """
    layout = array_layout("observation_space", lane_spaces[0])
    action, ranges = checked_action(lane_spaces[1]) or ((np.int64, ()), ())
    kernel = CustomKernel(
        name,
        parts=leaves_of(layout),
        action=action,
        ranges=ranges,
        parameters=parameters,
        reset_options=reset_options or {},
        functions=functions,
    ).capsule
    store = StructLanes(
        kernel=kernel,
        functions=functions,
        num_lanes=num_envs,
        lane_bytes=lane_bytes,
        saved_bytes=saved_bytes,
        shared=shared,
        on_fault=on_fault,
    )
    return Batch(
        kernel, num_envs, errors=error, store=store, layout=layout, copies_actions=True, **options
    )


class StructEnv(NativeEnv[Any]):
    """Base of environments whose state is a struct, with compiled functions of one lane.

    `StructEnv.of` makes a class from the functions (`gymcore_lane_functions` in
    `gymcore/kernel.h`), the size of the struct and the spaces. Single environments and batches run
    in the engine like the built-in ones: autoreset modes, parameters by lane, threads, states.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    kernel_module = ""
    functions: ClassVar[object]
    lane_bytes: ClassVar[int]
    saved_bytes: ClassVar[int]
    spaces_of_lane: ClassVar[tuple[Space, Space]]
    defaults: ClassVar[dict[str, float]]
    reset_options: ClassVar[dict[str, float]]
    shared: ClassVar[object]
    vector_class: ClassVar[type[NativeVectorEnv]]

    @classmethod
    def of(
        cls,
        name: str,
        *,
        functions: object,
        lane_bytes: int,
        saved_bytes: int = 0,
        observation_space: Space,
        action_space: Space,
        parameters: dict[str, float] | None = None,
        reset_options: dict[str, float] | None = None,
        shared: object = None,
    ) -> type[Self]:
        """Return the class of an environment; `vector_class` is that of its batches.

        Args:
            name: Name of the class.
            functions: Capsule of the functions of one lane.
            lane_bytes: Bytes of a lane, which is zero before `make` or its first reset.
            saved_bytes: Bytes that the function `save` writes, a multiple of 8; 0 for lanes that
                are saved as they are.
            observation_space: Box, Discrete, MultiDiscrete, MultiBinary, or Dict and Tuple of
                these. `observe` gets the row of each array, in the order of the space.
            action_space: Discrete, MultiDiscrete, MultiBinary, or a Box of floats. `step` gets
                int64 values, or floats.
            parameters: Names and defaults of the numbers that functions get as `parameters`; they
                are arguments of the constructor, and may differ from lane to lane.
            reset_options: Names and defaults of options of `reset`.
            shared: Capsule of what all lanes have in common, or None.

        Raises:
            InvalidArgument: A space that compiled code cannot check or fill.
        """
        defaults = dict(parameters or {})
        array_layout("observation_space", observation_space)
        if checked_action(action_space) is None:
            raise error.InvalidArgument(
                "action_space: expected Discrete, MultiDiscrete, MultiBinary, or Box of float32 or "
                f"float64 with an axis, got {action_space}"
            )
        attributes = {
            **{parameter: Parameter() for parameter in defaults},
            "functions": functions,
            "lane_bytes": lane_bytes,
            "saved_bytes": saved_bytes,
            "spaces_of_lane": (observation_space, action_space),
            "defaults": defaults,
            "reset_options": dict(reset_options or {}),
            "shared": shared,
        }
        made: type[Self] = type(name, (cls,), attributes)
        made.fits_kernel = True
        made.vector_class = NativeVectorEnv.of(made)
        return made

    def __init__(self, render_mode: str | None = None, **parameters: Any) -> None:
        """Make the environment; the arguments are its parameters."""
        self.observation_space, self.action_space = self.spaces_of_lane
        super().__init__(render_mode, **parameters)

    @classmethod
    def kernel_spec(cls) -> dict[str, Any]:
        """Return the names and defaults of parameters and options."""
        names = {"parameters": cls.defaults, "reset_options": cls.reset_options}
        return {"name": cls.__name__, "state_names": (), **names}

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of lanes."""
        return struct_batch(
            type(self).__name__,
            num_envs,
            self.spaces_of_lane,
            functions=self.functions,
            lane_bytes=self.lane_bytes,
            saved_bytes=self.saved_bytes,
            parameters=self.defaults,
            reset_options=self.reset_options,
            shared=self.shared,
            on_fault=self.raise_faults,
            **options,
        )

    @staticmethod
    def raise_faults(faults: list[tuple[int, int]]) -> None:
        """Raise because lanes cannot go on, given their faults; a subclass says what these mean."""
        raise error.Error(f"lanes {[lane for lane, _ in faults]}: fault {faults[0][1]}")

    def fixed_digest(self) -> int:
        """Return a digest of name and size."""
        return digest(f"{type(self).__qualname__} {self.lane_bytes}".encode())

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Step by an element of `action_space`; see `Env.step`.

        Raises:
            InvalidAction: Not an element of `action_space`.
            ResetNeeded: Before the first reset.
        """
        if not self.action_space.contains(action):
            raise self._invalid(action)
        numbers = bool(self.action_space.shape)
        step = self._batch.step_single_numbers if numbers else self._batch.step_single
        observation, reward, terminated = step(action)
        return observation, reward, terminated, self._batch.truncated, self._batch.infos_of(0)
