"""Environments whose lanes are structs, with compiled functions that process one lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Info, ObsType
from gymcore.native.env import NativeEnv
from gymcore.native.kernel_spaces import (
    action_groups,
    array_layout,
    central_array,
    kernel_action,
    kernel_agents,
    leaves_of,
)
from gymcore.native.parameters import KernelSpec, Parameter
from gymcore.native.state import digest
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.spaces import Discrete, Space
from gymcore.vector.agents import Agents, Names, Spaces
from gymcore_ext.engine.batch import Batch
from gymcore_ext.engine.kernels import TYPES
from gymcore_ext.lanes.custom_kernel import CustomKernel
from gymcore_ext.lanes.struct_lanes import StructLanes

# Entries of infos that the engine writes itself.
_ENGINE_INFOS = ("env_id", "episode", "final_frame", "final_info", "final_obs")


class StructEnv(NativeEnv[ObsType, ActType]):
    """Base of environments whose state is a struct, with compiled functions for one lane.

    `StructEnv.of` makes a class from the functions (`gymcore_lane_functions` in
    `gymcore/kernel.h`), the size of the struct and the spaces. The engine runs its environments and
    batches like built-in ones, with autoreset modes, parameters per lane, threads and states.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    kernel_module = ""
    vector_class: ClassVar[type[NativeVectorEnv]]
    # Messages of lane faults, by number; optional.
    fault_texts: ClassVar[Sequence[str]] = ()
    # The arguments of `of`. If they differ between instances, `make_batch` of the class sets them.
    functions: object
    lane_bytes: int
    saved_bytes: int = 0
    spaces_of_lane: tuple[Space, Space]
    defaults: dict[str, float]
    reset_options: dict[str, float] = {}  # noqa: RUF012
    infos_of_lane: tuple[tuple[str, np.dtype, int | tuple[int, ...]], ...] = ()
    central_of_lane: tuple[np.dtype, tuple[int, ...]] | None = None
    shared: object = None

    @classmethod
    def of(
        cls,
        name: str,
        *,
        functions: object,
        lane_bytes: int,
        saved_bytes: int = 0,
        observation_space: Spaces,
        action_space: Spaces,
        agents: Names | None = None,
        parameters: dict[str, float] | None = None,
        reset_options: dict[str, float] | None = None,
        infos: Mapping[str, npt.DTypeLike] | None = None,
        state_space: Space | None = None,
        shared: object = None,
    ) -> type[Self]:
        """Return the class of an environment; its `vector_class` is the class of its batches.

        Args:
            name: Name of the class.
            functions: Capsule of the functions for one lane.
            lane_bytes: Bytes of a lane; its memory is zero before `make` or its first reset.
            saved_bytes: Bytes that the function `save` writes, a multiple of 8; 0 if lanes are
                saved as raw bytes.
            observation_space: Box, Discrete, MultiDiscrete, MultiBinary, or Dict and Tuple of
                these. `observe` gets the row of each array, in the order of the space.
            action_space: Discrete, MultiDiscrete, MultiBinary, or a Box of floats. `step` gets
                int64 values, or floats.
            agents: The agents of a world (see `Agents`): the spaces are then those of one agent, or
                dicts of those of groups. The functions have `step_agents` instead of `step`.
            parameters: Names and defaults of the numbers that functions get as `parameters`. They
                are arguments of the constructor and may differ from lane to lane.
            reset_options: Names and defaults of options of `reset`.
            infos: Names and dtypes of the infos of resets and steps, in the order in which the
                function `write_infos` gets them: numbers, or `(dtype, n)` for arrays [n]; in worlds
                of agents also `(dtype, (agents, n))`.
            state_space: Space of the arrays that the function `central_state` writes, states of
                worlds for critics; None without the function.
            shared: Capsule of data that all lanes share, or None.

        Raises:
            InvalidArgument: If compiled code cannot check or fill elements of a space or an info.
        """
        defaults = dict(parameters or {})
        team = None if agents is None else Agents(agents, observation_space, action_space)
        spaces: Any = (observation_space, action_space)
        if team is not None:
            spaces = team.world_spaces
        array_layout("observation_space", spaces[0])
        if kernel_action(spaces[1], team) is None:
            raise error.InvalidArgument(
                "action_space: expected Discrete, MultiDiscrete, MultiBinary, or Box of float32 or "
                f"float64 with an axis, got {action_space}"
            )
        attributes = {
            **{parameter: Parameter() for parameter in defaults},
            "functions": functions,
            "lane_bytes": lane_bytes,
            "saved_bytes": saved_bytes,
            "agents": team,
            "spaces_of_lane": spaces,
            "defaults": defaults,
            "reset_options": dict(reset_options or {}),
            "infos_of_lane": tuple(_checked_info(*info, team) for info in (infos or {}).items()),
            "central_of_lane": central_array(state_space),
            "shared": shared,
        }
        env_class: type[Self] = type(name, (cls,), attributes)
        env_class.fits_kernel = True
        env_class.vector_class = NativeVectorEnv.of(env_class)
        return env_class

    def __init__(self, render_mode: str | None = None, **parameters: object) -> None:
        """Create the environment; the arguments are its parameters."""
        super().__init__(render_mode, **parameters)
        self.observation_space, self.action_space = self.spaces_of_lane

    @classmethod
    def kernel_spec(cls) -> KernelSpec:
        """Return the names and defaults of parameters and options."""
        names = {"parameters": cls.defaults, "reset_options": cls.reset_options}
        return {"name": cls.__name__, "state_names": (), **names}

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of lanes."""
        observation_space, action_space = self.spaces_of_lane
        layout = array_layout("observation_space", observation_space)
        action, ranges = kernel_action(action_space, self.agents) or ((np.int64, ()), ())
        kernel = CustomKernel(
            type(self).__name__,
            parts=leaves_of(layout),
            action=action,
            ranges=ranges,
            parameters=self.defaults,
            reset_options=self.reset_options,
            infos=self.infos_of_lane,
            functions=self.functions,
            central=self.central_of_lane,
            **kernel_agents(self.agents, layout),
        ).capsule
        store = StructLanes(
            kernel=kernel,
            num_lanes=num_envs,
            lane_bytes=self.lane_bytes,
            saved_bytes=self.saved_bytes,
            shared=self.shared,
            on_fault=self.raise_faults,
        )
        options.update(action_groups=action_groups(action_space, self.agents), layout=layout)
        return Batch(kernel, num_envs, errors=error, store=store, **options)

    @classmethod
    def raise_faults(cls, faults: list[tuple[int, int]]) -> None:
        """Raise an error for lanes that cannot continue, given `[(lane, fault), ...]`."""
        lanes, fault = [lane for lane, _ in faults], faults[0][1]
        text = cls.fault_texts[fault] if cls.fault_texts else f"fault {fault}"
        raise error.Error(f"lanes {lanes}: {text}")

    def fixed_digest(self) -> int:
        """Return a digest of the class name and the lane size."""
        return digest(f"{type(self).__qualname__} {self.lane_bytes}".encode())

    def step(self, action: Any) -> tuple[ObsType, float, bool, bool, Info]:
        """Step with an element of `action_space`; see `Env.step`.

        Raises:
            InvalidAction: If the action is not an element of `action_space`.
            ResetNeeded: If the environment has not been reset.
        """
        if not self.action_space.contains(action):
            raise self._invalid(action)
        is_number = isinstance(self.action_space, Discrete)
        step = self._batch.step_single if is_number else self._batch.step_single_array
        observation, reward, terminated = step(action)
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, self._batch.truncated, self._batch.infos()


def _checked_info(
    name: str, dtype: npt.DTypeLike, agents: Agents | None
) -> tuple[str, np.dtype, int | tuple[int, ...]]:
    """Return the name of an info, the dtype of its numbers, and their number or axes."""
    try:
        info_dtype = np.dtype(dtype)
        fits = info_dtype.base in map(np.dtype, TYPES) and len(info_dtype.shape) < (
            2 if agents is None else 3
        )
    except (TypeError, ValueError):
        fits = False
    if (
        not fits
        or not isinstance(name, str)
        or name.startswith("_")
        or name in _ENGINE_INFOS
        or (agents is not None and name == "active")
    ):
        raise error.InvalidArgument(
            "infos: expected names other than the engine's, and dtypes of numbers or (dtype, n), "
            f"got {name!r}: {dtype!r}"
        )
    shape = info_dtype.shape or (1,)
    return name, info_dtype.base, shape[0] if len(shape) == 1 else shape
