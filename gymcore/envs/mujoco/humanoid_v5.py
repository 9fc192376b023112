"""Humanoid-v5: a body on two legs that is to run forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.description import Description, Simulation, uniform_start
from gymcore.envs.mujoco.quantities import Quantity, norm, total, weighted_rows
from gymcore.envs.mujoco.tasks import ControlCost, Health, HumanoidBody, within
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Bonus, Range, Scale, Switch, Weight

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 1,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 2.0)),
    "elevation": -20.0,
}


def mass_center(model: Any, data: Any) -> npt.NDArray[np.float64]:
    """Where the center of mass is in the plane.

    Args:
        model: a `mujoco.MjModel`.
        data: its `mujoco.MjData`.

    Returns:
        x and y [2] float64, a new array.
    """
    mass = model.body_mass[:, None]
    center: npt.NDArray[np.float64] = ((mass * data.xipos).sum(axis=0) / mass.sum())[:2]
    return center.copy()


def center_of_mass(simulation: Simulation) -> Quantity:
    """Where the center of mass is in the plane [2]."""
    mass = simulation.model.body_mass
    return (weighted_rows(mass, simulation.data.xipos) / total(mass))[:2]


class HumanoidEnv(ControlCost, HumanoidBody, Health):
    """A body of thirteen parts on two legs is rewarded for running to the right.

    Tassa, Erez and Todorov (2012). See docs/environments/mujoco.md for the figures.

    Example:
        >>> env = HumanoidEnv(include_cinert_in_observation=False)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, info["tendon_length"].shape
        ((218,), True, (2,))
    """

    forward_reward_weight = Weight()
    ctrl_cost_weight = Weight()
    contact_cost_weight = Weight()
    contact_cost_range = Range()
    healthy_reward = Bonus()
    terminate_when_unhealthy = Switch()
    healthy_z_range = Range()
    reset_noise_scale = Scale()

    def __init__(
        self,
        xml_file: str = "humanoid.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] = DEFAULT_CAMERA_CONFIG,
        forward_reward_weight: float = 1.25,
        ctrl_cost_weight: float = 0.1,
        contact_cost_weight: float = 5e-7,
        contact_cost_range: tuple[float, float] = (float("-inf"), 10.0),
        healthy_reward: float = 5.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (1.0, 2.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a Humanoid.

        Args:
            xml_file: the model's file, see `expand_model_path`.
            frame_skip: simulation steps in one step.
            default_camera_config: attributes of the free camera.
            forward_reward_weight: weight of the velocity.
            ctrl_cost_weight: weight of the squared action.
            contact_cost_weight: weight of the squared contact forces.
            contact_cost_range: bounds of the cost of contacts.
            healthy_reward: reward of a healthy step.
            terminate_when_unhealthy: whether the episode ends when it is unhealthy.
            healthy_z_range: heights at which it is healthy.
            reset_noise_scale: scale of the noise of the initial state.
            exclude_current_positions_from_observation: whether x and y are left out.
            include_cinert_in_observation: whether inertias are observed.
            include_cvel_in_observation: whether velocities of bodies are observed.
            include_qfrc_actuator_in_observation: whether forces of actuators are observed.
            include_cfrc_ext_in_observation: whether contact forces are observed.
            **kwargs: see `CompiledMujocoEnv`.
        """
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        self._include_cinert_in_observation = include_cinert_in_observation
        self._include_cvel_in_observation = include_cvel_in_observation
        self._include_qfrc_actuator_in_observation = include_qfrc_actuator_in_observation
        self._include_cfrc_ext_in_observation = include_cfrc_ext_in_observation
        super().__init__(
            xml_file,
            frame_skip,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            contact_cost_weight=contact_cost_weight,
            contact_cost_range=contact_cost_range,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )
        self.observation_structure = self._structure()

    def describe(self, simulation: Simulation) -> Description:
        """Velocity of the center of mass and health minus effort and contacts."""
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
        """Whether the torso is neither low nor high."""
        low, high = simulation.bounds("healthy_z_range")
        return within(low, simulation.qpos[2], high)

    def pressure(self, simulation: Simulation) -> Quantity:
        """The cost of contacts."""
        return self.cost_of_contacts(simulation, "contact_cost")

    @property
    def contact_cost(self) -> float:
        """The cost of the current contacts."""
        return float(self.value_of(self.pressure)[0])


HumanoidVectorEnv = MujocoVectorEnv.of(HumanoidEnv)
