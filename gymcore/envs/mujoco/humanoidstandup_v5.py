"""HumanoidStandup-v5: a body that lies on the ground stands up."""

from __future__ import annotations

import numpy as np

from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import Quantity
from gymcore.envs.mujoco.tasks import ControlCost, HumanoidBody
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 1,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 0.8925)),
    "elevation": -20.0,
}


class HumanoidStandupEnv(
    ControlCost,
    HumanoidBody,
    xml_file="humanoidstandup.xml",
    frame_skip=5,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    uph_cost_weight=1,
    ctrl_cost_weight=0.1,
    impact_cost_weight=0.5e-6,
    impact_cost_range=(float("-inf"), 10.0),
    reset_noise_scale=1e-2,
    exclude_current_positions_from_observation=True,
    include_cinert_in_observation=True,
    include_cvel_in_observation=True,
    include_qfrc_actuator_in_observation=True,
    include_cfrc_ext_in_observation=True,
):
    """A body of thirteen parts lies on its back and is rewarded for its height.

    Tassa, Erez and Todorov (2012). docs/environments/mujoco/humanoidstandup.md describes
    observations, actions, rewards and arguments.

    Examples:
        >>> env = HumanoidStandupEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, sorted(info)[-1]
        ((348,), 'z_distance_from_origin')
    """

    reward_arguments = ("pos_after", "action")

    def describe(self, simulation: Simulation) -> Description:
        """Reward height, minus the costs of controls and contacts."""
        s = simulation
        # As in Gymnasium, the weight `uph_cost_weight` has no effect.
        height = s.qpos[2] / self.model.opt.timestep
        effort = self.effort(s)
        impact = self.impact(s)
        positions = {
            "x_position": s.qpos[0],
            "y_position": s.qpos[1],
            "z_distance_from_origin": s.qpos[2] - s.init_qpos[2],
            "tendon_length": s.data.ten_length,
            "tendon_velocity": s.data.ten_velocity,
        }
        return Description(
            observation=self.observed(s),
            reward=((height - effort) - impact) + 1.0,
            infos={
                **positions,
                "reward_linup": height,
                "reward_quadctrl": -effort,
                "reward_impact": -impact,
            },
            reset_infos=positions,
            **uniform_start(s),
        )

    def impact(self, simulation: Simulation) -> Quantity:
        """Return the cost of contacts."""
        return self.cost_of_contacts(simulation, "impact_cost")


HumanoidStandupVectorEnv = MujocoVectorEnv.of(HumanoidStandupEnv)
