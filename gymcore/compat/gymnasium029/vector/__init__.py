"""`gymnasium.vector` of 0.29: that of Gym 0.26, with vector environments that are `Env`s."""

from __future__ import annotations

from typing import Any

from gymcore import error
from gymcore import vector as current
from gymcore.compat.gym26 import vector as gym26
from gymcore.compat.gym26.envs import registration
from gymcore.compat.old_modules import joined_modules
from gymcore.core import ActType, Env, Info, ObsType, Options
from gymcore.envs import vector_make
from gymcore.spaces import Space
from gymcore.specs import EnvSpec, find_spec
from gymcore.specs.env_spec import Kwargs
from gymcore.vector import utils
from gymcore.vector.vector_env import ArrayType, Seeds, VectorStep

__all__ = [
    "AsyncVectorEnv",
    "SyncVectorEnv",
    "VectorEnv",
    "VectorEnvWrapper",
    "make",
    "make_vec",
    "utils",
]
__getattr__ = joined_modules(__name__)


# The methods of an `Env` have different types.
_Env: Any = Env


class VectorEnv(current.VectorEnv[ObsType, ActType, ArrayType], _Env):  # type: ignore[misc]
    """Base class of vector environments, which are instances of `Env` in Gymnasium 0.29.

    A subclass overrides `reset_wait`, `step_async` and `step_wait`, or `reset` and `step`.
    """

    def __init__(self, num_envs: int, observation_space: Space, action_space: Space) -> None:
        """Store the number of environments and the spaces of one environment; batch the spaces."""
        self.num_envs = num_envs
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = utils.batch_space(observation_space, num_envs)
        self.action_space = utils.batch_space(action_space, num_envs)

    def reset_async(self, seed: Seeds = None, options: Options = None) -> None:
        """Start a reset."""

    def reset_wait(self, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Return the first observations, as `reset` does."""
        raise NotImplementedError

    def step_async(self, actions: ActType) -> None:
        """Start a step."""

    def step_wait(self) -> VectorStep[ObsType, ArrayType]:
        """Return the results of the step started by `step_async`, as `step` does."""
        raise NotImplementedError

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start new episodes; see `gymcore.vector.VectorEnv.reset`."""
        self.reset_async(seed=seed, options=options)
        return self.reset_wait(seed=seed, options=options)

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Take one action in every environment; see `gymcore.vector.VectorEnv.step`."""
        self.step_async(actions)
        return self.step_wait()


class VectorEnvWrapper(gym26.VectorEnvWrapper, VectorEnv):
    """Base class of vector wrappers: forwards attributes of inner layers."""


class SyncVectorEnv(gym26.SyncVectorEnv, VectorEnvWrapper):
    """Step several environments one after another in this process.

    Examples:
        >>> import gymcore.compat.gymnasium029 as gym
        >>> envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> isinstance(envs, gym.Env)
        True
    """


class AsyncVectorEnv(gym26.AsyncVectorEnv, VectorEnvWrapper):
    """Step several environments in worker processes."""


def make_vec(
    id: str | EnvSpec,
    num_envs: int = 1,
    vectorization_mode: str = "async",
    vector_kwargs: Kwargs | None = None,
    wrappers: vector_make.Wrappers[Env] = None,
    **kwargs: Any,
) -> VectorEnvWrapper:
    """Make a vector environment.

    Args:
        id: Id or spec of the environment.
        num_envs: Number of environments.
        vectorization_mode: "async" for worker processes, "sync" for this process, "custom" for the
            compiled engine.
        vector_kwargs: Arguments of `AsyncVectorEnv` or `SyncVectorEnv`.
        wrappers: One or several functions applied to each single environment; not with "custom".
        **kwargs: Arguments of `make`.

    Raises:
        Error: If `vectorization_mode` is unknown, or is "custom" and the id has no compiled engine
            or `wrappers` are given.
    """
    env_spec = find_spec(id) if isinstance(id, str) else id
    if vectorization_mode == "custom":
        if wrappers or env_spec.vector_entry_point is None:
            raise error.Error(
                f"vectorization_mode: {env_spec.id} has no vector_entry_point"
                if env_spec.vector_entry_point is None
                else "wrappers: expected none with vectorization_mode='custom'"
            )
        return VectorEnvWrapper(vector_make.make(env_spec, num_envs, **kwargs))
    engines = {"async": AsyncVectorEnv, "sync": SyncVectorEnv}
    if vectorization_mode not in engines:
        raise error.Error(
            f"vectorization_mode: expected async, sync or custom, got {vectorization_mode!r}"
        )
    check = kwargs.pop("disable_env_checker", None)
    env_fns = vector_make.single_env_fns(
        registration.make, env_spec, num_envs, wrappers, check, kwargs
    )
    return engines[vectorization_mode](env_fns, **(vector_kwargs or {}))


def make(
    id: str | EnvSpec,
    num_envs: int = 1,
    asynchronous: bool | None = None,
    wrappers: vector_make.Wrappers[Env] = None,
    disable_env_checker: bool | None = None,
    **kwargs: object,
) -> VectorEnvWrapper:
    """Make a vector environment; the arguments are those of `gymcore.vector.make`.

    In Gymnasium 0.29, `asynchronous` was True by default.
    """
    env_spec = find_spec(id) if isinstance(id, str) else id
    mode = "async" if asynchronous else "sync"
    if asynchronous is None and wrappers is None and env_spec.vector_entry_point is not None:
        mode = "custom"
    kwargs["disable_env_checker"] = disable_env_checker
    return make_vec(env_spec, num_envs, mode, None, wrappers, **kwargs)
