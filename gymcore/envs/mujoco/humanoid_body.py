"""What both humanoids observe: joints, and what happens to the parts of the body."""

from __future__ import annotations

from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Simulation
from gymcore.envs.mujoco.quantities import Quantity, clip, square, total


class HumanoidBody(CompiledMujocoEnv):
    """An environment that observes what its switches include."""

    _exclude_current_positions_from_observation: bool = True
    _include_cinert_in_observation: bool = True
    _include_cvel_in_observation: bool = True
    _include_qfrc_actuator_in_observation: bool = True
    _include_cfrc_ext_in_observation: bool = True

    def seen(self, simulation: Simulation) -> list[Quantity]:
        """Quantities of the observation, without those of the world and of the free joint."""
        s = simulation
        skipped = 2 * self._exclude_current_positions_from_observation
        parts = [s.qpos[skipped:], s.qvel]
        if self._include_cinert_in_observation:
            parts.append(s.data.cinert[10:])
        if self._include_cvel_in_observation:
            parts.append(s.data.cvel[6:])
        if self._include_qfrc_actuator_in_observation:
            parts.append(s.data.qfrc_actuator[6:])
        if self._include_cfrc_ext_in_observation:
            parts.append(s.data.cfrc_ext[6:])
        return parts

    def seen_early(self, simulation: Simulation) -> list[Quantity]:
        """Quantities of the observation before v5: also those of the world and the free joint."""
        s = simulation
        skipped = 2 * self._exclude_current_positions_from_observation
        data = s.data
        parts = [data.cinert, data.cvel, data.qfrc_actuator, data.cfrc_ext]
        return [s.qpos[skipped:], s.qvel, *parts]

    def cost_of_contacts(self, simulation: Simulation, name: str) -> Quantity:
        """The squared contact forces with the weight `{name}_weight`, within `{name}_range`."""
        cost = simulation.parameter(f"{name}_weight") * total(square(simulation.data.cfrc_ext))
        return clip(cost, *simulation.bounds(f"{name}_range"))

    def _structure(self) -> dict[str, int]:
        """How many numbers of each kind an observation has."""
        skipped = 2 * self._exclude_current_positions_from_observation
        data = self.data
        return {
            "skipped_qpos": skipped,
            "qpos": self.model.nq - skipped,
            "qvel": self.model.nv,
            "cinert": data.cinert[1:].size * self._include_cinert_in_observation,
            "cvel": data.cvel[1:].size * self._include_cvel_in_observation,
            "qfrc_actuator": (self.model.nv - 6) * self._include_qfrc_actuator_in_observation,
            "cfrc_ext": data.cfrc_ext[1:].size * self._include_cfrc_ext_in_observation,
            "ten_length": 0,
            "ten_velocity": 0,
        }
