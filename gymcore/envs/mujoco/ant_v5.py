"""Ant-v5: a body with four legs runs forward."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gymcore.envs.mujoco.description import Description, Simulation, normal_start
from gymcore.envs.mujoco.quantities import Quantity, clip, every, finite, norm, square, total
from gymcore.envs.mujoco.tasks import ActionCost, Health
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {"distance": 4.0}


class AntEnv(
    ActionCost,
    Health,
    xml_file="ant.xml",
    frame_skip=5,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    forward_reward_weight=1,
    ctrl_cost_weight=0.5,
    contact_cost_weight=5e-4,
    healthy_reward=1.0,
    main_body=1,
    terminate_when_unhealthy=True,
    healthy_z_range=(0.2, 1.0),
    contact_force_range=(-1.0, 1.0),
    reset_noise_scale=0.1,
    exclude_current_positions_from_observation=True,
    include_cfrc_ext_in_observation=True,
):
    """A body with four legs of two joints each is rewarded for running in the direction of +x.

    Schulman, Moritz, Levine, Jordan and Abbeel (2015). docs/environments/mujoco/ant.md describes
    observations, actions, rewards and arguments.

    Examples:
        >>> env = AntEnv(healthy_z_range=(0.3, 1.0))
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, sorted(info)
        ((105,), True, ['distance_from_origin', 'x_position', 'y_position'])
    """

    reward_arguments = ("x_velocity", "action")
    compiled_methods = frozenset({"contact_cost", "contact_forces", "state_vector"})
    coordinates = 2
    _main_body: int | str
    _include_cfrc_ext_in_observation: bool
    _contact_cost_weight: float

    def __init_subclass__(cls, **defaults: object) -> None:
        super().__init_subclass__(**defaults)
        if "contact_forces" in cls.in_python:
            cls._observe = cls._observe_step = cls._get_obs

    @cached_property
    def observation_structure(self) -> dict[str, int] | None:
        """Count of numbers of each kind in an observation."""
        contacts = self.data.cfrc_ext[1:].size * self._include_cfrc_ext_in_observation
        return {**self.joint_structure(), "cfrc_ext": contacts}

    def describe(self, simulation: Simulation) -> Description:
        """Reward velocity and health, minus the costs of the action and of contacts."""
        s = simulation
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
            observation=[s.qpos[self.skipped :], s.qvel, observed],
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
        """Return whether the state is finite and the torso's height is in `healthy_z_range`."""
        s = simulation
        low, high = s.bounds("healthy_z_range")
        height = s.positions[2]
        is_finite = every(finite(s.positions)) & every(finite(s.velocities))
        return is_finite & (low <= height) & (height <= high)

    def forces(self, simulation: Simulation) -> Quantity:
        """Return clipped forces and torques of contacts on all bodies [6 * nbody]."""
        return clip(simulation.data.cfrc_ext, *simulation.bounds("contact_force_range"))

    def pressure(self, simulation: Simulation) -> Quantity:
        """Return the cost of contacts."""
        forces = self.forces(simulation)
        return simulation.parameter("contact_cost_weight") * total(square(forces))

    def _get_obs(self) -> npt.NDArray[np.float64]:
        """Return the observation, which ends with the forces of an override if it has forces."""
        observation = super()._get_obs()
        if "contact_forces" in self.in_python:
            forces = np.ravel(self.contact_forces)
            contact_part = observation[self.model.nq - self.skipped + self.model.nv :]
            contact_part[:] = forces[forces.size - contact_part.size :]
        return observation

    @property
    def contact_forces(self) -> npt.NDArray[np.float64]:
        """Clipped forces and torques of contacts, a new float64 array [nbody, 6]."""
        return self.value_of(self.forces).reshape(-1, 6)

    @property
    def contact_cost(self) -> np.float64:
        """The cost of the current contacts."""
        cost: np.float64 = self._contact_cost_weight * np.sum(np.square(self.contact_forces))
        return cost


AntVectorEnv = MujocoVectorEnv.of(AntEnv)
