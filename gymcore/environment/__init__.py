"""Tensorforce's environment interface for all kinds of environments."""

from gymcore.environment.environment import (
    Environment,
    EnvironmentWrapper,
    GymEnvironment,
    RemoteEnvironment,
)
from gymcore.environment.gym_envs import EnvironmentEnv

__all__ = [
    "Environment",
    "EnvironmentEnv",
    "EnvironmentWrapper",
    "GymEnvironment",
    "RemoteEnvironment",
]
