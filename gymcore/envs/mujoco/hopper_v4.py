"""Hopper-v4: Hopper-v5 with fewer infos and another healthy reward."""

from __future__ import annotations

from typing import Any

from gymcore.envs.mujoco import hopper_v5
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.hopper_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG
from gymcore.envs.mujoco.tasks import PlanarWalkerV4, constructor_v4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv


class HopperEnv(PlanarWalkerV4, hopper_v5.HopperEnv):
    """The hopper of Hopper-v5; the last step of an episode also gets the healthy reward."""

    metadata = {**CompiledMujocoEnv.metadata, "render_fps": 125}  # noqa: RUF012
    observation_structure: Any = None

    __init__ = constructor_v4(hopper_v5.HopperEnv)


HopperVectorEnv = MujocoVectorEnv.of(HopperEnv)
