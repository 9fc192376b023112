"""HalfCheetah-v4: as HalfCheetah-v5, with another name in its infos."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymcore.envs.mujoco import half_cheetah_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {"distance": 4.0}


class HalfCheetahEnv(half_cheetah_v5.HalfCheetahEnv):
    """The cheetah of HalfCheetah-v5.

    Example:
        >>> HalfCheetahEnv().metadata["render_fps"]
        20
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
        "render_fps": 20,
    }

    def __init__(
        self,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 0.1,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make a HalfCheetah.

        Args:
            forward_reward_weight: of the velocity.
            ctrl_cost_weight: of the squared action.
            reset_noise_scale: of the initial state.
            exclude_current_positions_from_observation: whether x is left out.
            **kwargs: see `CompiledMujocoEnv`.
        """
        self._exclude_current_positions_from_observation = (
            exclude_current_positions_from_observation
        )
        CompiledMujocoEnv.__init__(
            self,
            "half_cheetah.xml",
            5,
            default_camera_config=DEFAULT_CAMERA_CONFIG,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            reset_noise_scale=reset_noise_scale,
            **kwargs,
        )

    def describe(self, simulation: Simulation) -> Description:
        """As HalfCheetah-v5, without infos of resets."""
        described = super().describe(simulation)
        infos = {
            "reward_run" if name == "reward_forward" else name: value
            for name, value in described.infos.items()
        }
        return replace(described, infos=infos, reset_infos={})


class HalfCheetahVectorEnv(MujocoVectorEnv):
    """Many HalfCheetahs in one batch."""

    env_class = HalfCheetahEnv
