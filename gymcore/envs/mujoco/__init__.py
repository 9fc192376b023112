"""MuJoCo: the base class of its environments, and rendering; mujoco itself is imported lazily."""

from gymcore.envs.mujoco.mujoco_env import MujocoEnv
from gymcore.envs.mujoco.mujoco_rendering import MujocoRenderer

__all__ = ["MujocoEnv", "MujocoRenderer"]
