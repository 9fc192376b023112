"""Printing the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gymcore.specs import EnvSpec
from gymcore.envs.lookup import registry
from gymcore.error import InvalidArgument


def _family(spec: EnvSpec) -> str | None:
    """Return the namespace of a spec, or the package that its entry point is in, or None."""
    if spec.namespace is not None:
        return spec.namespace
    if not isinstance(spec.entry_point, str):
        return None
    packages = spec.entry_point.partition(":")[0].split(".")
    if len(packages) == 1:
        return spec.name
    return packages[min(2, len(packages) - 1)]


def pprint_registry(
    print_registry: Mapping[str, EnvSpec] = registry,
    *,
    num_cols: int = 3,
    exclude_namespaces: Sequence[str | None] | None = None,
    disable_print: bool = False,
) -> str | None:
    """Print the ids of a registry, by family.

    Args:
        print_registry: The registry.
        num_cols: Ids a line.
        exclude_namespaces: Families to leave out; None is that of the environments without one.
        disable_print: Return the text instead.

    Returns:
        The text if `disable_print`, else None.

    Raises:
        InvalidArgument: if `num_cols` is less than 1.

    Example:
        >>> mazes = {"Maze-v0": EnvSpec("Maze-v0", entry_point="games.envs.mazes:Maze")}
        >>> pprint_registry(mazes)
        ===== mazes =====
        Maze-v0
    """
    if num_cols < 1:
        raise InvalidArgument(f"num_cols: expected at least 1, got {num_cols}")
    families: dict[str | None, list[str]] = {}
    for spec in print_registry.values():
        families.setdefault(_family(spec), []).append(spec.id)
    width = max((len(spec.name) for spec in print_registry.values()), default=0)

    lines = []
    for family, ids in families.items():
        if exclude_namespaces is not None and family in exclude_namespaces:
            continue
        lines.append(f"===== {family} =====")
        ids.sort()
        for start in range(0, len(ids), num_cols):
            row = (env_id.ljust(width) for env_id in ids[start : start + num_cols])
            lines.append(" ".join(row).rstrip())

    text = "\n".join(lines)
    if disable_print:
        return text
    print(text)
    return None
