"""Lookup of specs by id, including retired ids and ids of Gymnasium."""

from __future__ import annotations

import importlib

from gymcore import error, logger
from gymcore.base import program
from gymcore.specs.env_spec import EnvSpec
from gymcore.specs.gymnasium_ids import GYMNASIUM, gymnasium_spec, is_gymnasium_id
from gymcore.specs.ids import parse_env_id
from gymcore.specs.registered import (
    aliases,
    find_highest_version,
    registered_spec,
    registry,
    versioned_specs,
)
from gymcore.specs.suggestions import unregistered_error


def _follow_alias(env_id: str) -> EnvSpec | None:
    """Return the spec that replaces a retired id, with a deprecation warning, or None.

    Raises:
        DeprecatedEnv: If the new environment behaves differently.
    """
    alias = aliases.get(env_id)
    if alias is None or alias.new_id not in registry:
        return None
    if alias.change is not None:
        raise error.DeprecatedEnv(
            f"The environment {env_id} is deprecated, and its successor differs: {alias.change}. "
            f"Please use `{alias.new_id}` instead."
        )
    logger.deprecation(
        f"The environment {env_id} is out of date. It is now called `{alias.new_id}` and behaves "
        "the same; please use that id."
    )
    return registry[alias.new_id]


def spec(env_id: str) -> EnvSpec:
    """Return the registered spec of an id.

    Args:
        env_id: `[namespace/]name[-v(version)]`, exactly as registered; or "gymnasium:" and an id of
            Gymnasium's registry. "gymnasium:" may be omitted if Gymnasium has been imported (for
            example by `import minigrid`) and no version of the environment is registered here.

    Returns:
        The spec itself, not a copy.

    Raises:
        Error: If the id is not registered: one of the registry's errors, with a suggestion.

    Examples:
        >>> spec("CartPole-v1").max_episode_steps
        500
    """
    if isinstance(env_id, str) and env_id.startswith(GYMNASIUM):
        return gymnasium_spec(_import_prefix(env_id.removeprefix(GYMNASIUM)))
    ns, name, _ = parse_env_id(env_id)
    match = registered_spec(env_id) or _follow_alias(env_id)
    if match is None:
        if not versioned_specs(ns, name) and is_gymnasium_id(env_id):
            return gymnasium_spec(env_id)
        raise unregistered_error(env_id)
    return match


def _import_prefix(env_id: str) -> str:
    """Import the module of "module:id" and return the id."""
    module, separator, rest = env_id.partition(":")
    if not separator:
        return env_id
    if ":" in rest:
        raise error.InvalidArgument(f"id: expected '[module:]id', got {env_id!r}")
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{missing}. Environment registration via importing a module failed. "
            f"Check whether '{module}' contains env registration and can be imported."
        ) from missing
    if rest not in registry and isinstance(getattr(imported, rest, None), type):
        raise error.NameNotFound(
            f"Environment `{rest}` doesn't exist. {env_id} is a class: give it an id with "
            f"`{program.package}.register('{rest}-v0', '{env_id}')`."
        )
    return rest


def registered_id(env_id: object) -> str:
    """Return an id from a file, without the module that `make` would import.

    Args:
        env_id: `[module:][namespace/]name[-v(version)]`, which must be registered; the module is
            removed. "gymnasium:" and an id of Gymnasium's registry without a module are unchanged.

    Raises:
        InvalidArgument: If it is not the id of a registered environment.
    """
    if isinstance(env_id, str):
        prefix = GYMNASIUM if env_id.startswith(GYMNASIUM) else ""
        name = env_id.removeprefix(prefix)
        if prefix and ":" not in name:
            return env_id
        name = name.rpartition(":")[2]
        if not prefix and (registered_spec(name) is not None or name in aliases):
            return name
    raise error.InvalidArgument(
        f"id: expected a registered environment, got {env_id!r:.80}; a file cannot cause "
        "imports: first import the module that registers it; on the command line, name module:id"
    )


def find_spec(env_id: str) -> EnvSpec:
    """Return the spec that `make(env_id)` uses.

    Unlike `spec`, this imports the module of "module:id", uses the newest version if none is given,
    and warns if there is a newer one.

    Args:
        env_id: `[module:][namespace/]name[-v(version)]`; or "gymnasium:" and an id of Gymnasium's
            registry, which may have a module too.

    Raises:
        DependencyNotInstalled: If it is an id of Gymnasium, which is not installed.
        ModuleNotFoundError: If the module cannot be imported.
        Error: If the id is not registered: one of the registry's errors, with a suggestion.
    """
    if env_id.startswith(GYMNASIUM):
        return spec(env_id)
    env_id = _import_prefix(env_id)
    ns, name, version = parse_env_id(env_id)
    newest = find_highest_version(ns, name)
    if env_id not in registry and env_id in aliases:
        return spec(env_id)
    if newest is not None and version is not None and newest > version:
        logger.deprecation(
            f"The environment {env_id} is out of date. "
            f"You should consider upgrading to version `v{newest}`."
        )
    if newest is not None and version is None and env_id not in registry:
        latest = f"{env_id}-v{newest}"
        logger.warn(
            f"Using the latest versioned environment `{latest}` "
            f"instead of the unversioned environment `{env_id}`."
        )
        return registry[latest]
    return spec(env_id)
