"""`gym.envs` of Gym 0.26: its registry, with the current environments."""

from gymcore.compat.gym26.envs import registration
from gymcore.compat.gym26.envs.registration import load, make, register, registry, spec
from gymcore.envs import classic_control, toy_text

__all__ = [
    "classic_control",
    "load",
    "make",
    "register",
    "registration",
    "registry",
    "spec",
    "toy_text",
]
