"""The classic control problems, compiled: CartPole, MountainCar, Pendulum, Acrobot."""

from gymcore.envs.classic_control.acrobot import AcrobotEnv
from gymcore.envs.classic_control.cartpole import CartPoleEnv
from gymcore.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv
from gymcore.envs.classic_control.mountain_car import MountainCarEnv
from gymcore.envs.classic_control.pendulum import PendulumEnv

__all__ = [
    "AcrobotEnv",
    "CartPoleEnv",
    "Continuous_MountainCarEnv",
    "MountainCarEnv",
    "PendulumEnv",
]
