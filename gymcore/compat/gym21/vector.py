"""The vector environments of Gym 0.21, on the engines of today."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import gymcore
from gymcore.compat.bridges import from_done_api, to_done_api
from gymcore.compat.done_vector_api import DoneVectorEnv as VectorEnv
from gymcore.compat.gym21.core import make as make_single
from gymcore.vector import AutoresetMode

__all__ = ["AsyncVectorEnv", "SyncVectorEnv", "VectorEnv", "make"]

EnvFn = Callable[[], Any]


def _modern(env_fn: EnvFn) -> Any:
    return from_done_api(env_fn())


def _check_spaces(envs: Any, observation_space: Any, action_space: Any) -> Any:
    """Put in the spaces that the caller gave for single environments."""
    if observation_space is not None and observation_space != envs.single_observation_space:
        envs.close()
        raise gymcore.error.SpaceMismatch(
            f"observation_space: expected {envs.single_observation_space}, got {observation_space}"
        )
    if action_space is not None and action_space != envs.single_action_space:
        envs.close()
        raise gymcore.error.SpaceMismatch(
            f"action_space: expected {envs.single_action_space}, got {action_space}"
        )
    return to_done_api(envs)


def SyncVectorEnv(
    env_fns: Iterable[EnvFn],
    observation_space: Any = None,
    action_space: Any = None,
    copy: bool = True,
) -> Any:
    """Step several environments one after another in this process.

    Args:
        env_fns: Functions that make an environment with the interface of Gym 0.21.
        observation_space: Of one environment, checked if given.
        action_space: Likewise.
        copy: Return new observations at every step.

    Returns:
        A `VectorEnv`; see `gymcore.compat.to_done_api`.

    Example:
        >>> from gymcore.compat import gym21 as gym
        >>> envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> envs.reset().shape
        (2, 4)
        >>> observations, rewards, dones, infos = envs.step([0, 1])
        >>> dones, infos
        (array([False, False]), [{}, {}])
    """
    fns = [functools.partial(_modern, fn) for fn in env_fns]
    envs = gymcore.vector.SyncVectorEnv(fns, copy=copy, autoreset_mode=AutoresetMode.SAME_STEP)
    return _check_spaces(envs, observation_space, action_space)


def AsyncVectorEnv(
    env_fns: Iterable[EnvFn],
    observation_space: Any = None,
    action_space: Any = None,
    shared_memory: bool = True,
    copy: bool = True,
    context: str | None = None,
    daemon: bool = True,
) -> Any:
    """Step several environments in worker processes.

    Args:
        env_fns: Functions that make an environment with the interface of Gym 0.21.
        observation_space: Of one environment, checked if given.
        action_space: Likewise.
        shared_memory: As for `gymcore.vector.AsyncVectorEnv`.
        copy: Likewise.
        context: Likewise.
        daemon: Likewise.

    Returns:
        A `VectorEnv`; see `gymcore.compat.to_done_api`.
    """
    envs = gymcore.vector.AsyncVectorEnv(
        [functools.partial(_modern, fn) for fn in env_fns],
        shared_memory=shared_memory,
        copy=copy,
        context=context,
        daemon=daemon,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    return _check_spaces(envs, observation_space, action_space)


def make(
    id: str,
    num_envs: int = 1,
    asynchronous: bool = True,
    wrappers: Callable[[Any], Any] | Iterable[Callable[[Any], Any]] | None = None,
    **kwargs: Any,
) -> Any:
    """Make a vector environment with the interface of Gym 0.21.

    Args:
        id: The environment's id.
        num_envs: Number of environments.
        asynchronous: Step them in worker processes.
        wrappers: A function, or several, applied to each single environment.
        **kwargs: For the environments.

    Returns:
        A `VectorEnv`; see `gymcore.compat.to_done_api`.
    """
    functions = () if wrappers is None else (wrappers,) if callable(wrappers) else tuple(wrappers)
    one = functools.partial(_make_one, id, functions, kwargs)
    return (AsyncVectorEnv if asynchronous else SyncVectorEnv)([one] * num_envs)


def _make_one(id: str, functions: Iterable[Callable[[Any], Any]], kwargs: dict[str, Any]) -> Any:
    env = make_single(id, **kwargs)
    for function in functions:
        env = function(env)
    return env
