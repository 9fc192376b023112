"""`gym.vector` of Gym 0.21: the vector environments of Gym 0.26 with the four-value interface."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from gymcore.compat.gym21 import core
from gymcore.compat.gym21.bridges import from_done_api
from gymcore.compat.gym21.done_envs import DoneVectorEnv as VectorEnv
from gymcore.compat.gym21.envs import registration
from gymcore.compat.gym26 import vector
from gymcore.compat.old_modules import joined_modules
from gymcore.core import Env
from gymcore.envs.vector_make import Wrappers, single_env_fns
from gymcore.vector import utils

__all__ = ["AsyncVectorEnv", "SyncVectorEnv", "VectorEnv", "VectorEnvWrapper", "make", "utils"]
__getattr__ = joined_modules(__name__)

EnvFn = Callable[[], object]


def _modern(env_fn: EnvFn) -> Env:
    env: Env = from_done_api(env_fn())
    return env


def _modern_fns(env_fns: Iterable[EnvFn]) -> list[Callable[[], Env]]:
    return [functools.partial(_modern, env_fn) for env_fn in env_fns]


class VectorEnvWrapper(core.Wrapper):
    """Base class of vector wrappers: `step` calls `step_async` and then `step_wait`."""

    def step(self, actions: object) -> Any:
        """Step the environments; return observations, rewards, dones and infos."""
        env: Any = self  # its inner layers have these methods
        env.step_async(actions)
        return env.step_wait()


class SyncVectorEnv(VectorEnv):
    """Step several environments one after another in this process; see `to_done_api`.

    Examples:
        >>> from gymcore.compat import gym21 as gym
        >>> envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> envs.reset().shape
        (2, 4)
        >>> observations, rewards, dones, infos = envs.step([0, 1])
        >>> dones, infos
        (array([False, False]), [{}, {}])
    """

    def __init__(self, env_fns: Iterable[EnvFn], *args: Any, **kwargs: Any) -> None:
        """Make the environments; the arguments are those of `gym26.vector.SyncVectorEnv`."""
        super().__init__(vector.SyncVectorEnv(_modern_fns(env_fns), *args, **kwargs))


class AsyncVectorEnv(VectorEnv):
    """Step several environments in worker processes; see `to_done_api`."""

    def __init__(self, env_fns: Iterable[EnvFn], *args: Any, **kwargs: Any) -> None:
        """Start the workers; the arguments are those of `gym26.vector.AsyncVectorEnv`."""
        super().__init__(vector.AsyncVectorEnv(_modern_fns(env_fns), *args, **kwargs))


def make(
    id: str,
    num_envs: int = 1,
    asynchronous: bool = True,
    wrappers: Wrappers[object] = None,
    **kwargs: object,
) -> VectorEnv:
    """Make a vector environment with the interface of Gym 0.21.

    The arguments are those of `gymcore.vector.make`. The environments run in worker processes, or
    one after another in this process if `asynchronous` is False.
    """
    env_fns = single_env_fns(
        registration.make, registration.spec(id), num_envs, wrappers, True, kwargs
    )
    return (AsyncVectorEnv if asynchronous else SyncVectorEnv)(env_fns)
