"""Swimmer-v4: Swimmer-v5 with other names in its infos."""

from __future__ import annotations

from dataclasses import replace

from gymcore.envs.mujoco import swimmer_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class SwimmerEnv(Version4, swimmer_v5.SwimmerEnv, render_fps=25):
    """The swimmer of Swimmer-v5."""

    def describe(self, simulation: Simulation) -> Description:
        """Describe Swimmer-v5, with other names of infos, and without infos of resets."""
        described = super().describe(simulation)
        infos = dict(described.infos)
        forward = infos.pop("reward_forward")
        infos = {
            "reward_fwd": forward,
            "reward_ctrl": infos.pop("reward_ctrl"),
            **infos,
            "forward_reward": forward,
        }
        return replace(described, infos=infos, reset_infos={})


SwimmerVectorEnv = MujocoVectorEnv.of(SwimmerEnv)
