"""`gym.envs` of Gym 0.21: its registry; the environments are today's."""

from gymcore.compat.gym21.envs import registration
from gymcore.compat.gym21.envs.registration import make, register, registry, spec

__all__ = ["make", "register", "registration", "registry", "spec"]
