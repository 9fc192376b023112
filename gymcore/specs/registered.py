"""The registry: specs by id, and retired ids."""

from __future__ import annotations

from typing import NamedTuple

from gymcore.specs.env_spec import EnvSpec

registry: dict[str, EnvSpec] = {}
"""Every registered environment, by id."""


class Alias(NamedTuple):
    """A retired id.

    Attributes:
        new_id: The id to use instead.
        change: None if `new_id` behaves the same; else what is different, in words.
    """

    new_id: str
    change: str | None = None


aliases: dict[str, Alias] = {}
"""Retired ids, by id. An id that is registered too is found in `registry`."""


def versioned_specs(ns: str | None, name: str) -> dict[int, EnvSpec]:
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
    return max(versioned_specs(ns, name), default=None)
