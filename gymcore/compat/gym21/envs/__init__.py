"""`gym.envs` of Gym 0.21: its registry, with the current environments."""

from gymcore.compat.gym21.envs import registration
from gymcore.compat.gym21.envs.registration import make, register, registry, spec
from gymcore.envs import classic_control, toy_text

__all__ = ["classic_control", "make", "register", "registration", "registry", "spec", "toy_text"]
