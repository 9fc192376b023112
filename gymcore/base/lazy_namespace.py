"""Lazy imports of a package's names, so that importing the package loads little."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping

from gymcore.base import program

_owners: dict[str, dict[str, str]] = {}
"""The modules that define the lazy names, by package and name."""


def add_names(package: str, modules: Mapping[str, Iterable[str]]) -> None:
    """Add names to the namespace of a package, before or after it calls `lazy_namespace`.

    `modules` is as for `lazy_namespace`. A package can thus have names that are defined in higher
    layers, which it does not import itself.
    """
    names = {name: module for module, names in modules.items() for name in names}
    _owners.setdefault(package, {}).update(names)


def lazy_namespace(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    `modules` maps each module to the names that the package imports from it. A module of the
    package itself is written with a dot, `{".rendering": ()}`, and is also available as an
    attribute. A name that `__getattr__` has imported becomes an ordinary attribute.

    Examples:
        >>> __getattr__, __dir__ = lazy_namespace("collections", {".abc": ("Sized",)})
        >>> __getattr__("Sized")
        <class 'collections.abc.Sized'>
    """
    add_names(package, modules)
    owners = _owners[package]
    submodules = {module[1:] for module in modules if module.startswith(".")}

    def get_attribute(name: str) -> object:
        if name in owners:
            value = getattr(importlib.import_module(owners[name], package), name)
        elif name in submodules:
            value = importlib.import_module(f".{name}", package)
        else:
            imported = program.imported_name(package)
            raise AttributeError(f"module {imported!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def list_attributes() -> list[str]:
        return sorted({*vars(sys.modules[package]), *owners, *submodules})

    return get_attribute, list_attributes
