"""Ids whose environments are gone, and what to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gymcore.error import DeprecatedEnv


class RetiredEnv(DeprecatedEnv, ImportError):
    """The environment needed a library that is gone; the message names its successor."""


def retired_mujoco(successor: str) -> Callable[..., NoReturn]:
    """Return an entry point that refuses versions 2 and 3 of a MuJoCo environment.

    Example:
        >>> retired_mujoco("Ant-v5")()
        Traceback (most recent call last):
        ...
        gymcore.envs.retired.RetiredEnv: it needed mujoco-py, which is gone: use Ant-v5
    """

    def refuse(**kwargs: Any) -> NoReturn:
        raise RetiredEnv(f"it needed mujoco-py, which is gone: use {successor}")

    return refuse
