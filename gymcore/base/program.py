"""Information about the program that uses this package."""

from __future__ import annotations

import sys

package = "gymcore"
"""The name under which the program imports this package; `gymcore.alias` changes it.

Messages and recorded locations of classes use this name, as the program expects.
"""


def imported_name(module: str) -> str:
    """Return the name under which the program imports a module.

    Examples:
        >>> imported_name("gymcore.spaces"), imported_name("numpy")
        ('gymcore.spaces', 'numpy')
    """
    is_current = module.startswith("gymcore.") and not module.startswith("gymcore.compat.")
    return module.replace("gymcore", package, 1) if is_current else module


def put_in_imported_module(cls: type) -> None:
    """Put a class of this package in its module under the name that the program imports."""
    name = imported_name(cls.__module__)
    # cloudpickle looks here; without the module, it would pickle the class itself.
    sys.modules.setdefault(name, sys.modules[cls.__module__])
    cls.__module__ = name
