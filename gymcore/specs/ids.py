"""Ids of environments: `[namespace/]name[-v(version)]`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gymcore.error import ArgumentTypeError, Error, InvalidArgument

ENV_ID_RE = re.compile(r"^(?:(?P<namespace>[\w:-]+)/)?(?P<name>[\w:.-]+?)(?:-v(?P<version>\d+))?$")
"""The form of an id."""


def parse_env_id(env_id: str) -> tuple[str | None, str, int | None]:
    """Split an id into its parts.

    Args:
        env_id: `[namespace/]name[-v(version)]`.

    Returns:
        A tuple of the namespace (or None), the name, and the version (or None).

    Raises:
        Error: If the id does not have that form.
        ArgumentTypeError: If the id is not a string.

    Examples:
        >>> parse_env_id("ALE/Pong-v5")
        ('ALE', 'Pong', 5)
        >>> parse_env_id("CartPole")
        (None, 'CartPole', None)
    """
    if not isinstance(env_id, str):
        raise ArgumentTypeError(f"env_id: expected a string, got {env_id!r} ({type(env_id)})")
    match = ENV_ID_RE.fullmatch(env_id)
    if match is None:
        raise Error(
            f"Malformed environment ID: {env_id}. (Currently all IDs must be of the form "
            "[namespace/](env-name)-v(version). (namespace is optional))"
        )
    namespace, name, version = match.groups()
    return namespace, name, None if version is None else int(version)


def get_env_id(ns: str | None, name: str, version: int | None) -> str:
    """Build an id from its parts; the inverse of `parse_env_id`.

    Args:
        ns: The namespace, or None.
        name: The name.
        version: The version, or None.

    Returns:
        The id.

    Examples:
        >>> get_env_id("ALE", "Pong", 5)
        'ALE/Pong-v5'
    """
    full_name = name if ns is None else f"{ns}/{name}"
    return full_name if version is None else f"{full_name}-v{version}"


def check_no_module(kwargs: Mapping[str, object]) -> None:
    """Raise `InvalidArgument` if the argument `env_id` from a file would import a module.

    Environments that make another environment take its id as `env_id`.
    """
    env_id = kwargs.get("env_id")
    if isinstance(env_id, str) and ":" in env_id:
        raise InvalidArgument(f"env_id: expected an id without a module, got {env_id!r:.80}")
