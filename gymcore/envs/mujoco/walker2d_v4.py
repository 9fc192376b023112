"""Walker2d-v4: as Walker2d-v5 was before, with less friction under the right foot."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import walker2d_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.tasks import PlanarWalker, PlanarWalkerV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.walker2d_v5 import DEFAULT_CAMERA_CONFIG


class Walker2dEnv(PlanarWalkerV4, walker2d_v5.Walker2dEnv):
    """The walker of Walker2d-v5, with the healthy bonus also in the last step of an episode."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 125}  # noqa: RUF012

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
        """Make a Walker2d; the arguments are those of Walker2d-v5."""
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


Walker2dVectorEnv = MujocoVectorEnv.of(Walker2dEnv)
