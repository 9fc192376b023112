"""MuJoCo, imported late: the package is optional."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType

from gymcore import error, logger

OLDEST = (3, 1)


def mujoco_module() -> ModuleType:
    """Return the module mujoco, which is imported by the first call.

    Raises:
        gymcore.error.DependencyNotInstalled: it is not installed, or older than 3.1.
        gymcore.error.InvalidArgument: the environment variable `MUJOCO_GL` has a value that MuJoCo
            does not know; it refuses to be imported then.
    """
    loaded = sys.modules.get("mujoco")
    if loaded is not None and hasattr(loaded, "mj_step"):
        return loaded
    try:
        mujoco = importlib.import_module("mujoco")
    except ImportError as problem:
        raise error.DependencyNotInstalled(
            'MuJoCo is not installed, run `pip install "gymcore[mujoco]"`'
        ) from problem
    except RuntimeError as problem:
        chosen = os.environ.get("MUJOCO_GL")
        if chosen is None or "MUJOCO_GL" not in str(problem):
            raise
        raise error.InvalidArgument(
            f"the environment variable MUJOCO_GL: expected egl, osmesa or glfw (or off, or unset), "
            f"got {chosen!r}"
        ) from problem
    version = str(getattr(mujoco, "__version__", "0"))
    if _numbers(version) < OLDEST:
        raise error.DependencyNotInstalled(
            f"MuJoCo {version} is too old, 3.1 is the oldest that can be used: run "
            '`pip install --upgrade "gymcore[mujoco]"`'
        )
    return mujoco


@contextlib.contextmanager
def warnings_while(doing: str) -> Iterator[None]:
    """Pass MuJoCo's warnings on as Python's: it would print them, and write them into a file here.

    That the total mass of a model is set by its compiler is left out: HalfCheetah's figures want
    that, and MuJoCo announces that it may be gone one day.

    Args:
        doing: what is done, for the message, such as "loading ant.xml".
    """
    mujoco = mujoco_module()
    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
        for text in said:
            if "settotalmass" not in text:
                logger.warn(f"MuJoCo, {doing}: {text.strip()}")


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
