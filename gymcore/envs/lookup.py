"""Finding what an id stands for: the registry, ids of the past, and errors that help with typos."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from gymcore import error, logger
from gymcore.envs.env_id import get_env_id, parse_env_id
from gymcore.specs import EnvSpec

registry: dict[str, EnvSpec] = {}
"""Every registered environment, by id."""


class Alias(NamedTuple):
    """An id of the past.

    Attributes:
        new_id: The id to use instead.
        change: None if `new_id` behaves the same; else what is different, in words.
    """

    new_id: str
    change: str | None = None


aliases: dict[str, Alias] = {}
"""Ids of the past, by id. An id that is registered too is found in `registry`."""


def load_env_creator(name: str) -> Callable[..., Any]:
    """Import what "module:attribute" names.

    Args:
        name: The place of a class or function, as "module:attribute".

    Returns:
        The class or function.

    Raises:
        ArgumentTypeError: if `name` is no string.
        InvalidArgument: if it is no "module:attribute".
        ModuleNotFoundError: if there is no such module.
        AttributeError: if the module has no such attribute.

    Example:
        >>> load_env_creator("math:gcd")(12, 18)
        6
    """
    if not isinstance(name, str):
        raise error.ArgumentTypeError(f"entry point: expected 'module:attribute', got {name!r}")
    parts = name.split(":")
    if len(parts) != 2:
        raise error.InvalidArgument(f"entry point: expected 'module:attribute', got {name!r}")
    creator: Callable[..., Any] = getattr(importlib.import_module(parts[0]), parts[1])
    return creator


def _versioned_specs(ns: str | None, name: str) -> dict[int, EnvSpec]:
    """Return the registered versions of an environment."""
    return {
        spec.version: spec
        for spec in registry.values()
        if spec.name == name and spec.namespace == ns and spec.version is not None
    }


def find_highest_version(ns: str | None, name: str) -> int | None:
    """Return the newest registered version of an environment.

    Args:
        ns: Its namespace, or None.
        name: Its name.

    Returns:
        The version, or None if no version of it is registered.
    """
    return max(_versioned_specs(ns, name), default=None)


def _closest(word: str, words: set[str]) -> str | None:
    """Return the one of `words` that `word` may be a typo of."""
    import difflib

    by_lower_case = {known.lower(): known for known in sorted(words)}
    found = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[found[0]] if found else None


def check_namespace_exists(ns: str | None) -> None:
    """Raise `NamespaceNotFound`, with a suggestion, if no registered id is in `ns`."""
    namespaces = {spec.namespace for spec in registry.values() if spec.namespace is not None}
    if ns is None or ns in namespaces:
        return
    suggestion = _closest(ns, namespaces)
    hint = (
        f"Did you mean: `{suggestion}`?"
        if suggestion
        else f"Have you installed the proper package for {ns}?"
    )
    raise error.NamespaceNotFound(f"Namespace {ns} not found. {hint}")


def check_name_exists(ns: str | None, name: str) -> None:
    """Raise `NameNotFound`, with a suggestion, if `ns` holds no environment `name`."""
    check_namespace_exists(ns)
    names = {spec.name for spec in registry.values() if spec.namespace == ns}
    if name in names:
        return
    suggestion = _closest(name, names)
    place = f" in namespace {ns}" if ns else ""
    hint = f" Did you mean: `{suggestion}`?" if suggestion else ""
    raise error.NameNotFound(f"Environment `{name}` doesn't exist{place}.{hint}")


def check_version_exists(ns: str | None, name: str, version: int | None) -> None:
    """Raise if this version is not registered.

    Args:
        ns: The namespace, or None.
        name: The name.
        version: The version, or None for an environment without one.

    Raises:
        NamespaceNotFound: if nothing is in the namespace.
        NameNotFound: if the namespace has no such name.
        VersionNotFound: if the version is newer than the newest.
        DeprecatedEnv: if it is older, or if the environment has no versions.
    """
    if get_env_id(ns, name, version) in registry:
        return
    check_name_exists(ns, name)
    if version is None:
        return
    full_name = get_env_id(ns, name, None)
    versions = sorted(_versioned_specs(ns, name))
    message = f"Environment version `v{version}` for environment `{full_name}` doesn't exist."
    if not versions:
        raise error.DeprecatedEnv(f"{message} It provides the default version `{full_name}`.")
    if version > versions[-1]:
        listed = ", ".join(f"`v{known}`" for known in versions)
        raise error.VersionNotFound(f"{message} It provides versioned environments: [ {listed} ].")
    raise error.DeprecatedEnv(
        f"Environment version v{version} for `{full_name}` is deprecated. "
        f"Please use `{get_env_id(ns, name, versions[-1])}` instead."
    )


def follow_alias(env_id: str) -> EnvSpec | None:
    """Return what an id of the past stands for now, with a deprecation warning.

    Args:
        env_id: An id that is not registered.

    Returns:
        The spec of the new id, or None if the id is none of the past (or the new id is not
        registered).

    Raises:
        DeprecatedEnv: if the new environment behaves differently.
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
        env_id: `[namespace/]name[-v(version)]`, exactly as registered.

    Returns:
        The spec itself, not a copy.

    Raises:
        Error: one of the registry's errors, with a suggestion, if the id is not registered.

    Example:
        >>> spec("CartPole-v1").max_episode_steps
        500
    """
    found = registry.get(env_id) if isinstance(env_id, str) else None
    if found is None and (found := follow_alias(env_id)) is None:
        ns, name, version = parse_env_id(env_id)
        check_version_exists(ns, name, version)
        raise error.Error(f"No registered env with id: {env_id}")
    return found


def _import_prefix(env_id: str) -> str:
    """Import the module of "module:id" and return the id."""
    module, separator, rest = env_id.partition(":")
    if not separator:
        return env_id
    if ":" in rest:
        raise error.InvalidArgument(f"id: expected '[module:]id', got {env_id!r}")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{missing}. Environment registration via importing a module failed. "
            f"Check whether '{module}' contains env registration and can be imported."
        ) from missing
    return rest


def _warn_of_newer(env_id: str) -> None:
    """Warn if there is a newer version, whether this one is still there or not."""
    ns, name, version = parse_env_id(env_id)
    newest = None if version is None else find_highest_version(ns, name)
    if newest is not None and version is not None and newest > version:
        logger.deprecation(
            f"The environment {env_id} is out of date. "
            f"You should consider upgrading to version `v{newest}`."
        )


def find_spec(env_id: str) -> EnvSpec:
    """Return the spec that `make(env_id)` uses.

    Unlike `spec`, this imports the module of "module:id", takes the newest version if none is
    given, and warns when there is a newer one.

    Args:
        env_id: `[module:][namespace/]name[-v(version)]`.

    Raises:
        ModuleNotFoundError: if the module cannot be imported.
        Error: one of the registry's errors, with a suggestion, if the id is not registered.
    """
    env_id = _import_prefix(env_id)
    found = registry.get(env_id)
    if found is not None or env_id not in aliases:
        _warn_of_newer(env_id)
    if found is None:
        if (aliased := follow_alias(env_id)) is not None:
            return aliased
        ns, name, version = parse_env_id(env_id)
        versions = _versioned_specs(ns, name)
        if version is None and versions:
            latest = versions[max(versions)]
            logger.warn(
                f"Using the latest versioned environment `{latest.id}` "
                f"instead of the unversioned environment `{env_id}`."
            )
            return latest
        check_version_exists(ns, name, version)
        raise error.Error(
            f"No registered env with id: {env_id}. Did you register it, or import the package that "
            "registers it? Use `gymcore.pprint_registry()` to see all of the registered "
            "environments."
        )
    return found
