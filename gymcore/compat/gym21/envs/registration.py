"""`make` and `register` of Gym 0.21."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymcore
from gymcore import logger
from gymcore.compat.gym21 import wrappers
from gymcore.compat.gym21.done_envs import DoneEnv
from gymcore.compat.gym21.envs import atari, box2d, classic_control, mujoco, toy_text
from gymcore.compat.old_envs import OldEnvCreator
from gymcore.specs import EnvSpec, find_spec
from gymcore.specs import registry as specs
from gymcore.specs.env_spec import Kwargs

__all__ = ["EnvRegistry", "EnvSpec", "make", "register", "registry", "spec"]

_FAMILIES = {
    "atari": atari,
    "box2d": box2d,
    "classic_control": classic_control,
    "mujoco": mujoco,
    "toy_text": toy_text,
}
# Ants of versions 2 and 3 observe contact forces, and have a cost for them.
_ARGUMENTS = {"Ant": {"use_contact_forces": True}}
_DIFFERENCES = {
    "Ant": "contact forces, which versions 2 and 3 observed and charged for, are computed; "
    "mujoco-py 2.0 and newer left them at 0",
    "Humanoid": "contacts cost nothing, and the contact forces that it observes are computed; "
    "mujoco-py 2.0 and newer left them at 0",
    "HumanoidStandup": "the contact forces that it observes and charges for are computed; "
    "mujoco-py 2.0 and newer left them at 0",
}


def spec(id: str) -> EnvSpec:
    """Return the spec of an id, of Gym 0.21 or current.

    Versions 2 and 3 of the MuJoCo environments are version 4, which has their models, observations
    and rewards; a warning describes the differences. Other ids of that time that are not in the
    registry are resolved as by `gymcore.spec`.
    """
    entry = specs.get(id) or find_spec(id)
    if "successor" not in entry.kwargs:
        return entry
    differences = _DIFFERENCES.get(entry.name)
    logger.warn(
        f"{entry.id} is {entry.name}-v4 with the installed MuJoCo in place of mujoco-py: models, "
        "observations and rewards are those of that version, trajectories differ in rounding"
        + (f", and {differences}" if differences else "")
    )
    version_4 = specs[f"{entry.name}-v4"]
    return version_4.copy(id=entry.id, version=entry.version, kwargs=_ARGUMENTS.get(entry.name, {}))


class EnvRegistry:
    """The current registry, a dict, with the interface that it had in Gym 0.21."""

    env_specs = specs

    def all(self) -> Iterable[EnvSpec]:
        """Return the specs of all environments."""
        return self.env_specs.values()

    def make(self, path: str, **kwargs: Any) -> Any:
        """Make an environment; see `make`."""
        return make(path, **kwargs)

    def spec(self, path: str) -> EnvSpec:
        """Return the spec of an id; see `spec`."""
        return spec(path)

    def register(self, id: str, **kwargs: Any) -> None:
        """Register an environment; see `register`."""
        register(id, **kwargs)


registry = EnvRegistry()


def make(id: str | EnvSpec, disable_env_checker: bool = True, **kwargs: Any) -> Any:
    """Make an environment of Gym 0.21, in a `TimeLimit` or, without a limit, in `OrderEnforcing`.

    Args:
        id: Id or spec of the environment. A current environment becomes a `DoneEnv`.
        disable_env_checker: Whether to leave out the `PassiveEnvChecker` of current environments.
        **kwargs: Arguments of the environment, and `max_episode_steps`, a time limit instead of the
            registered one.

    Examples:
        >>> env = make("CartPole-v1")
        >>> print(env)
        <TimeLimit<CartPoleEnv<CartPole-v1>>>
        >>> env.seed(1)
        [1]
        >>> observation = env.reset()
        >>> observation, reward, done, info = env.step(env.action_space.sample())
    """
    env_spec = id if isinstance(id, EnvSpec) else spec(id)
    limit = kwargs.pop("max_episode_steps", env_spec.max_episode_steps)
    entry_point = env_spec.entry_point
    if isinstance(entry_point, OldEnvCreator):
        env: Any = entry_point.old_env(**{**env_spec.kwargs, **kwargs})
    else:
        env = _as_gym21(env_spec, disable_env_checker, kwargs)
    getattr(env, "unwrapped", env).spec = env_spec
    if limit is not None:
        return wrappers.TimeLimit(env, limit)
    return wrappers.OrderEnforcing(env) if env_spec.order_enforce else env


def _as_gym21(env_spec: EnvSpec, disable_checker: bool, kwargs: Kwargs) -> DoneEnv:
    """Return a current environment as an environment of Gym 0.21, of the class it had there."""
    bare = env_spec.copy(order_enforce=False, max_episode_steps=None)
    current = gymcore.make(bare, disable_env_checker=disable_checker, **kwargs)
    cls = type(current.unwrapped)
    family = _FAMILIES.get(cls.__module__.removeprefix("gymcore.envs.").partition(".")[0])
    done_class = getattr(family, cls.__name__, DoneEnv)
    env: DoneEnv = done_class.__new__(done_class)
    DoneEnv.__init__(env, current)
    return env


def register(id: str, entry_point: Callable[..., object] | str, **kwargs: Any) -> None:
    """Register an environment of Gym 0.21; `gymcore.make` gives it the current interface.

    `entry_point` is a class, a function or "module:name"; `kwargs` are those of `gymcore.register`.

    Examples:
        >>> register("Maze-v0", entry_point="games.mazes:Maze", max_episode_steps=100)
        >>> registry.env_specs.pop("Maze-v0").max_episode_steps
        100
    """
    gymcore.register(id, entry_point=OldEnvCreator(entry_point), **kwargs)
