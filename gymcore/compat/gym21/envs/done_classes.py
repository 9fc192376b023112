"""Classes of current environments with the interface of Gym 0.21."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping

from gymcore.base import program
from gymcore.compat.gym21.done_envs import DoneEnv

__all__ = ["done_namespace"]


def done_namespace(
    package: str, modules: Mapping[str, Iterable[str]], base: type[DoneEnv] = DoneEnv
) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose environments are made of current ones.

    Args:
        package: Name of the package.
        modules: Names of the current classes, by module.
        base: Base of the classes.

    Examples:
        >>> from gymcore.compat.gym21.envs.toy_text import FrozenLakeEnv
        >>> env = FrozenLakeEnv(is_slippery=False)
        >>> env.reset(), env.step(2)
        (0, (1, 0, False, {'prob': 1.0}))
    """
    places = {name: module for module, names in modules.items() for name in names}

    def get_attribute(name: str) -> object:
        if name not in places:
            imported = program.imported_name(package)
            raise AttributeError(f"module {imported!r} has no attribute {name!r}")
        current = getattr(importlib.import_module(places[name]), name)

        def __init__(self: DoneEnv, *args: object, **kwargs: object) -> None:
            base.__init__(self, current(*args, **kwargs))

        doc = f"`{name}` of Gym 0.21; see `{current.__module__}.{name}`."
        attributes = {"__init__": __init__, "__module__": package, "__doc__": doc}
        value = type(name, (base,), attributes)
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute
