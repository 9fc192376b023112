"""`gym.envs` of Gym 0.21: its registry, with the current environments."""

from gymcore.compat.gym21.envs import atari, box2d, classic_control, mujoco, registration, toy_text
from gymcore.compat.gym21.envs.registration import make, register, registry, spec

__all__ = [
    "atari",
    "box2d",
    "classic_control",
    "make",
    "mujoco",
    "register",
    "registration",
    "registry",
    "spec",
    "toy_text",
]
