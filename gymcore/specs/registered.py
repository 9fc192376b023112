"""The registry: specs by id, and retired ids."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from gymcore.specs.env_spec import EnvSpec

registry: dict[str, EnvSpec] = {}
"""Every registered environment, by id. Loop over a list of it: another thread may register one."""


families: list[Callable[[str], EnvSpec | None]] = []
"""Functions that return the spec of an id that has parameters in it, or None for other ids."""


class Alias(NamedTuple):
    """A retired id.

    Attributes:
        new_id: The id to use instead.
        change: None if `new_id` behaves the same, otherwise a description of the difference.
    """

    new_id: str
    change: str | None = None


aliases: dict[str, Alias] = {}
"""Replacements of retired ids, by id. If an id is also registered, `registry` takes precedence."""

keeps_batches: ContextVar[bool] = ContextVar("keeps_batches", default=False)
"""Whether gymcore itself is importing ale-py in this thread, so that its batches are ignored."""


def registered_spec(env_id: str) -> EnvSpec | None:
    """Return the spec of an id, or None. Ids of `families` are registered at their first use."""
    if env_id in registry:
        return registry[env_id]
    for spec_of in families:
        if (spec := spec_of(env_id)) is not None:
            return registry.setdefault(env_id, spec)
    return None


def versioned_specs(ns: str | None, name: str) -> dict[int, EnvSpec]:
    """Return the registered versions of an environment."""
    return {
        spec.version: spec
        for spec in [*registry.values()]
        if spec.name == name and spec.namespace == ns and spec.version is not None
    }


def find_highest_version(ns: str | None, name: str) -> int | None:
    """Return the newest registered version of an environment.

    Args:
        ns: Namespace of the environment, or None.
        name: Name of the environment.

    Returns:
        The version, or None if no version is registered.
    """
    return max(versioned_specs(ns, name), default=None)
