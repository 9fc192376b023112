"""HumanoidStandup-v4: fixed weights, longer observations and fewer infos."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymcore.envs.mujoco import humanoidstandup_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.humanoidstandup_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import constructor_v4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HumanoidStandupEnv(humanoidstandup_v5.HumanoidStandupEnv):
    """The humanoid of HumanoidStandup-v5."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 67}  # noqa: RUF012
    observation_structure: Any = None

    uph_cost_weight: Any = 1.0
    ctrl_cost_weight: Any = 0.1
    impact_cost_weight: Any = 0.5e-6
    impact_cost_range: Any = (float("-inf"), 10.0)
    reset_noise_scale: Any = 1e-2

    __init__ = constructor_v4(humanoidstandup_v5.HumanoidStandupEnv, ())

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
