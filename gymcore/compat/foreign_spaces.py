"""Spaces of other packages, of `gym` above all, as spaces of this one."""

from __future__ import annotations

from typing import Any

from gymcore import error, spaces

__all__ = ["as_own_space"]


def as_own_space(space: Any) -> spaces.Space[Any]:
    """Return a space of `gymcore.spaces` that holds the same values.

    Args:
        space: A space of `gym`, `gymnasium` or a package like them, known by its class's name (or
            that of a class it derives from) and attributes; one of `gymcore` is returned as it is.

    Raises:
        ArgumentTypeError: if it is none that `gymcore.spaces` has.

    Example:
        >>> class Discrete:
        ...     n = 3
        >>> as_own_space(Discrete())
        Discrete(3)
    """
    if isinstance(space, spaces.Space):
        return space
    for cls in type(space).__mro__:
        if convert := _CONVERSIONS.get(cls.__name__):
            return convert(space)
    raise error.ArgumentTypeError(
        f"space: expected one of {sorted(_CONVERSIONS)}, of whatever package, got {space!r} "
        f"({type(space)})"
    )


def _box(space: Any) -> spaces.Box:
    return spaces.Box(space.low, space.high, space.shape, space.dtype.type)


def _discrete(space: Any) -> spaces.Discrete:
    return spaces.Discrete(int(space.n), start=int(getattr(space, "start", 0)))


def _text(space: Any) -> spaces.Text:
    return spaces.Text(
        space.max_length, min_length=space.min_length, charset="".join(space.character_set)
    )


def _graph(space: Any) -> spaces.Graph:
    edges = space.edge_space
    # Either is a Box or a Discrete, and stays one.
    return spaces.Graph(
        as_own_space(space.node_space),
        None if edges is None else as_own_space(edges),
    )


_CONVERSIONS: dict[str, Any] = {
    "Box": _box,
    "Discrete": _discrete,
    "MultiDiscrete": lambda space: spaces.MultiDiscrete(space.nvec, dtype=space.dtype.type),
    "MultiBinary": lambda space: spaces.MultiBinary(space.n),
    "Text": _text,
    "Tuple": lambda space: spaces.Tuple(tuple(map(as_own_space, space.spaces))),
    "Dict": lambda space: spaces.Dict({k: as_own_space(v) for k, v in space.spaces.items()}),
    "Sequence": lambda space: spaces.Sequence(
        as_own_space(space.feature_space), stack=bool(getattr(space, "stack", False))
    ),
    "OneOf": lambda space: spaces.OneOf(tuple(map(as_own_space, space.spaces))),
    "Graph": _graph,
}
