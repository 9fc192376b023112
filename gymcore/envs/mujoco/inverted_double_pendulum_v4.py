"""InvertedDoublePendulum-v4: as InvertedDoublePendulum-v5 was before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gymcore.envs.mujoco import inverted_double_pendulum_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import Quantity, as_quantity, clip
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 0,
    "distance": 4.1225,
    "lookat": np.array((0.0, 0.0, 0.12250000000000005)),
}


class InvertedDoublePendulumEnv(inverted_double_pendulum_v5.InvertedDoublePendulumEnv):
    """The poles of InvertedDoublePendulum-v5, with the bonus also for the step in which they fall.

    Example:
        >>> InvertedDoublePendulumEnv().observation_space.shape
        (11,)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
        "render_fps": 20,
    }

    healthy_reward: Any = 10.0
    reset_noise_scale: Any = 0.1

    def __init__(
        self,
        **kwargs: Any,
    ) -> None:
        """Make an InvertedDoublePendulum.

        Args:
            **kwargs: see `CompiledMujocoEnv`.
        """
        CompiledMujocoEnv.__init__(
            self,
            "inverted_double_pendulum.xml",
            5,
            default_camera_config=DEFAULT_CAMERA_CONFIG,
            **kwargs,
        )

    def describe(self, simulation: Simulation) -> Description:
        """As InvertedDoublePendulum-v5, alive in every step, and without infos."""
        described = super().describe(simulation)
        infos = {name: as_quantity(value) for name, value in described.infos.items()}
        reward = (simulation.parameter("healthy_reward") + infos["distance_penalty"]) + infos[
            "velocity_penalty"
        ]
        return replace(described, reward=reward, infos={})

    def constraint_forces(self, simulation: Simulation) -> Quantity:
        """Forces of constraints that are observed: at all joints."""
        return clip(simulation.data.qfrc_constraint, -10.0, 10.0)


class InvertedDoublePendulumVectorEnv(MujocoVectorEnv):
    """Many InvertedDoublePendulums in one batch."""

    env_class = InvertedDoublePendulumEnv
