"""Box2D, imported late: the package is optional, and SWIG warns about itself while it is read."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gymcore import error


def load_box2d() -> ModuleType:
    """Return the module Box2D (pybox2d), which is imported by the first call.

    Raises:
        gymcore.error.DependencyNotInstalled: it is not installed.
    """
    loaded = sys.modules.get("Box2D")
    if loaded is not None:
        return loaded
    try:
        with warnings.catch_warnings():
            # SWIG's types have no `__module__`, of which Python warns from 3.11 on.
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module("Box2D")
    except ImportError as problem:
        raise error.DependencyNotInstalled(
            'Box2D is not installed, run `pip install "gymcore[box2d]"`'
        ) from problem


def makers(box2d: Any) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Return what makes a body, `(world, definition)`, and a fixture, `(body, definition)`.

    They take definitions alone, and no fixtures inside that of a body. What the methods for users
    call is taken where it is there: it is half of their price, and a world of 200 bodies is made in
    each reset.
    """
    world, body = box2d.b2World, box2d.b2Body
    return (
        getattr(world, "_b2World__CreateBody", world.CreateBody),
        getattr(body, "_b2Body__CreateFixture", body.CreateFixture),
    )


def nothing_to_solve(self: Any, contact: Any, details: Any) -> None:
    """Do nothing: what a listener's `PreSolve` and `PostSolve` should be, which Box2D always calls.

    It does so for each contact in each step. Its own do nothing either, but go from C++ to Python
    and back: a twentieth of BipedalWalker's step.
    """
