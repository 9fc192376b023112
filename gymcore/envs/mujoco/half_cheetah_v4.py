"""HalfCheetah-v4: HalfCheetah-v5 with the info `reward_run` instead of `reward_forward`."""

from __future__ import annotations

from dataclasses import replace

from gymcore.envs.mujoco import half_cheetah_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.half_cheetah_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HalfCheetahEnv(Version4, half_cheetah_v5.HalfCheetahEnv, render_fps=20):
    """The cheetah of HalfCheetah-v5."""

    def describe(self, simulation: Simulation) -> Description:
        """Describe HalfCheetah-v5, without infos of resets."""
        described = super().describe(simulation)
        infos = {
            "reward_run" if name == "reward_forward" else name: value
            for name, value in described.infos.items()
        }
        return replace(described, infos=infos, reset_infos={})


HalfCheetahVectorEnv = MujocoVectorEnv.of(HalfCheetahEnv)
