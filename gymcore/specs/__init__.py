"""Specs of environments: ids, the data that `register` stores, and its lookup by id for `make`."""

from gymcore.specs.entry_points import entry_point_of, load_creator, load_env_creator
from gymcore.specs.env_spec import (
    EnvCreator,
    EnvSpec,
    VectorEnvCreator,
    VectorizeMode,
    WrapperSpec,
)
from gymcore.specs.gymnasium_ids import from_gymnasium_spec
from gymcore.specs.ids import ENV_ID_RE, get_env_id, parse_env_id
from gymcore.specs.lookup import find_spec, spec
from gymcore.specs.registered import Alias, aliases, find_highest_version, registry

__all__ = [
    "ENV_ID_RE",
    "Alias",
    "EnvCreator",
    "EnvSpec",
    "VectorEnvCreator",
    "VectorizeMode",
    "WrapperSpec",
    "aliases",
    "entry_point_of",
    "find_highest_version",
    "find_spec",
    "from_gymnasium_spec",
    "get_env_id",
    "load_creator",
    "load_env_creator",
    "parse_env_id",
    "registry",
    "spec",
]
