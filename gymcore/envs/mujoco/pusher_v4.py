"""Pusher-v4: another model; the costs are those of the state before the step."""

from __future__ import annotations

from dataclasses import replace

from gymcore.envs.mujoco import pusher_v5
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.pusher_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.quantities import before, norm, square, total
from gymcore.envs.mujoco.tasks import Version4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class PusherEnv(Version4, pusher_v5.PusherEnv, render_fps=20, xml_file="pusher.xml", arguments=()):
    """The arm of Pusher-v5, with the model of earlier versions."""

    def describe(self, simulation: Simulation) -> Description:
        """Penalize distances before the step and the action; infos have them without weights."""
        s = simulation
        tip, cylinder, goal = map(s.body_position, ("tips_arm", "object", "goal"))
        near = -before(norm(cylinder - tip))
        distance = -before(norm(cylinder - goal))
        effort = -total(square(s.action()))
        return replace(
            super().describe(s),
            reward=(distance + 0.1 * effort) + 0.5 * near,
            infos={"reward_dist": distance, "reward_ctrl": effort},
        )


PusherVectorEnv = MujocoVectorEnv.of(PusherEnv)
