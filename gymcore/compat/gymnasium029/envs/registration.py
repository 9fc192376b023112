"""`make`, `make_vec` and `register` of Gymnasium 0.29."""

from gymcore.compat.gym26.envs.registration import (
    EnvSpec,
    find_highest_version,
    get_env_id,
    make,
    namespace,
    parse_env_id,
    register,
    registry,
    spec,
)
from gymcore.compat.gym26.envs.registration import load_env_plugins as load_plugin_envs
from gymcore.compat.gymnasium029.vector import make_vec
from gymcore.envs.registration import WrapperSpec, load_env_creator, pprint_registry, register_envs

__all__ = [
    "EnvSpec",
    "WrapperSpec",
    "find_highest_version",
    "get_env_id",
    "load_env_creator",
    "load_plugin_envs",
    "make",
    "make_vec",
    "namespace",
    "parse_env_id",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "spec",
]
