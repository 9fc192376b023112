"""Walker2d-v4: another healthy reward, fewer infos, and less friction of the right foot."""

from __future__ import annotations

from gymcore.envs.mujoco import walker2d_v5
from gymcore.envs.mujoco.tasks import PlanarWalkerV4
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.envs.mujoco.walker2d_v5 import DEFAULT_CAMERA_CONFIG as DEFAULT_CAMERA_CONFIG


class Walker2dEnv(PlanarWalkerV4, walker2d_v5.Walker2dEnv, render_fps=125, xml_file="walker2d.xml"):
    """The walker of Walker2d-v5; the last step of an episode also gets the healthy reward."""


Walker2dVectorEnv = MujocoVectorEnv.of(Walker2dEnv)
