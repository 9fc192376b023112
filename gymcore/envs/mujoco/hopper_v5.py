"""Hopper-v5: one leg hops forward."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.quantities import Quantity, every, joined
from gymcore.envs.mujoco.tasks import PlanarWalker, within
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

DEFAULT_CAMERA_CONFIG = {
    "trackbodyid": 2,
    "distance": 3.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class HopperEnv(
    PlanarWalker,
    xml_file="hopper.xml",
    frame_skip=4,
    default_camera_config=DEFAULT_CAMERA_CONFIG,
    forward_reward_weight=1.0,
    ctrl_cost_weight=1e-3,
    healthy_reward=1.0,
    terminate_when_unhealthy=True,
    healthy_state_range=(-100.0, 100.0),
    healthy_z_range=(0.7, float("inf")),
    healthy_angle_range=(-0.2, 0.2),
    reset_noise_scale=5e-3,
    exclude_current_positions_from_observation=True,
):
    """A planar torso with one leg of three joints is rewarded for hopping to the right.

    Erez, Tassa and Todorov (2011). docs/environments/mujoco/hopper.md describes observations,
    actions, rewards and arguments.

    Examples:
        >>> env = HopperEnv()
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, env.is_healthy, env.healthy_reward
        ((11,), True, 1.0)
    """

    compiled_methods = frozenset({"state_vector"})

    def describe(self, simulation: Simulation) -> Description:
        """Describe a `PlanarWalker` whose survival reward is a Python float."""
        return replace(super().describe(simulation), number_types={"reward_survive": float})

    def health(self, simulation: Simulation) -> Quantity:
        """Return whether the torso is high and upright, and all other numbers are within bounds."""
        s = simulation
        min_state, max_state = s.bounds("healthy_state_range")
        others = joined(s.positions[2:], s.velocities)
        return every(within(min_state, others, max_state)) & super().health(s)


HopperVectorEnv = MujocoVectorEnv.of(HopperEnv)
