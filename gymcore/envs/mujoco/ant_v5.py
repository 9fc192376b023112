"""Ant-v5: a body on four legs that is to run forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.quantities import Quantity, clip, every, finite, norm, square, total
from gymcore.envs.mujoco.tasks import ActionCost, Health, joint_structure
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Bonus, Range, Scale, Switch, Weight

DEFAULT_CAMERA_CONFIG = {"distance": 4.0}


class AntEnv(ActionCost, Health):
    """A body on four legs of two joints each is rewarded for running to the right.

    Schulman, Moritz, Levine, Jordan and Abbeel (2015). See docs/environments/mujoco.md for the
    figures.

    Example:
        >>> env = AntEnv(healthy_z_range=(0.3, 1.0))
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, sorted(info)
        ((105,), True, ['distance_from_origin', 'x_position', 'y_position'])
    """

    forward_reward_weight = Weight()
    ctrl_cost_weight = Weight()
    contact_cost_weight = Weight()
    healthy_reward = Bonus()
    terminate_when_unhealthy = Switch()
    healthy_z_range = Range()
    contact_force_range = Range()
    reset_noise_scale = Scale()

    def __init__(
        self,
        xml_file: str = "ant.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, float | int] = DEFAULT_CAMERA_CONFIG,
        forward_reward_weight: float = 1,
        ctrl_cost_weight: float = 0.5,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        main_body: int | str = 1,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make an Ant.

        Args:
            xml_file: the model's file, see `expand_model_path`.
            frame_skip: simulation steps in one step.
            default_camera_config: attributes of the free camera.
            forward_reward_weight: weight of the velocity.
            ctrl_cost_weight: weight of the squared action.
            contact_cost_weight: weight of the squared contact forces.
            healthy_reward: reward of a healthy step.
            main_body: number or name of the body whose velocity counts.
            terminate_when_unhealthy: whether the episode ends when it is unhealthy.
            healthy_z_range: heights at which it is healthy.
            contact_force_range: bounds that contact forces are clipped to.
            reset_noise_scale: scale of the noise of the initial state.
            exclude_current_positions_from_observation: whether x and y are left out.
            include_cfrc_ext_in_observation: whether contact forces are observed.
            **kwargs: see `CompiledMujocoEnv`.
        """
        self._main_body = main_body
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        self._include_cfrc_ext_in_observation = include_cfrc_ext_in_observation
        super().__init__(
            xml_file,
            frame_skip,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            contact_cost_weight=contact_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            contact_force_range=contact_force_range,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )
        skipped = 2 * exclude_current_positions_from_observation
        contacts = self.data.cfrc_ext[1:].size * include_cfrc_ext_in_observation
        self.observation_structure = joint_structure(self, skipped, cfrc_ext=contacts)

    def describe(self, simulation: Simulation) -> Description:
        """Velocity and health minus effort and contacts."""
        s = simulation
        skipped = 2 * self._exclude_current_positions_from_observation
        observed = self.forces(s)[6:] if self._include_cfrc_ext_in_observation else ()
        velocity = s.rate(s.body_position(self._main_body)[:2])
        forward = velocity[0] * s.parameter("forward_reward_weight")
        healthy = self.health(s)
        survival = self.survival(s, healthy)
        effort = self.effort(s)
        contacts = self.pressure(s)
        positions = {
            "x_position": s.qpos[0],
            "y_position": s.qpos[1],
            "distance_from_origin": norm(s.qpos[:2]),
        }
        return Description(
            observation=[s.qpos[skipped:], s.qvel, observed],
            reward=(forward + survival) - (effort + contacts),
            terminated=self.ending(s, healthy),
            infos={
                **positions,
                "x_velocity": velocity[0],
                "y_velocity": velocity[1],
                "reward_forward": forward,
                "reward_ctrl": -effort,
                "reward_contact": -contacts,
                "reward_survive": survival,
            },
            reset_infos=positions,
            **normal_start(s),
        )

    def health(self, simulation: Simulation) -> Quantity:
        """Whether all numbers are finite and the torso is neither low nor high."""
        s = simulation
        low, high = s.bounds("healthy_z_range")
        height = s.qpos[2]
        return every(finite(s.qpos)) & every(finite(s.qvel)) & (low <= height) & (height <= high)

    def forces(self, simulation: Simulation) -> Quantity:
        """Forces and torques of contacts on each body, within bounds [6 nbody]."""
        return clip(simulation.data.cfrc_ext, *simulation.bounds("contact_force_range"))

    def pressure(self, simulation: Simulation) -> Quantity:
        """The cost of contacts."""
        forces = self.forces(simulation)
        return simulation.parameter("contact_cost_weight") * total(square(forces))

    @property
    def contact_forces(self) -> npt.NDArray[np.float64]:
        """Forces and torques of contacts, within bounds [nbody, 6] float64, a new array."""
        return self.value_of(self.forces).reshape(-1, 6)

    @property
    def contact_cost(self) -> float:
        """The cost of the current contacts."""
        return float(self.value_of(self.pressure)[0])


AntVectorEnv = MujocoVectorEnv.of(AntEnv)
