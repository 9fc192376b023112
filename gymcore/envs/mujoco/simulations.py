"""The simulations of a batch, and how they are saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.calls import library_functions, report_faults
from gymcore.envs.mujoco.library import mujoco_module
from gymcore.envs.mujoco.program import Program, sources_of
from gymcore_ext.mujoco.simulations import Simulations


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
