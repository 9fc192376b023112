"""HumanoidStandup-v4: fixed weights, longer observations and fewer infos."""

from __future__ import annotations

from dataclasses import replace

from gymcore.envs.mujoco import humanoidstandup_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.humanoidstandup_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HumanoidStandupEnv(
    Version4, humanoidstandup_v5.HumanoidStandupEnv, render_fps=67, arguments=()
):
    """The humanoid of HumanoidStandup-v5."""

    def describe(self, simulation: Simulation) -> Description:
        """Describe HumanoidStandup-v5, with longer observations and fewer infos."""
        described = super().describe(simulation)
        names = ("reward_linup", "reward_quadctrl", "reward_impact")
        return replace(
            described,
            observation=self.observed_v4(simulation),
            infos={name: described.infos[name] for name in names},
            reset_infos={},
        )


HumanoidStandupVectorEnv = MujocoVectorEnv.of(HumanoidStandupEnv)
