"""Ant-v4: as Ant-v5 was before; contacts neither observed nor a cost by default."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import ant_v5
from gymcore.envs.mujoco.ant_v5 import DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.quantities import Operand, norm
from gymcore.envs.mujoco.tasks import HealthV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class AntEnv(HealthV4, ant_v5.AntEnv):
    """The ant of Ant-v5, with the healthy bonus also in the last step of an episode."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 20}  # noqa: RUF012

    forward_reward_weight: Any = 1.0

    def __init__(
        self,
        xml_file: str = "ant.xml",
        ctrl_cost_weight: float = 0.5,
        use_contact_forces: bool = False,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make an Ant; the arguments are those of Ant-v5."""
        self._use_contact_forces = use_contact_forces
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        CompiledMujocoEnv.__init__(
            self,
            xml_file,
            5,
            default_camera_config=DEFAULT_CAMERA_CONFIG,
            ctrl_cost_weight=ctrl_cost_weight,
            contact_cost_weight=contact_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            contact_force_range=contact_force_range,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )

    def describe(self, simulation: Simulation) -> Description:
        """Velocity and health minus effort, and contacts if asked for."""
        s = simulation
        skipped = 2 * self._exclude_current_positions_from_observation
        position = s.body_position("torso")[:2]
        velocity = s.rate(position)
        forward = velocity[0]
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = costs = self.effort(s)
        observed: Operand = ()
        infos = {"reward_forward": forward, "reward_ctrl": -effort, "reward_survive": survival}
        if self._use_contact_forces:
            contacts = self.pressure(s)
            costs = effort + contacts
            observed = self.forces(s)
            infos["reward_ctrl"] = -contacts
        return Description(
            observation=[s.qpos[skipped:], s.qvel, observed],
            reward=(forward + survival) - costs,
            terminated=self.ending(s, healthy),
            infos={
                **infos,
                "x_position": position[0],
                "y_position": position[1],
                "distance_from_origin": norm(position),
                "x_velocity": velocity[0],
                "y_velocity": velocity[1],
                "forward_reward": forward,
            },
            **normal_start(s),
        )


AntVectorEnv = MujocoVectorEnv.of(AntEnv)
