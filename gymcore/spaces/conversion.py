"""Convert spaces between packages: Gymnasium, Gym and gymcore use the same structure."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from gymcore import error, spaces
from gymcore.spaces.space import Space

AnySpace = Space
# A class of the other package; its arguments depend on the version.
_Make = Callable[..., AnySpace]


def convert_space(space: object, package: ModuleType = spaces) -> Any:
    """Return the equivalent space of another package, with the same elements and samples.

    A space is recognized by the name of its class, or of a base class, and its attributes. For a
    custom class, the result is a subclass of both that class and the other package's class, with
    the custom attributes and methods. A generator is copied, so that the spaces stay independent.

    Args:
        space: A space of Gym, Gymnasium, gymcore or a similar package.
        package: Module with the target classes: `gymcore.spaces` or `gymnasium.spaces`.

    Returns:
        The converted space; `space` itself if it already belongs to that package.

    Raises:
        ArgumentTypeError: If `space` is not a space, or contains something that is not.

    Examples:
        >>> class Discrete:
        ...     n = 3
        >>> convert_space(Discrete())
        Discrete(3)
    """
    if isinstance(space, package.Space):
        return space
    for cls in type(space).__mro__:
        if cls.__name__ == "Space" or cls.__name__ in _BUILDERS:
            break
    else:
        raise error.ArgumentTypeError(
            f"space: expected a space of Gymnasium or gymcore, got {space!r} ({type(space)}); "
            "see gymcore.interop.gymnasium"
        )
    base = getattr(package, cls.__name__)
    build = _BUILDERS.get(cls.__name__)
    new = None if build is None else build(space, base, package)
    if new is None or cls is not type(space):
        attributes = {} if new is None else vars(new)
        new = _restored(type(space), base, {**vars(space), **attributes})
    new._np_random = copy.deepcopy(getattr(space, "_np_random", None))
    return new


@functools.cache
def _derived_from_both(custom: type, base: type) -> type[AnySpace]:
    """Return a subclass of a custom space and of another package's class."""
    return type(custom.__name__, (custom, base), {"__reduce__": _reduce})


def _reduce(space: AnySpace) -> tuple[object, ...]:
    return _restored, (*type(space).__bases__, space.__dict__)


def _restored(custom: type, base: type, state: dict[str, object]) -> AnySpace:
    cls = _derived_from_both(custom, base)
    space = cls.__new__(cls)  # a custom constructor may take any arguments
    vars(space).update(state)
    return space


def _box(space: spaces.Box, make: _Make, package: ModuleType) -> AnySpace:
    new = make(space.low, space.high, space.shape, space.dtype)
    for side in ("bounded_below", "bounded_above"):  # integer bounds do not show these
        if hasattr(space, side):
            setattr(new, side, getattr(space, side).copy())
    return new


def _discrete(space: spaces.Discrete, make: _Make, package: ModuleType) -> AnySpace:
    dtype = getattr(space, "dtype", np.dtype(np.int64))
    # Before version 1.2, Gymnasium has 64-bit integers only.
    options = {} if dtype == np.int64 else {"dtype": dtype}
    return make(int(space.n), start=int(getattr(space, "start", 0)), **options)


def _multi_discrete(space: spaces.MultiDiscrete, make: _Make, package: ModuleType) -> AnySpace:
    start = getattr(space, "start", None)
    options = {"start": start} if np.any(start) else {}
    return make(space.nvec, space.dtype, **options)


def _text(space: spaces.Text, make: _Make, package: ModuleType) -> AnySpace:
    characters = getattr(space, "character_list", space.character_set)
    return make(space.max_length, min_length=space.min_length, charset="".join(characters))


def _tuple(space: spaces.Tuple | spaces.OneOf, make: _Make, package: ModuleType) -> AnySpace:
    return make([convert_space(part, package) for part in space.spaces])


def _dict(space: spaces.Dict, make: _Make, package: ModuleType) -> AnySpace:
    parts = {key: convert_space(part, package) for key, part in space.spaces.items()}
    new = make(parts)
    attributes = vars(new)
    attributes["spaces"] = type(attributes["spaces"])(parts)  # keeps the order
    if hasattr(space, "sort_keys"):
        attributes["sort_keys"] = space.sort_keys
    return new


def _sequence(space: spaces.Sequence, make: _Make, package: ModuleType) -> AnySpace:
    return make(
        convert_space(space.feature_space, package), stack=bool(getattr(space, "stack", False))
    )


def _graph(space: spaces.Graph, make: _Make, package: ModuleType) -> AnySpace:
    edges = space.edge_space
    return make(
        convert_space(space.node_space, package),
        None if edges is None else convert_space(edges, package),
    )


_BUILDERS: dict[str, Callable[..., AnySpace]] = {
    "Box": _box,
    "Discrete": _discrete,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": lambda space, make, package: make(space.n),
    "Text": _text,
    "Tuple": _tuple,
    "Dict": _dict,
    "Sequence": _sequence,
    "OneOf": _tuple,
    "Graph": _graph,
}
