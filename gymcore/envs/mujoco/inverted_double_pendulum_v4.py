"""InvertedDoublePendulum-v4: another reward, longer observations and no infos."""

from __future__ import annotations

from dataclasses import replace

from gymcore.envs.mujoco import inverted_double_pendulum_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.inverted_double_pendulum_v5 import (
    DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG,
)
from gymcore.envs.mujoco.quantities import Quantity, as_quantity, clip
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class InvertedDoublePendulumEnv(
    Version4,
    inverted_double_pendulum_v5.InvertedDoublePendulumEnv,
    render_fps=20,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    arguments=(),
):
    """The poles of InvertedDoublePendulum-v5; the step of the fall also gets the healthy reward."""

    def describe(self, simulation: Simulation) -> Description:
        """Describe InvertedDoublePendulum-v5, healthy in every step, and without infos."""
        described = super().describe(simulation)
        infos = {name: as_quantity(value) for name, value in described.infos.items()}
        reward = (simulation.parameter("healthy_reward") + infos["distance_penalty"]) + infos[
            "velocity_penalty"
        ]
        return replace(described, reward=reward, infos={}, number_types={})

    def constraint_forces(self, simulation: Simulation) -> Quantity:
        """Return the observed constraint forces: those of all joints."""
        return clip(simulation.data.qfrc_constraint, -10.0, 10.0)


InvertedDoublePendulumVectorEnv = MujocoVectorEnv.of(InvertedDoublePendulumEnv)
