"""Errors shared by the functions that dispatch on the type of a space."""

from __future__ import annotations

from typing import Any

from gymcore.error import ArgumentTypeError, CustomSpaceError
from gymcore.spaces import Space


def unsupported_space(function: str, space: Any) -> Exception:
    """Return the error for a `space` that `function` has no implementation for.

    Args:
        function: Name of the function, as the user called it.
        space: What the user passed as the space.

    Returns:
        `CustomSpaceError` for a space, which says how to register one; `ArgumentTypeError` (a
        `TypeError`) for anything else.
    """
    kind = type(space)
    if isinstance(space, Space):
        return CustomSpaceError(
            f"Space of type `{kind}` doesn't have an registered `{function}` function. "
            f"Register `{kind}` for `{function}` to support it."
        )
    return ArgumentTypeError(
        f"The space provided to `{function}` is not a gymcore Space instance, type: {kind}, {space}"
    )
