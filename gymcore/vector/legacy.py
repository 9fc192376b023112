"""Gym 0.26's `gym.vector.make`, on today's engines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy.typing as npt

from gymcore.core import Env
from gymcore.envs.making import make as make_single
from gymcore.envs.making import make_vec
from gymcore.error import ArgumentTypeError
from gymcore.specs import EnvSpec, VectorizeMode, find_spec
from gymcore.vector.legacy_infos import FinalInfos, LegacyInfos, with_legacy_names
from gymcore.vector.sync_vector_env import SyncVectorEnv
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorWrapper

__all__ = ["FinalInfos", "LegacyInfos", "LegacyVectorEnv", "make"]

EnvWrapper = Callable[[Env[Any, Any]], Env[Any, Any]]


def make(
    id: str | EnvSpec,
    num_envs: int = 1,
    asynchronous: bool | None = None,
    wrappers: EnvWrapper | Iterable[EnvWrapper] | None = None,
    disable_env_checker: bool | None = None,
    **kwargs: Any,
) -> LegacyVectorEnv:
    """Make a vector environment as Gym 0.26 did: ended episodes restart in the same step.

    Args:
        id: The environment's id, or its spec.
        num_envs: Number of environments.
        asynchronous: True steps them in worker processes, False one after another in this process;
            None takes the compiled engine where the id has one and no wrappers are given, and this
            process otherwise.
        wrappers: A function, or several, applied to each single environment.
        disable_env_checker: True leaves the environment checker out; else the first environment
            has it.
        **kwargs: For the environment, as in `gymcore.make`.

    Returns:
        The vector environment. When an episode ends, `infos` holds its last observation under both
        `final_observation` and `final_obs`, and its last info under `final_info`.

    Raises:
        Error: The environment cannot be made.
        ArgumentTypeError: `wrappers` is neither a function nor functions (a `TypeError`).

    Example:
        >>> import gymcore as gym
        >>> envs = gym.vector.make("CartPole-v1", num_envs=3)
        >>> envs.action_space
        MultiDiscrete([2 2 2])
        >>> observations, infos = envs.reset(seed=7)
        >>> observations.shape
        (3, 4)
    """
    # Resolved here: worker processes need not know the registration.
    spec = id if isinstance(id, EnvSpec) else find_spec(id)
    has_engine = spec.vector_entry_point is not None and not spec.additional_wrappers
    if asynchronous is None and wrappers is None and has_engine:
        return LegacyVectorEnv(
            make_vec(
                spec,
                num_envs=num_envs,
                vectorization_mode=VectorizeMode.VECTOR_ENTRY_POINT,
                vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
                **kwargs,
            )
        )

    engine: Callable[..., VectorEnv[Any, Any, Any]] = SyncVectorEnv
    if asynchronous:
        from gymcore.vector.async_vector_env import AsyncVectorEnv

        engine = AsyncVectorEnv
    make_one = functools.partial(_make_one, spec, _as_tuple(wrappers), kwargs)
    env_fns = [
        functools.partial(make_one, disable_env_checker if i == 0 else True)
        for i in range(num_envs)
    ]
    return LegacyVectorEnv(engine(env_fns, autoreset_mode=AutoresetMode.SAME_STEP))


class LegacyVectorEnv(VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]]):
    """A same-step vector environment whose infos have Gym 0.26's names beside today's.

    Attributes that are not its own are those of the wrapped environment, as with Gym's wrappers.
    """

    def step(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step the environments; see `VectorEnv.step`.

        Returns:
            As `VectorEnv.step`. Where an episode has ended, the observation is the next episode's
            first, and the infos hold the old one's last: `final_obs` as the engine gives it,
            `final_observation` (an object array, None where no episode has ended), `final_info` (a
            `FinalInfos`), and a mask for each. The infos are a `LegacyInfos`, which builds the last
            two when they are read.
        """
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            infos = with_legacy_names(infos)
        return observations, rewards, terminations, truncations, infos

    def step_lanes(
        self, actions: Any, env_ids: Any
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step some of the environments; see `VectorEnv.step_lanes`."""
        *arrays, infos = self.env.step_lanes(actions, env_ids)
        if "final_obs" in infos:
            infos = with_legacy_names(infos)
        observations, rewards, terminations, truncations = arrays
        return observations, rewards, terminations, truncations, infos

    @property
    def steps_some_lanes(self) -> bool:  # type: ignore[override]
        """Whether the engine does."""
        return self.env.steps_some_lanes

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped environment."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)


def _make_one(
    spec: EnvSpec,
    wrappers: tuple[EnvWrapper, ...],
    kwargs: dict[str, Any],
    disable_env_checker: bool | None,
) -> Env[Any, Any]:
    env = make_single(spec, disable_env_checker=disable_env_checker, **kwargs)
    for wrapper in wrappers:
        env = wrapper(env)
    return env


def _as_tuple(wrappers: EnvWrapper | Iterable[EnvWrapper] | None) -> tuple[EnvWrapper, ...]:
    if wrappers is None:
        return ()
    if callable(wrappers):
        return (wrappers,)
    if isinstance(wrappers, Iterable):
        several = tuple(wrappers)
        if all(callable(wrapper) for wrapper in several):
            return several
    raise ArgumentTypeError(f"wrappers: expected a function or functions, got {wrappers!r}")
