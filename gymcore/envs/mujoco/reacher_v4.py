"""Reacher-v4: the costs are those of the state before the step."""

from __future__ import annotations

from gymcore.envs.mujoco import reacher_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import before, norm, square, total
from gymcore.envs.mujoco.reacher_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class ReacherEnv(Version4, reacher_v5.ReacherEnv, render_fps=50, arguments=()):
    """The arm of Reacher-v5, which also observes the difference in height to the target."""

    def describe(self, simulation: Simulation) -> Description:
        """Penalize the distance before the step, and the action."""
        s = simulation
        gap = s.body_position("fingertip") - s.body_position("target")
        distance = -before(norm(gap))
        effort = -total(square(s.action()))
        return Description(
            observation=[*self.joints(s), gap],
            reward=distance + effort,
            infos={"reward_dist": distance, "reward_ctrl": effort},
            **self.start(s),
        )


ReacherVectorEnv = MujocoVectorEnv.of(ReacherEnv)
