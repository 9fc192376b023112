"""Humanoid-v4: contacts are observed, but are not a cost."""

from __future__ import annotations

from gymcore.envs.mujoco import humanoid_v5
from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.humanoid_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.humanoid_v5 import mass_center as mass_center
from gymcore.envs.mujoco.quantities import norm
from gymcore.envs.mujoco.tasks import HealthV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HumanoidEnv(
    HealthV4,
    humanoid_v5.HumanoidEnv,
    render_fps=67,
    contact_cost_weight=0.0,
    contact_cost_range=(0.0, 0.0),
    arguments=(
        "forward_reward_weight",
        "ctrl_cost_weight",
        "healthy_reward",
        "terminate_when_unhealthy",
        "healthy_z_range",
        "reset_noise_scale",
        "exclude_current_positions_from_observation",
    ),
):
    """The humanoid of Humanoid-v5; the last step of an episode also gets the healthy reward."""

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity of the center of mass and health, minus the cost of the controls."""
        s = simulation
        position = humanoid_v5.center_of_mass(s)
        velocity = s.rate(position)
        forward = s.parameter("forward_reward_weight") * velocity[0]
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = self.effort(s)
        return Description(
            observation=self.observed_v4(s),
            reward=(forward + survival) - effort,
            terminated=self.ending(s, healthy),
            infos={
                "reward_linvel": forward,
                "reward_quadctrl": -effort,
                "reward_alive": survival,
                "x_position": position[0],
                "y_position": position[1],
                "distance_from_origin": norm(position),
                "x_velocity": velocity[0],
                "y_velocity": velocity[1],
                "forward_reward": forward,
            },
            number_types={"reward_alive": float},
            **uniform_start(s),
        )


HumanoidVectorEnv = MujocoVectorEnv.of(HumanoidEnv)
