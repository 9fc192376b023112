"""Swimmer-v4: as Swimmer-v5, with other names in its infos."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymcore.envs.mujoco import swimmer_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class SwimmerEnv(swimmer_v5.SwimmerEnv):
    """The swimmer of Swimmer-v5."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 25}  # noqa: RUF012

    def __init__(
        self,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-4,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a Swimmer; the arguments are those of Swimmer-v5."""
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        CompiledMujocoEnv.__init__(
            self,
            "swimmer.xml",
            4,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )

    def describe(self, simulation: Simulation) -> Description:
        """As Swimmer-v5, without infos of resets."""
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
