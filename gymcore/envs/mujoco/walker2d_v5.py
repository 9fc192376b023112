"""Walker2d-v5: two legs in a plane walk forward."""

from __future__ import annotations

import numpy as np

from gymcore.envs.mujoco.tasks import PlanarWalker
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 2,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class Walker2dEnv(
    PlanarWalker,
    xml_file="walker2d_v5.xml",
    frame_skip=4,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    forward_reward_weight=1.0,
    ctrl_cost_weight=1e-3,
    healthy_reward=1.0,
    terminate_when_unhealthy=True,
    healthy_z_range=(0.8, 2.0),
    healthy_angle_range=(-1.0, 1.0),
    reset_noise_scale=5e-3,
    exclude_current_positions_from_observation=True,
):
    """A planar torso with two legs of three joints each is rewarded for walking to the right.

    Erez, Tassa and Todorov (2011). docs/environments/mujoco/walker2d.md describes observations,
    actions, rewards and arguments.

    Examples:
        >>> env = Walker2dEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, env.healthy_reward
        ((17,), True, 1.0)
    """


Walker2dVectorEnv = MujocoVectorEnv.of(Walker2dEnv)
