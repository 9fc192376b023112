"""InvertedPendulum-v4: InvertedPendulum-v5, with a reward also for the step of the fall."""

from __future__ import annotations

from dataclasses import replace

from gymcore.envs.mujoco import inverted_pendulum_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.inverted_pendulum_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class InvertedPendulumEnv(
    Version4, inverted_pendulum_v5.InvertedPendulumEnv, render_fps=25, arguments=()
):
    """The pole of InvertedPendulum-v5."""

    def describe(self, simulation: Simulation) -> Description:
        """Describe InvertedPendulum-v5, with a reward of 1 in every step, and without infos."""
        described = super().describe(simulation)
        return replace(described, reward=1.0, infos={}, number_types={"reward": float})


InvertedPendulumVectorEnv = MujocoVectorEnv.of(InvertedPendulumEnv)
