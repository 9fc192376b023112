"""`make` and `register` of Gym 0.21."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymcore
from gymcore.compat.bridges import to_done_api
from gymcore.compat.old_envs import OldEnvCreator
from gymcore.specs import EnvSpec, spec
from gymcore.specs import registry as specs

__all__ = ["EnvRegistry", "EnvSpec", "make", "register", "registry", "spec"]


class EnvRegistry:
    """The current registry, which is a dict, with the attributes that it had in Gym 0.21."""

    env_specs = specs

    def all(self) -> Iterable[EnvSpec]:
        """Return the specs of all environments."""
        return self.env_specs.values()


registry = EnvRegistry()


def make(id: str, **kwargs: Any) -> Any:
    """Make an environment with the interface of Gym 0.21; `kwargs` are those of `gymcore.make`.

    `disable_env_checker=False` adds the checks of the passive checker.

    Example:
        >>> env = make("CartPole-v1")
        >>> env.seed(1)
        [1]
        >>> observation = env.reset()
        >>> observation, reward, done, info = env.step(env.action_space.sample())
    """
    kwargs.setdefault("disable_env_checker", True)
    return to_done_api(gymcore.make(id, **kwargs))


def register(id: str, entry_point: Callable[..., object] | str, **kwargs: Any) -> None:
    """Register an environment of Gym 0.21; `gymcore.make` gives it the current interface.

    `entry_point` is a class, a function or "module:name"; `kwargs` are as for `gymcore.register`.

    Example:
        >>> register("Maze-v0", entry_point="games.mazes:Maze", max_episode_steps=100)
        >>> registry.env_specs.pop("Maze-v0").max_episode_steps
        100
    """
    gymcore.register(id, entry_point=OldEnvCreator(entry_point), **kwargs)
