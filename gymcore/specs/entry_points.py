"""Loading of entry points, "module:name", and checks of which of them a spec may use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from gymcore.base import program
from gymcore.error import ArgumentTypeError, DependencyNotInstalled, InvalidArgument
from gymcore.specs.env_spec import EnvSpec
from gymcore.specs.registered import registry

T = TypeVar("T")


def entry_point_of(cls: type) -> str:
    """Return the location of a class, "module:name", under the name that the program imports."""
    return f"{program.imported_name(cls.__module__)}:{cls.__name__}"


def load_env_creator(name: str) -> Callable[..., Any]:
    """Import the class or function at "module:attribute".

    Raise `ArgumentTypeError` if `name` is not a string, `InvalidArgument` if it has another form,
    and Python's own exception if the module or attribute is missing.

    Examples:
        >>> load_env_creator("math:gcd")(12, 18)
        6
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"entry point: expected 'module:attribute', got {name!r}")
    parts = name.split(":")
    if len(parts) != 2:
        raise InvalidArgument(f"entry point: expected 'module:attribute', got {name!r}")
    creator: Callable[..., object] = getattr(importlib.import_module(parts[0]), parts[1])
    return creator


def load_creator(
    spec: EnvSpec, entry_point: Callable[..., T] | str, base: type[T]
) -> Callable[..., T]:
    """Return the class or function of a spec's entry point, which may be a name or the object.

    Raise `InvalidArgument` if the spec is not trusted and the entry point is not registered, unless
    it is a class derived from `base` in a module of gymcore or a module that is already imported.
    """
    if callable(entry_point):
        return entry_point
    if spec.trusted or any(
        entry_point in (each.entry_point, each.vector_entry_point) for each in [*registry.values()]
    ):
        return load_env_creator(entry_point)
    module = entry_point.partition(":")[0]
    if module.startswith(("gymcore.", f"{program.package}.")) or module in sys.modules:
        try:
            creator: object = load_env_creator(entry_point)
        except DependencyNotInstalled:
            raise
        except (ImportError, AttributeError):  # there is no such object
            creator = None
        if isinstance(creator, type) and issubclass(creator, base):
            return creator
    raise InvalidArgument(
        f"the entry point {entry_point!r} in JSON is neither registered nor a class derived from "
        f"{base.__name__} in a module that is imported; import it, or allow anything by "
        "EnvSpec.from_json(text, trusted=True)"
    )
