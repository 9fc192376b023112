"""The compiled engine: arrays and numbers, no spaces, no registries, nothing of gymcore."""

from __future__ import annotations

import os

__all__ = ["get_include"]


def get_include() -> str:
    """Directory of the C headers, for packages that bring kernels of their own.

    Cython finds the `.pxd` files by itself: `from gymcore_ext.physics.lane cimport ...`.

    Returns:
        An absolute path, for `include_dirs` of a `setuptools.Extension`.

    Example:
        >>> import os
        >>> import gymcore_ext
        >>> os.path.exists(os.path.join(gymcore_ext.get_include(), "lanes.h"))
        True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
