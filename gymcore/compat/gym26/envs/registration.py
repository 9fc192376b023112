"""`make` and `register` of Gym 0.26."""

from __future__ import annotations

import contextlib
from importlib import metadata
from typing import Any

from gymcore import envs, logger
from gymcore.compat.gym26 import wrappers
from gymcore.compat.old_envs import OldEnvCreator
from gymcore.core import Env
from gymcore.envs.registration import namespace
from gymcore.specs import (
    EnvSpec,
    find_highest_version,
    find_spec,
    get_env_id,
    load_creator,
    parse_env_id,
    registry,
    spec,
)
from gymcore.specs import load_env_creator as load

__all__ = [
    "EnvSpec",
    "find_highest_version",
    "get_env_id",
    "load",
    "load_env_plugins",
    "make",
    "namespace",
    "parse_env_id",
    "register",
    "registry",
    "spec",
]

_RENDERING = ("HumanRendering", "RenderCollection")
_LAYERS = ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit", *_RENDERING)
"""Names of the wrappers that `gymcore.make` adds."""


def make(
    id: str | EnvSpec,
    max_episode_steps: int | None = None,
    autoreset: bool = False,
    apply_api_compatibility: bool | None = None,
    disable_env_checker: bool | None = None,
    **kwargs: object,
) -> Env:
    """Make an environment whose wrappers forward attributes, as in Gym 0.26.

    Args:
        id: Id or spec of the environment.
        max_episode_steps: Time limit, instead of the registered one.
        autoreset: Whether to add `AutoResetWrapper`, outside the time limit.
        apply_api_compatibility: Whether the entry point makes an environment with the interface of
            Gym 0.21, to be wrapped in `EnvCompatibility`; None for the registered setting.
        disable_env_checker: Whether to leave out `PassiveEnvChecker`; None for the registered one.
        **kwargs: Arguments of the environment, such as `render_mode`.

    Examples:
        >>> env = make("CartPole-v1", autoreset=True)
        >>> print(env)
        <AutoResetWrapper<TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPoleEnv<CartPole-v1>>>>>>
        >>> round(env.gravity, 1)
        9.8
    """
    env_spec = find_spec(id) if isinstance(id, str) else id
    if apply_api_compatibility is not None and isinstance(env_spec, EnvSpec):
        entry_point = env_spec.entry_point
        if isinstance(entry_point, OldEnvCreator):
            entry_point = entry_point.entry_point
        if apply_api_compatibility and entry_point is not None:
            entry_point = OldEnvCreator(load_creator(env_spec, entry_point, Env))
        env_spec = env_spec.copy(entry_point=entry_point)
    current = envs.make(env_spec, max_episode_steps, disable_env_checker, **kwargs)
    env: Env = _as_gym26(current, autoreset)
    return env


def _as_gym26(env: Any, autoreset: bool = False) -> Any:
    """Replace the wrappers that `make` has added by those of Gym 0.26."""
    cls = type(env)
    is_layer = cls.__module__.startswith("gymcore.wrappers.") and cls.__name__ in _LAYERS
    if is_layer and cls.__name__ in _RENDERING:
        inner = _as_gym26(env.env, autoreset)
    elif autoreset:
        return wrappers.AutoResetWrapper(_as_gym26(env))
    elif is_layer:
        inner = _as_gym26(env.env)
    else:
        return env
    return getattr(wrappers, cls.__name__)(inner, **env._saved_kwargs)


def register(
    id: str,
    entry_point: Any = None,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    max_episode_steps: int | None = None,
    order_enforce: bool = True,
    autoreset: bool = False,
    disable_env_checker: bool = False,
    apply_api_compatibility: bool = False,
    **kwargs: Any,
) -> None:
    """Register an environment for `make` of this namespace and of `gymcore`.

    The arguments are those of `gymcore.register`, and two more: `autoreset` tells whether the step
    that ends an episode resets the environment, `apply_api_compatibility` whether the entry point
    makes an environment with the interface of Gym 0.21.

    Examples:
        >>> register("Maze-v0", entry_point="games.mazes:Maze", max_episode_steps=100)
        >>> registry.pop("Maze-v0").max_episode_steps
        100
    """
    if apply_api_compatibility:
        entry_point = OldEnvCreator(entry_point)
    if autoreset:
        added = tuple(kwargs.pop("additional_wrappers", ()))
        kwargs["additional_wrappers"] = (wrappers.AutoResetWrapper.wrapper_spec(), *added)
    envs.register(
        id,
        entry_point=entry_point,
        reward_threshold=reward_threshold,
        nondeterministic=nondeterministic,
        max_episode_steps=max_episode_steps,
        order_enforce=order_enforce,
        disable_env_checker=disable_env_checker,
        **kwargs,
    )


def load_env_plugins(entry_point: str = "gym.envs") -> None:
    """Let installed packages register their environments, as `import gym` did.

    Args:
        entry_point: Name of the group of entry points. Each entry point is a function without
            arguments. Its name becomes the namespace of the ids that it registers, unless it is
            `__root__` or `__internal__`. If the function raises an error, a warning is issued.
    """
    for plugin in metadata.entry_points(group=entry_point):
        is_root = plugin.name in ("__root__", "__internal__")
        with contextlib.nullcontext() if is_root else namespace(plugin.name):
            try:
                plugin.load()()
            except Exception as problem:
                logger.warn(f"plugin: {plugin.value} raised {problem!r}")
