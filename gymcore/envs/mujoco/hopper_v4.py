"""Hopper-v4: as Hopper-v5 was before."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.envs.mujoco import hopper_v5
from gymcore.envs.mujoco.tasks import PlanarWalker, PlanarWalkerV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 2,
    "distance": 3.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class HopperEnv(PlanarWalkerV4, hopper_v5.HopperEnv):
    """The hopper of Hopper-v5 whose bonus is paid whenever unhealth ends the episode.

    Example:
        >>> HopperEnv().metadata["render_fps"]
        125
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
        "render_fps": 125,
    }

    def __init__(
        self,
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
            forward_reward_weight: of the velocity.
            ctrl_cost_weight: of the squared action.
            healthy_reward: of a step in which it is healthy.
            terminate_when_unhealthy: whether the episode ends when it is not.
            healthy_state_range: all other positions and velocities at which it is healthy.
            healthy_z_range: heights at which it is healthy.
            healthy_angle_range: angles of the torso at which it is healthy.
            reset_noise_scale: of the initial state.
            exclude_current_positions_from_observation: whether x is left out.
            **kwargs: see `CompiledMujocoEnv`.
        """
        PlanarWalker.__init__(
            self,
            "hopper.xml",
            4,
            exclude_current_positions_from_observation,
            default_camera_config=DEFAULT_CAMERA_CONFIG,
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


class HopperVectorEnv(MujocoVectorEnv):
    """Many Hoppers in one batch."""

    env_class = HopperEnv
