"""HalfCheetah-v4: as HalfCheetah-v5, with another name in its infos."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymcore.envs.mujoco import half_cheetah_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.half_cheetah_v5 import DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import constructor
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HalfCheetahEnv(half_cheetah_v5.HalfCheetahEnv):
    """The cheetah of HalfCheetah-v5."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 20}  # noqa: RUF012
    observation_structure: Any = None

    __init__ = constructor(
        {
            "xml_file": "half_cheetah.xml",
            "frame_skip": 5,
            "default_camera_config": DEFAULT_CAMERA_CONFIG,
        },
        forward_reward_weight=1.0,
        ctrl_cost_weight=0.1,
        reset_noise_scale=0.1,
        exclude_current_positions_from_observation=True,
    )

    def describe(self, simulation: Simulation) -> Description:
        """As HalfCheetah-v5, without infos of resets."""
        described = super().describe(simulation)
        infos = {
            "reward_run" if name == "reward_forward" else name: value
            for name, value in described.infos.items()
        }
        return replace(described, infos=infos, reset_infos={})


HalfCheetahVectorEnv = MujocoVectorEnv.of(HalfCheetahEnv)
