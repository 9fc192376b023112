"""MuJoCo environments: their base class and rendering; the package mujoco is imported lazily."""

from gymcore.envs.mujoco.mujoco_env import MujocoEnv
from gymcore.envs.mujoco.mujoco_rendering import MujocoRenderer

__all__ = ["MujocoEnv", "MujocoRenderer"]
