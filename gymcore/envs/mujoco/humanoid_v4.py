"""Humanoid-v4: as Humanoid-v5 was before; contacts are observed and cost nothing."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import humanoid_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.humanoid_v5 import DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.humanoid_v5 import mass_center as mass_center
from gymcore.envs.mujoco.quantities import norm
from gymcore.envs.mujoco.tasks import HealthV4, constructor
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HumanoidEnv(HealthV4, humanoid_v5.HumanoidEnv):
    """The humanoid of Humanoid-v5, with the healthy bonus also in the last step of an episode."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 67}  # noqa: RUF012
    observation_structure: Any = None

    contact_cost_weight: Any = 0.0
    contact_cost_range: Any = (0.0, 0.0)

    __init__ = constructor(
        {
            "xml_file": "humanoid.xml",
            "frame_skip": 5,
            "default_camera_config": DEFAULT_CAMERA_CONFIG,
        },
        forward_reward_weight=1.25,
        ctrl_cost_weight=0.1,
        healthy_reward=5.0,
        terminate_when_unhealthy=True,
        healthy_z_range=(1.0, 2.0),
        reset_noise_scale=1e-2,
        exclude_current_positions_from_observation=True,
    )

    def describe(self, simulation: Simulation) -> Description:
        """Velocity of the center of mass and health minus effort."""
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
            **uniform_start(s),
        )


HumanoidVectorEnv = MujocoVectorEnv.of(HumanoidEnv)
