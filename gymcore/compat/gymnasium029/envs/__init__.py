"""`gymnasium.envs` of 0.29: its registry, with the current environments."""

from gymcore.compat.gymnasium029.envs import registration
from gymcore.compat.gymnasium029.envs.registration import (
    load_plugin_envs,
    make,
    make_vec,
    pprint_registry,
    register,
    registry,
    spec,
)
from gymcore.envs import classic_control, toy_text

__all__ = [
    "classic_control",
    "load_plugin_envs",
    "make",
    "make_vec",
    "pprint_registry",
    "register",
    "registration",
    "registry",
    "spec",
    "toy_text",
]
