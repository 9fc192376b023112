"""Reacher-v5: a planar arm reaches a target."""

from __future__ import annotations

import numpy as np

from gymcore.envs.mujoco.description import Description, Simulation, Start
from gymcore.envs.mujoco.quantities import Quantity, cos, joined, norm, sin, square, total, uniform
from gymcore.envs.mujoco.tasks import Task
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG: dict[str, float] = {"trackbodyid": 0}


class ReacherEnv(
    Task,
    xml_file="reacher.xml",
    frame_skip=2,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    reward_dist_weight=1,
    reward_control_weight=1,
):
    """A planar arm of two joints is rewarded for moving its fingertip to a target.

    docs/environments/mujoco/reacher.md describes observations, actions, rewards and arguments.

    Examples:
        >>> env = ReacherEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.dt
        ((10,), 0.02)
    """

    reward_arguments = ("action",)
    compiled_methods = frozenset({"get_body_com"})

    def describe(self, simulation: Simulation) -> Description:
        """Penalize the distance after the step, and the action."""
        s = simulation
        gap = s.body_position("fingertip") - s.body_position("target")
        distance = -norm(gap) * s.parameter("reward_dist_weight")
        effort = -total(square(s.action())) * s.parameter("reward_control_weight")
        return Description(
            observation=[*self.joints(s), gap[:2]],
            reward=distance + effort,
            infos={"reward_dist": distance, "reward_ctrl": effort},
            **self.start(s),
        )

    def joints(self, simulation: Simulation) -> list[Quantity]:
        """Return the observed angles and velocities of the arm, and the target's position."""
        s = simulation
        angles = s.qpos[:2]
        return [cos(angles), sin(angles), s.qpos[2:], s.qvel[:2]]

    def start(self, simulation: Simulation) -> Start:
        """Return the initial state: the arm nearly straight, the target in reach."""
        s = simulation
        positions = uniform(-0.1, 0.1, s.nq)
        target = uniform(-0.2, 0.2, 2).until(lambda xy: norm(xy) < 0.2)
        velocities = s.init_qvel + uniform(-0.005, 0.005, s.nv)
        return {
            "draws": [positions, target],
            "qpos": joined((positions + s.init_qpos)[: s.nq - 2], target),
            "qvel": joined(velocities[: s.nv - 2], np.zeros(2)),
        }


ReacherVectorEnv = MujocoVectorEnv.of(ReacherEnv)
