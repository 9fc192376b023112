"""Humanoid-v5: a body with two legs runs forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import Quantity, norm, total, weighted_rows
from gymcore.envs.mujoco.tasks import ControlCost, Health, HumanoidBody, within
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

if TYPE_CHECKING:
    import mujoco

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 1,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 2.0)),
    "elevation": -20.0,
}


def mass_center(model: mujoco.MjModel, data: mujoco.MjData) -> npt.NDArray[np.float64]:
    """Return the horizontal position of the center of mass.

    Args:
        model: a `mujoco.MjModel`.
        data: its `mujoco.MjData`.

    Returns:
        x and y, a new float64 array [2].
    """
    mass = model.body_mass[:, None]
    center: npt.NDArray[np.float64] = ((mass * data.xipos).sum(axis=0) / mass.sum())[:2]
    return center.copy()


def center_of_mass(simulation: Simulation) -> Quantity:
    """Return the horizontal position of the center of mass [2]."""
    mass = simulation.model.body_mass
    return (weighted_rows(mass, simulation.data.xipos) / total(mass))[:2]


class HumanoidEnv(
    ControlCost,
    HumanoidBody,
    Health,
    xml_file="humanoid.xml",
    frame_skip=5,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    forward_reward_weight=1.25,
    ctrl_cost_weight=0.1,
    contact_cost_weight=5e-7,
    contact_cost_range=(float("-inf"), 10.0),
    healthy_reward=5.0,
    terminate_when_unhealthy=True,
    healthy_z_range=(1.0, 2.0),
    reset_noise_scale=1e-2,
    exclude_current_positions_from_observation=True,
    include_cinert_in_observation=True,
    include_cvel_in_observation=True,
    include_qfrc_actuator_in_observation=True,
    include_cfrc_ext_in_observation=True,
):
    """A body of thirteen parts, with two legs, is rewarded for running in the direction of +x.

    Tassa, Erez and Todorov (2012). docs/environments/mujoco/humanoid.md describes observations,
    actions, rewards and arguments.

    Examples:
        >>> env = HumanoidEnv(include_cinert_in_observation=False)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, info["tendon_length"].shape
        ((218,), True, (2,))
    """

    reward_arguments = ("x_velocity", "action")
    compiled_methods = frozenset({"contact_cost"})

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity and health, minus the costs of controls and contacts."""
        s = simulation
        velocity = s.rate(center_of_mass(s))
        forward = s.parameter("forward_reward_weight") * velocity[0]
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = self.effort(s)
        contacts = self.pressure(s)
        positions = {
            "x_position": s.qpos[0],
            "y_position": s.qpos[1],
            "tendon_length": s.data.ten_length,
            "tendon_velocity": s.data.ten_velocity,
            "distance_from_origin": norm(s.qpos[:2]),
        }
        return Description(
            observation=self.observed(s),
            reward=(forward + survival) - (effort + contacts),
            terminated=self.ending(s, healthy),
            infos={
                **positions,
                "x_velocity": velocity[0],
                "y_velocity": velocity[1],
                "reward_survive": survival,
                "reward_forward": forward,
                "reward_ctrl": -effort,
                "reward_contact": -contacts,
            },
            reset_infos=positions,
            **uniform_start(s),
        )

    def health(self, simulation: Simulation) -> Quantity:
        """Return whether the torso's height is in `healthy_z_range`."""
        low, high = simulation.bounds("healthy_z_range")
        return within(low, simulation.qpos[2], high)

    def pressure(self, simulation: Simulation) -> Quantity:
        """Return the cost of contacts."""
        return self.cost_of_contacts(simulation, "contact_cost")

    @property
    def contact_cost(self) -> np.float64:
        """The cost of the current contacts."""
        cost: np.float64 = self.value_of(self.pressure)[0]
        return cost


HumanoidVectorEnv = MujocoVectorEnv.of(HumanoidEnv)
