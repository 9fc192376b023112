"""Hopper-v5: one leg that is to hop forward."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.envs.mujoco.description import Simulation
from gymcore.envs.mujoco.quantities import Quantity, every, joined
from gymcore.envs.mujoco.tasks import PlanarWalker, within
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.weights import Range

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 2,
    "distance": 3.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class HopperEnv(PlanarWalker):
    """A torso on one leg of three joints, in a plane, is rewarded for hopping to the right.

    Erez, Tassa and Todorov (2011). See docs/environments/mujoco.md for the figures.

    Example:
        >>> env = HopperEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, env.healthy_reward
        ((11,), True, 1.0)
    """

    healthy_state_range = Range()

    def __init__(
        self,
        xml_file: str = "hopper.xml",
        frame_skip: int = 4,
        default_camera_config: dict[str, Any] = DEFAULT_CAMERA_CONFIG,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_state_range: tuple[float, float] = (-100.0, 100.0),
        healthy_z_range: tuple[float, float] = (0.7, float("inf")),
        healthy_angle_range: tuple[float, float] = (-0.2, 0.2),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a Hopper.

        Args:
            xml_file: the model's file, see `expand_model_path`.
            frame_skip: simulation steps in one step.
            default_camera_config: attributes of the free camera.
            forward_reward_weight: weight of the velocity.
            ctrl_cost_weight: weight of the squared action.
            healthy_reward: reward of a healthy step.
            terminate_when_unhealthy: whether the episode ends when it is unhealthy.
            healthy_state_range: all other positions and velocities at which it is healthy.
            healthy_z_range: heights at which it is healthy.
            healthy_angle_range: angles of the torso at which it is healthy.
            reset_noise_scale: scale of the noise of the initial state.
            exclude_current_positions_from_observation: whether x is left out.
            **kwargs: see `CompiledMujocoEnv`.
        """
        super().__init__(
            xml_file,
            frame_skip,
            exclude_current_positions_from_observation,
            default_camera_config=default_camera_config,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_state_range=healthy_state_range,
            healthy_z_range=healthy_z_range,
            healthy_angle_range=healthy_angle_range,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )
        self.observation_structure = self._structure()

    def health(self, simulation: Simulation) -> Quantity:
        """Whether the torso is high and upright, and everything else within bounds."""
        s = simulation
        min_state, max_state = s.bounds("healthy_state_range")
        return every(within(min_state, joined(s.qpos[2:], s.qvel), max_state)) & super().health(s)


HopperVectorEnv = MujocoVectorEnv.of(HopperEnv)
