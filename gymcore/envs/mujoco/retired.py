"""Versions 2 and 3 of the MuJoCo environments, which needed mujoco-py."""

from __future__ import annotations

from typing import NoReturn

from gymcore import error


class RetiredEnv(error.DeprecatedEnv, ImportError):
    """The environment needs a discontinued library; the message names its successor."""


def refuse(successor: str, **kwargs: object) -> NoReturn:
    """Raise `RetiredEnv`; the entry point of versions 2 and 3.

    Examples:
        >>> refuse("Ant-v5")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        gymcore.envs.mujoco.retired.RetiredEnv: The mujoco v2 and v3 based ... use Ant-v5
    """
    raise RetiredEnv(
        "The mujoco v2 and v3 based environments have been moved to the gymnasium-robotics project "
        "(https://github.com/Farama-Foundation/gymnasium-robotics). They need mujoco-py, which is "
        f"discontinued: use {successor}"
    )
