"""The vector environments of Gym 0.21, on the engines of today."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from gymcore import vector
from gymcore.compat.bridges import from_done_api
from gymcore.compat.done_envs import DoneVectorEnv as VectorEnv
from gymcore.compat.gym21.envs.registration import make as make_single
from gymcore.compat.gym26.vector import check_spaces
from gymcore.envs.vector_make import single_env_fns
from gymcore.specs import find_spec
from gymcore.vector import AutoresetMode

__all__ = ["AsyncVectorEnv", "SyncVectorEnv", "VectorEnv", "make"]

EnvFn = Callable[[], Any]


def _modern(env_fn: EnvFn) -> Any:
    return from_done_api(env_fn())


class SyncVectorEnv(VectorEnv):
    """Step several environments one after another in this process; see `to_done_api`.

    Example:
        >>> from gymcore.compat import gym21 as gym
        >>> envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> envs.reset().shape
        (2, 4)
        >>> observations, rewards, dones, infos = envs.step([0, 1])
        >>> dones, infos
        (array([False, False]), [{}, {}])
    """

    def __init__(
        self,
        env_fns: Iterable[EnvFn],
        observation_space: Any = None,
        action_space: Any = None,
        copy: bool = True,
    ) -> None:
        """Make the environments; arguments are those of `gym26.vector.SyncVectorEnv`."""
        fns = [functools.partial(_modern, fn) for fn in env_fns]
        envs = vector.SyncVectorEnv(fns, copy=copy, autoreset_mode=AutoresetMode.SAME_STEP)
        super().__init__(check_spaces(envs, observation_space, action_space))


class AsyncVectorEnv(VectorEnv):
    """Step several environments in worker processes; see `to_done_api`."""

    def __init__(
        self,
        env_fns: Iterable[EnvFn],
        observation_space: Any = None,
        action_space: Any = None,
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
    ) -> None:
        """Start the worker processes; arguments are those of `gym26.vector.AsyncVectorEnv`."""
        envs = vector.AsyncVectorEnv(
            [functools.partial(_modern, fn) for fn in env_fns],
            shared_memory=shared_memory,
            copy=copy,
            context=context,
            daemon=daemon,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        super().__init__(check_spaces(envs, observation_space, action_space))


def make(
    id: str,
    num_envs: int = 1,
    asynchronous: bool = True,
    wrappers: Callable[[Any], Any] | Iterable[Callable[[Any], Any]] | None = None,
    **kwargs: Any,
) -> VectorEnv:
    """Make a vector environment with the interface of Gym 0.21.

    Args:
        id: The environment's id.
        num_envs: Number of environments.
        asynchronous: Step them in worker processes.
        wrappers: A function, or several, applied to each single environment.
        **kwargs: For the environments.
    """
    spec = find_spec(id)
    env_fns = single_env_fns(make_single, spec, num_envs, wrappers, True, kwargs)
    return (AsyncVectorEnv if asynchronous else SyncVectorEnv)(env_fns)
