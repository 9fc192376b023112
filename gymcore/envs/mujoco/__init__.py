"""MuJoCo: the base class of environments on it, and rendering. The package mujoco is imported lazily."""

from gymcore.envs.mujoco.mujoco_env import MujocoEnv
from gymcore.envs.mujoco.mujoco_rendering import MujocoRenderer

__all__ = ["MujocoEnv", "MujocoRenderer"]
