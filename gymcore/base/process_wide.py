"""The locks for state of the whole process: what gymcore replaces temporarily, and pygame's.

`lock` is for what is replaced, such as the filters of Python's warnings and MuJoCo's handler of
warnings. Code that holds it must not import modules of gymcore, since another thread may be
importing one of them and wait for the lock.

`drawing_lock` is for what pygame shares without the GIL: the buffer in which it sorts the corners
of a polygon, and FreeType's library object, whose lists a font that is opened or closed changes.
Code that holds it may take `lock`, never the other way around.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Literal

_loaded: dict[str, ModuleType] = {}

lock = threading.RLock()
"""Refer to it as `process_wide.lock`, because a forked child replaces it."""

drawing_lock = threading.RLock()
"""Refer to it as `process_wide.drawing_lock`, because a forked child replaces it."""


def _replace_locks() -> None:
    global lock, drawing_lock
    # Another thread of the parent may hold the old ones forever.
    lock, drawing_lock = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_locks)


@contextlib.contextmanager
def caught_warnings(
    action: Literal["always", "error", "ignore"] = "ignore",
) -> Iterator[list[warnings.WarningMessage]]:
    """Yield a list to which the warnings of the block are added if `action` is "always".

    Examples:
        >>> with caught_warnings("always") as caught:
        ...     warnings.warn("thin ice")
        >>> [str(warning.message) for warning in caught]
        ['thin ice']
    """
    with lock, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        yield caught


def load_module(name: str, **environment: str) -> ModuleType:
    """Import a package without its warnings, with these environment variables unless they are set.

    It may be called from several threads: each gets the module when it is complete.

    Raises:
        ImportError: If the package is not installed.
    """
    module = _loaded.get(name)
    if module is not None and sys.modules.get(name) is module:
        return module
    with caught_warnings():
        added = environment.keys() - os.environ.keys()
        os.environ.update({key: environment[key] for key in added})
        try:
            module = importlib.import_module(name)
            for part in list(vars(module).values()):
                if isinstance(part, ModuleType):
                    # pygame has parts that `importlib.util.LazyLoader` loads when an attribute is
                    # read, which before Python 3.12 must not happen in two threads.
                    part.__doc__  # noqa: B018
        finally:
            for key in added:
                os.environ.pop(key, None)
        _loaded[name] = module
    return module


def load_registering_module(name: str) -> ModuleType:
    """Import a package that registers environments with Gymnasium when it is imported.

    Gymnasium loops over its registry at each registration, which fails if another thread adds an
    id. What gymcore adds itself is added with the `lock` held.

    Raises:
        ImportError: If the package is not installed.
    """
    # First, without the lock: Gymnasium before 1.1 imports a module of gymcore, its plugin.
    with contextlib.suppress(ImportError):
        importlib.import_module("gymnasium")
    return load_module(name)
