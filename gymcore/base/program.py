"""What is known of the program that uses this package."""

from __future__ import annotations

package = "gymcore"
"""The name under which the program imports this package; `gymcore.alias` changes it.

Messages and places of classes name this package, so that they are what the program expects.
"""


def imported_name(module: str) -> str:
    """Return the name under which the program imports a module.

    Example:
        >>> imported_name("gymcore.spaces"), imported_name("numpy")
        ('gymcore.spaces', 'numpy')
    """
    return module.replace("gymcore", package, 1) if module.startswith("gymcore.") else module
