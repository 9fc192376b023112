"""Hopper-v4: Hopper-v5 with fewer infos and another healthy reward."""

from __future__ import annotations

from gymcore.envs.mujoco import hopper_v5
from gymcore.envs.mujoco.hopper_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import PlanarWalkerV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HopperEnv(PlanarWalkerV4, hopper_v5.HopperEnv, render_fps=125):
    """The hopper of Hopper-v5; the last step of an episode also gets the healthy reward."""


HopperVectorEnv = MujocoVectorEnv.of(HopperEnv)
