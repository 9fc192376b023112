"""Hopper-v4: as Hopper-v5 was before."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import hopper_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.hopper_v5 import DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import PlanarWalker, PlanarWalkerV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HopperEnv(PlanarWalkerV4, hopper_v5.HopperEnv):
    """The hopper of Hopper-v5, with the healthy bonus also in the last step of an episode."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 125}  # noqa: RUF012

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
        """Make a Hopper; the arguments are those of Hopper-v5."""
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


HopperVectorEnv = MujocoVectorEnv.of(HopperEnv)
