"""The compiled engine: arrays and numbers, no spaces, no registries, nothing of gymcore."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES

__all__ = ["get_include"]

_HERE = os.path.dirname(os.path.abspath(__file__))

# Python finds the sources first in the folder of a checkout, whatever is installed.
if not any(
    os.path.exists(os.path.join(_HERE, "engine", f"batch{suffix}")) for suffix in EXTENSION_SUFFIXES
):
    raise ImportError(
        f"{_HERE} holds sources that are not compiled for this Python. To use an installed "
        "gymcore, start Python elsewhere; to work on the sources, run `pip install -e .` in theirs."
    )


def get_include() -> str:
    """Directory of the C headers, for packages that bring kernels of their own.

    Cython finds the `.pxd` files by itself: `from gymcore_ext.physics.lane cimport ...`.

    Returns:
        An absolute path, for `include_dirs` of a `setuptools.Extension`.

    Examples:
        >>> import os
        >>> import gymcore_ext
        >>> os.path.exists(os.path.join(gymcore_ext.get_include(), "gymcore", "lanes.h"))
        True
    """
    return os.path.join(_HERE, "include")
