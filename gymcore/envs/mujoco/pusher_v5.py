"""Pusher-v5: an arm pushes a cylinder to its goal."""

from __future__ import annotations

import numpy as np

from gymcore.envs.mujoco.description import Description, Simulation, Start
from gymcore.envs.mujoco.quantities import joined, norm, square, total, uniform
from gymcore.envs.mujoco.tasks import Task
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": -1,
    "distance": 4.0,
}


class PusherEnv(
    Task,
    xml_file="pusher_v5.xml",
    frame_skip=5,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    reward_near_weight=0.5,
    reward_dist_weight=1,
    reward_control_weight=0.1,
):
    """An arm of seven joints is rewarded for moving a cylinder to a goal with its hand.

    docs/environments/mujoco/pusher.md describes observations, actions, rewards and arguments.

    Examples:
        >>> env = PusherEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.dt
        ((23,), 0.05)
    """

    reward_arguments = ("action",)
    compiled_methods = frozenset({"get_body_com"})

    def describe(self, simulation: Simulation) -> Description:
        """Penalize the distances after the step, and the action."""
        s = simulation
        tip, cylinder, goal = map(s.body_position, ("tips_arm", "object", "goal"))
        near = -norm(cylinder - tip) * s.parameter("reward_near_weight")
        distance = -norm(cylinder - goal) * s.parameter("reward_dist_weight")
        effort = -total(square(s.action())) * s.parameter("reward_control_weight")
        return Description(
            observation=[s.qpos[:7], s.qvel[:7], tip, cylinder, goal],
            reward=(distance + effort) + near,
            infos={"reward_dist": distance, "reward_ctrl": effort, "reward_near": near},
            **self.start(s),
        )

    def start(self, simulation: Simulation) -> Start:
        """Return the initial state: the arm at rest, the cylinder away from the goal."""
        s = simulation
        cylinder = uniform([-0.3, -0.2], [0.0, 0.2], 2).until(lambda xy: norm(xy) > 0.17)
        velocities = s.init_qvel + uniform(-0.005, 0.005, s.nv)
        return {
            "qpos": joined(s.init_qpos[: s.nq - 4], cylinder, [0.0, 0.0]),
            "qvel": joined(velocities[: s.nv - 4], np.zeros(4)),
        }


PusherVectorEnv = MujocoVectorEnv.of(PusherEnv)
