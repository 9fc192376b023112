"""Hopper-v4: as Hopper-v5 was before."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import hopper_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.hopper_v5 import DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import PlanarWalkerV4, constructor
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HopperEnv(PlanarWalkerV4, hopper_v5.HopperEnv):
    """The hopper of Hopper-v5, with the healthy bonus also in the last step of an episode."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 125}  # noqa: RUF012
    observation_structure: Any = None

    __init__ = constructor(
        {"xml_file": "hopper.xml", "frame_skip": 4, "default_camera_config": DEFAULT_CAMERA_CONFIG},
        forward_reward_weight=1.0,
        ctrl_cost_weight=1e-3,
        healthy_reward=1.0,
        terminate_when_unhealthy=True,
        healthy_state_range=(-100.0, 100.0),
        healthy_z_range=(0.7, float("inf")),
        healthy_angle_range=(-0.2, 0.2),
        reset_noise_scale=5e-3,
        exclude_current_positions_from_observation=True,
    )


HopperVectorEnv = MujocoVectorEnv.of(HopperEnv)
