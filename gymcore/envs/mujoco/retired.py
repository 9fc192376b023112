"""Versions 2 and 3 of MuJoCo's environments, which needed mujoco-py."""

from __future__ import annotations

from typing import Any, NoReturn

from gymcore import error


class RetiredEnv(error.DeprecatedEnv, ImportError):
    """The environment needed a library that is gone; the message names its successor."""


def refuse(successor: str, **kwargs: Any) -> NoReturn:
    """Refuse to make an environment, as its entry point.

    Example:
        >>> refuse("Ant-v5")
        Traceback (most recent call last):
        ...
        gymcore.envs.mujoco.retired.RetiredEnv: it needed mujoco-py, which is gone: use Ant-v5
    """
    raise RetiredEnv(f"it needed mujoco-py, which is gone: use {successor}")
