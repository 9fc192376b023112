"""One name, two behaviours: which calls are Gym 0.26's, and handing those over.

The call signature of Gymnasium 1.4 gives its behaviour. A call that only Gym 0.26 allowed makes the
wrapper of that name in `gymcore.wrappers.legacy`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from gymcore.core import Env

__all__ = ["HandsOver", "is_vector_env"]

# Not a user's subclass, and not what is in gymcore.wrappers.legacy.
_OURS = re.compile(r"gymcore\.wrappers\.\w+")


def is_vector_env(env: Any) -> bool:
    """Tell whether this is a vector environment, without importing what they need."""
    return not isinstance(env, Env) and getattr(env, "is_vector_env", False) is True


class HandsOver:
    """A base of wrappers that let `gymcore.wrappers.legacy` make the calls of Gym 0.26.

    A class that has an entry in `LEGACY_CALLS` hands over what its function there tells to be Gym
    0.26's; subclasses never do.

    It has to come after the classes whose `__init__` shows the signature.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make the wrapper of today, or that of Gym 0.26."""
        is_legacy_call = LEGACY_CALLS.get(cls.__name__)
        if is_legacy_call is None or not _OURS.fullmatch(cls.__module__):
            return object.__new__(cls)
        env = args[0] if args else kwargs.get("env")
        rest = {name: value for name, value in kwargs.items() if name != "env"}
        if not is_legacy_call(env, args[1:], rest):
            return object.__new__(cls)
        legacy = getattr(importlib.import_module("gymcore.wrappers.legacy"), cls.__name__)
        return legacy.__new__(legacy, *args, **kwargs)


def _given_vector_env(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return is_vector_env(env)


def _statistics(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return is_vector_env(env) or "deque_size" in kwargs


def _time_limit(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return isinstance(env, Env) and not args and not kwargs


def _transform_observation(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return isinstance(env, Env) and ("f" in kwargs or (len(args) == 1 and not kwargs))


def _transform_reward(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return "f" in kwargs


def _filter_observation(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return isinstance(env, Env) and (*args, *kwargs.values(), None)[0] is None


def _resize_observation(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return isinstance(env, Env) and type((*args, kwargs.get("shape"))[0]) is int


def _atari(env: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if not isinstance(env, Env) or env.spec is None or "NoFrameskip" not in env.spec.id:
        return False
    return getattr(env.unwrapped, "_frameskip", None) != 1


LegacyCall = Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]

LEGACY_CALLS: dict[str, LegacyCall] = {
    "AtariPreprocessing": _atari,
    "RecordEpisodeStatistics": _statistics,
    "TimeLimit": _time_limit,
    "NormalizeObservation": _given_vector_env,
    "NormalizeReward": _given_vector_env,
    "RecordVideo": _given_vector_env,
    "FilterObservation": _filter_observation,
    "ResizeObservation": _resize_observation,
    "TransformObservation": _transform_observation,
    "TransformReward": _transform_reward,
}
"""What tells a call of Gym 0.26, by the name of the class.

The functions get the environment, the positional arguments after it, and the keywords besides.
"""
