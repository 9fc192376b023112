"""Pusher-v4: another model; the costs are those of the state before the step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymcore.envs.mujoco import pusher_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.pusher_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.quantities import before, norm, square, total
from gymcore.envs.mujoco.tasks import constructor_v4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class PusherEnv(pusher_v5.PusherEnv):
    """The arm of Pusher-v5, with the model of earlier versions."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 20}  # noqa: RUF012

    reward_near_weight: Any = 0.5
    reward_dist_weight: Any = 1.0
    reward_control_weight: Any = 0.1

    __init__ = constructor_v4(pusher_v5.PusherEnv, (), xml_file="pusher.xml")

    def describe(self, simulation: Simulation) -> Description:
        """Penalize distances before the step and the action; infos have them without weights."""
        s = simulation
        tip, thing, goal = map(s.body_position, ("tips_arm", "object", "goal"))
        near = -before(norm(thing - tip))
        distance = -before(norm(thing - goal))
        effort = -total(square(s.action()))
        return replace(
            super().describe(s),
            reward=(distance + 0.1 * effort) + 0.5 * near,
            infos={"reward_dist": distance, "reward_ctrl": effort},
        )


PusherVectorEnv = MujocoVectorEnv.of(PusherEnv)
