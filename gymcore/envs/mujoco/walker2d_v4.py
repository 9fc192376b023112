"""Walker2d-v4: as Walker2d-v5 was before, with less friction under the right foot."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.envs.mujoco import walker2d_v5
from gymcore.envs.mujoco.tasks import PlanarWalker, PlanarWalkerV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 2,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class Walker2dEnv(PlanarWalkerV4, walker2d_v5.Walker2dEnv):
    """The walker of Walker2d-v5 whose bonus is paid whenever unhealth ends the episode.

    Example:
        >>> Walker2dEnv().metadata["render_fps"]
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
        healthy_z_range: tuple[float, float] = (0.8, 2.0),
        healthy_angle_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a Walker2d.

        Args:
            forward_reward_weight: of the velocity.
            ctrl_cost_weight: of the squared action.
            healthy_reward: of a step in which it is healthy.
            terminate_when_unhealthy: whether the episode ends when it is not.
            healthy_z_range: heights at which it is healthy.
            healthy_angle_range: angles of the torso at which it is healthy.
            reset_noise_scale: of the initial state.
            exclude_current_positions_from_observation: whether x is left out.
            **kwargs: see `CompiledMujocoEnv`.
        """
        PlanarWalker.__init__(
            self,
            "walker2d.xml",
            4,
            exclude_current_positions_from_observation,
            default_camera_config=DEFAULT_CAMERA_CONFIG,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            healthy_angle_range=healthy_angle_range,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )


class Walker2dVectorEnv(MujocoVectorEnv):
    """Many Walker2ds in one batch."""

    env_class = Walker2dEnv
