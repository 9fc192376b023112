"""Ant-v4: by default, contacts are neither observed nor a cost."""

from __future__ import annotations

from gymcore.envs.mujoco import ant_v5
from gymcore.envs.mujoco.ant_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.quantities import Operand, norm
from gymcore.envs.mujoco.tasks import HealthV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class AntEnv(
    HealthV4,
    ant_v5.AntEnv,
    render_fps=20,
    use_contact_forces=False,
    arguments=(
        "xml_file",
        "ctrl_cost_weight",
        "use_contact_forces",
        "contact_cost_weight",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "contact_force_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ),
):
    """The ant of Ant-v5; the last step of an episode also gets the healthy reward."""

    compiled_methods = frozenset({"get_body_com"})
    _use_contact_forces: bool

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity and health, minus the costs of the action and, if used, of contacts."""
        s = simulation
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
            observation=[s.qpos[self.skipped :], s.qvel, observed],
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
            number_types={"reward_survive": float},
            **normal_start(s),
        )


AntVectorEnv = MujocoVectorEnv.of(AntEnv)
