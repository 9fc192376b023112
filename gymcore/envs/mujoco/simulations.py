"""The simulations of a batch, over MuJoCo's library as it is installed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.envs.mujoco.library import mujoco_module
from gymcore.envs.mujoco.program import Program, sources_of
from gymcore_ext.mujoco.simulations import FUNCTIONS, HANDLERS, Simulations

# Names of the library's file on Linux, macOS and Windows.
_LIBRARY_FILES = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")


class SimulationFailed(error.EnvironmentFailed):
    """MuJoCo gave up on simulations of a batch; `lanes` names them. A reset begins anew."""


@cache
def library_functions() -> dict[str, int]:
    """Addresses of the functions of MuJoCo's library that compiled code calls, by their names.

    Raises:
        gymcore.error.DependencyNotInstalled: mujoco is not installed, or has no such functions.
    """
    mujoco = mujoco_module()
    folder = Path(str(mujoco.__file__)).parent
    files = [file for pattern in _LIBRARY_FILES for file in sorted(folder.glob(pattern))]
    if not files:
        raise error.DependencyNotInstalled(f"no library of MuJoCo in {folder}: install it again")
    library = ctypes.CDLL(str(files[0]))
    version = mujoco.mj_version()
    if library.mj_version() != version:
        raise error.DependencyNotInstalled(
            f"{files[0]} is version {library.mj_version()}, the Python package {version}: install "
            "mujoco again"
        )
    found = {}
    for name in (*FUNCTIONS, *(name for row in HANDLERS for name in row)):
        try:
            found[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    if not any(all(name in found for name in row) for row in HANDLERS):
        raise error.DependencyNotInstalled(
            f"MuJoCo {mujoco.__version__} has none of the error handlers that gymcore knows "
            f"({HANDLERS}); install another version"
        )
    return found


class LaneSimulations(Simulations):
    """`Simulations` that can be saved, and that say what happened to them in this package's words.

    A saved lane is MuJoCo's integration state and every array that programs look at: it continues
    and is observed as the lane would have been, bit for bit.
    """

    def __init__(self, **arguments: Any) -> None:
        """Find out how much a saved lane takes."""
        mujoco = mujoco_module()
        self._signature = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._state_size = int(mujoco.mj_stateSize(self.models[0], self._signature))
        self._looked_at = sources_of(self.arrays)
        sizes = [getattr(self.datas[0], name).size for name in self._looked_at]
        self.width = self._state_size + sum(sizes)

    @classmethod
    def of(
        cls, program: Program, models: list[Any], datas: list[Any], frame_skip: int
    ) -> LaneSimulations:
        """Make the simulations of a batch.

        Args:
            program: what is computed of them.
            models: a `mujoco.MjModel` for each lane; lanes may share one.
            datas: a `mujoco.MjData` for each lane.
            frame_skip: simulation steps of a step.
        """
        return cls(
            functions=library_functions(),
            models=models,
            datas=datas,
            arrays=program.arrays,
            programs=program.programs,
            constants=program.constants,
            registers=program.registers,
            parameters=program.parameters,
            observation_size=program.observation_size,
            action_size=program.action_size,
            infos=program.infos,
            info_register=program.info_register,
            reward_register=program.reward_register,
            terminated_register=program.terminated_register,
            frame_skip=frame_skip,
            on_fault=report_faults,
        )

    def save(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Lanes as float64 [len(indices), width], a copy."""
        mujoco = mujoco_module()
        saved = np.empty((len(indices), self.width))
        for row, lane in zip(saved, indices.tolist(), strict=True):
            data = self.datas[lane]
            mujoco.mj_getState(self.models[lane], data, row[: self._state_size], self._signature)
            at = self._state_size
            for name in self._looked_at:
                array = getattr(data, name)
                row[at : at + array.size] = array.ravel()
                at += array.size
        return saved

    def load(self, indices: npt.NDArray[np.int64], saved: npt.NDArray[np.float64]) -> None:
        """Put saved lanes back."""
        mujoco = mujoco_module()
        for row, lane in zip(saved, indices.tolist(), strict=True):
            model, data = self.models[lane], self.datas[lane]
            state = np.ascontiguousarray(row[: self._state_size])
            mujoco.mj_resetData(model, data)
            mujoco.mj_setState(model, data, state, self._signature)
            # For everything that nobody looks at, pictures say; then what the step had left.
            mujoco.mj_forward(model, data)
            mujoco.mj_setState(model, data, state, self._signature)
            at = self._state_size
            for name in self._looked_at:
                array = getattr(data, name)
                array.reshape(-1)[:] = row[at : at + array.size]
                at += array.size


def report_faults(lanes: Sequence[int], texts: Sequence[str], failed: bool) -> None:
    """Warn of what happened to lanes, or raise if simulations failed.

    Raises:
        SimulationFailed: MuJoCo could not go on.
    """
    shown = "; ".join(
        f"lane {lane}: {text.strip()}" for lane, text in list(zip(lanes, texts, strict=True))[:4]
    )
    more = f" (and {len(lanes) - 4} more lanes)" if len(lanes) > 4 else ""
    if failed:
        raise SimulationFailed(
            f"MuJoCo gave up: {shown}{more}. All lanes want a reset.", lanes=lanes
        )
    logger.warn(f"MuJoCo: {shown}{more}")
