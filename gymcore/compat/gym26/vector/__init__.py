"""`gym.vector` of Gym 0.26: same-step autoreset, `final_observation` and `final_info`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from gymcore import error, vector
from gymcore.compat.gym26 import core
from gymcore.compat.gym26.envs import registration
from gymcore.compat.old_modules import joined_modules
from gymcore.core import Env, Wrapper
from gymcore.envs import vector_make
from gymcore.spaces import Space
from gymcore.specs import EnvSpec, find_spec
from gymcore.vector import AutoresetMode, VectorEnv, utils
from gymcore.vector.engine_options import checked_functions
from gymcore.vector.gym26_infos import Gym26VectorEnv, name_final_infos
from gymcore.vector.protocols import EnvFn

__all__ = ["AsyncVectorEnv", "SyncVectorEnv", "VectorEnv", "VectorEnvWrapper", "make", "utils"]
__getattr__ = joined_modules(__name__)


class _GivenOnly(core.Wrapper):
    """Reset an environment with only those of the engine's arguments that are not None."""

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment."""
        return self.env.reset(**{name: x for name, x in kwargs.items() if x is not None})


def _make_resettable(env_fn: EnvFn) -> Any:
    """Make an environment that an engine can reset with seed=None and options=None."""
    env: object = env_fn()
    layer = env
    while isinstance(layer, Env):
        parameters = inspect.signature(layer.reset).parameters
        has_var_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        if not has_var_keyword and not {"seed", "options"} <= parameters.keys():
            return _GivenOnly(env)
        layer = layer.env if isinstance(layer, Wrapper) else None
    return env


def _resettable(env_fns: Iterable[EnvFn]) -> list[EnvFn]:
    return [functools.partial(_make_resettable, env_fn) for env_fn in checked_functions(env_fns)]


def check_spaces(
    envs: VectorEnv, observation_space: Space | None, action_space: Space | None
) -> VectorEnv:
    """Return `envs`; if it differs from a given space, close it and raise `SpaceMismatch`."""
    for name, space in (("observation_space", observation_space), ("action_space", action_space)):
        single = getattr(envs, f"single_{name}")
        if space is not None and space != single:
            envs.close()
            raise error.SpaceMismatch(f"{name}: expected {single}, got {space}")
    return envs


class VectorEnvWrapper(Gym26VectorEnv):
    """Base class of Gym 0.26 vector wrappers: forwards attributes of inner layers.

    `step` calls `step_async` and then `step_wait`, so either can be overridden.
    """

    _actions: object = None

    def step_async(self, actions: object) -> None:
        """Start a step; without worker processes, store the actions for `step_wait`."""
        if hasattr(self.env, "step_async"):
            self.env.step_async(actions)
        else:
            self._actions = actions

    def step_wait(self, **kwargs: object) -> Any:
        """Finish the step started by `step_async`; `AsyncVectorEnv` accepts a `timeout` [s]."""
        if hasattr(self.env, "step_wait"):
            results = self.env.step_wait(**kwargs)
        else:
            results = self.env.step(self._actions)
        return name_final_infos(results)

    def step(self, actions: object) -> Any:
        """Step the environments; see `VectorEnv.step`."""
        return self._call_whole(lambda: self.step_async(actions), self.step_wait)

    def _call_whole(self, begin: Any, wait: Any) -> Any:
        return self.env._call_whole(begin, wait)


class SyncVectorEnv(VectorEnvWrapper):
    """Step several environments one after another in this process (Gym 0.26).

    Examples:
        >>> import gymcore.compat.gym26 as gym
        >>> envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> observations, infos = envs.reset(seed=1)
        >>> while "final_observation" not in infos:
        ...     observations, rewards, terminated, truncated, infos = envs.step([0, 1])
        >>> infos["final_info"].shape
        (2,)
    """

    unwrapped = property(lambda self: self, doc="This vector environment.")

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        observation_space: Space | None = None,
        action_space: Space | None = None,
        copy: bool = True,
    ) -> None:
        """Make the environments; `gymcore.vector.SyncVectorEnv` describes the arguments.

        `observation_space` and `action_space` are those of one environment; environments with other
        spaces raise `SpaceMismatch`.
        """
        envs = vector.SyncVectorEnv(
            _resettable(env_fns), copy=copy, autoreset_mode=AutoresetMode.SAME_STEP
        )
        super().__init__(check_spaces(envs, observation_space, action_space))


class AsyncVectorEnv(VectorEnvWrapper):
    """Step several environments in worker processes (Gym 0.26)."""

    unwrapped = property(lambda self: self, doc="This vector environment.")

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        observation_space: Space | None = None,
        action_space: Space | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Start the workers; the arguments are those of `gymcore.vector.AsyncVectorEnv`.

        `observation_space` and `action_space` are those of one environment; environments with other
        spaces raise `SpaceMismatch`.
        """
        kwargs["autoreset_mode"] = AutoresetMode.SAME_STEP
        envs = vector.AsyncVectorEnv(_resettable(env_fns), *args, **kwargs)
        super().__init__(check_spaces(envs, observation_space, action_space))


def make(
    id: str | EnvSpec,
    num_envs: int = 1,
    asynchronous: bool | None = None,
    wrappers: vector_make.Wrappers[Env] = None,
    disable_env_checker: bool | None = None,
    **kwargs: object,
) -> Gym26VectorEnv:
    """Make a vector environment of Gym 0.26.

    The arguments are those of `gymcore.vector.make`, and those of this namespace's `make`, which
    makes the single environments. In Gym 0.26, `asynchronous` was True by default.
    """
    env_spec = find_spec(id) if isinstance(id, str) else id
    if asynchronous is None and wrappers is None and env_spec.vector_entry_point is not None:
        return vector_make.make(env_spec, num_envs, None, None, disable_env_checker, **kwargs)
    env_fns = vector_make.single_env_fns(
        registration.make, env_spec, num_envs, wrappers, disable_env_checker, kwargs
    )
    return AsyncVectorEnv(env_fns) if asynchronous else SyncVectorEnv(env_fns)
