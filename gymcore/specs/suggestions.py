"""The error for an id that is not registered, with a suggestion."""

from __future__ import annotations

from collections.abc import Iterable

from gymcore import error
from gymcore.base import program
from gymcore.specs.ids import get_env_id, parse_env_id
from gymcore.specs.registered import registry, versioned_specs


def _closest(word: str, words: Iterable[str]) -> str | None:
    """Return the element of `words` of which `word` may be a typo, or None."""
    import difflib

    by_lower_case = {candidate.lower(): candidate for candidate in sorted(words)}
    # Less similar words, such as "nope" and "Hopper", are not typos.
    matches = difflib.get_close_matches(word.lower(), by_lower_case, n=1, cutoff=0.65)
    return by_lower_case[matches[0]] if matches else None


def unregistered_error(env_id: str) -> error.Error:
    """Return the error that names the unregistered part of an id and suggests another id.

    Raises:
        Error: If the id is malformed.
    """
    ns, name, version = parse_env_id(env_id)
    namespaces = {spec.namespace for spec in [*registry.values()] if spec.namespace is not None}
    if ns is not None and ns not in namespaces:
        suggestion = _closest(ns, namespaces)
        hint = (
            f"Did you mean: `{suggestion}`?"
            if suggestion
            else f"Have you installed the proper package for {ns}?"
        )
        return error.NamespaceNotFound(f"Namespace {ns} not found. {hint}")

    names = {spec.name for spec in [*registry.values()] if spec.namespace == ns}
    if name not in names:
        suggestion = _closest(name, names)
        place = f" in namespace {ns}" if ns else ""
        hint = f"Did you mean: `{suggestion}`? " if suggestion else ""
        return error.NameNotFound(
            f"Environment `{name}` doesn't exist{place}. {hint}"
            "`gymcore list` prints all ids; importing another package registers its own."
        )

    versions = sorted(versioned_specs(ns, name))
    if version is None or version in versions:  # a version under another spelling, as "Maze-v00"
        return error.Error(
            f"No registered env with id: {env_id}. Did you register it, or import the package that "
            f"registers it? Use `{program.package}.pprint_registry()` to see all of the registered "
            "environments."
        )
    full_name = get_env_id(ns, name, None)
    message = f"Environment version `v{version}` for environment `{full_name}` doesn't exist."
    if not versions:
        return error.DeprecatedEnv(f"{message} It provides the default version `{full_name}`.")
    if version < versions[-1]:
        return error.DeprecatedEnv(
            f"Environment version v{version} for `{full_name}` is deprecated. "
            f"Please use `{get_env_id(ns, name, versions[-1])}` instead."
        )
    listed = ", ".join(f"`v{candidate}`" for candidate in versions)
    others = [candidate for candidate in [*registry] if candidate.endswith(f"/{name}-v{version}")]
    hint = f" Did you mean: `{others[0]}`?" if others else ""
    return error.VersionNotFound(
        f"{message} It provides versioned environments: [ {listed} ].{hint}"
    )
