"""`gymcore.vector.make`: Gym 0.26's function with the current engines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from gymcore import vector
from gymcore.core import Env
from gymcore.envs.making import make as make_single
from gymcore.envs.making import make_vec, make_wrapped, warn_of_wrappers
from gymcore.error import ArgumentTypeError
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.specs import EnvSpec, find_spec
from gymcore.specs.env_spec import Kwargs
from gymcore.vector import AutoresetMode
from gymcore.vector.gym26_infos import GYM26_MAKERS, Gym26VectorEnv
from gymcore.vector.vector_env import VectorWrapper
from gymcore_ext.python_envs.infos import RowSplitter

Created = TypeVar("Created")
Wrappers: TypeAlias = Callable[[Created], Created] | Iterable[Callable[[Created], Created]] | None


class Gym26NativeVectorEnv(Gym26VectorEnv):
    """A `Gym26VectorEnv` of a compiled engine, which adds the names to its infos itself.

    Adding the names to the results of a step would take a fifth of a step of 64 lanes.
    """

    def __init__(self, env: NativeVectorEnv) -> None:
        """Wrap `env` and let its infos have the names."""
        super().__init__(env)
        rows = RowSplitter(), "final_obs", "_final_obs"
        env.set_lazy_infos({**GYM26_MAKERS, "final_observation": rows})

    step = VectorWrapper.step
    step_lanes = VectorWrapper.step_lanes


def make(
    id: str | EnvSpec,
    num_envs: int = 1,
    asynchronous: bool | None = None,
    wrappers: Wrappers[Env] = None,
    disable_env_checker: bool | None = None,
    **kwargs: Any,
) -> Gym26VectorEnv:
    """Create a vector environment as in Gym 0.26: ended episodes restart in the same step.

    Args:
        id: Id or spec of the environment.
        num_envs: Number of environments.
        asynchronous: Whether to step them in worker processes instead of one after another in this
            process; None selects the compiled engine if the id has one and no wrappers are given,
            otherwise this process.
        wrappers: One or several functions that are applied to each single environment.
        disable_env_checker: Whether to leave out the environment checker; otherwise the first
            environment has it.
        **kwargs: Arguments of the environment, as in `gymcore.make`.

    Returns:
        The vector environment. When an episode ends, `infos` has its final observation under both
        `final_observation` and `final_obs`, and its final info under `final_info`.

    Raises:
        Error: If the environment cannot be made.
        ArgumentTypeError: If `wrappers` is neither a function nor functions (a `TypeError`).

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.vector.make("CartPole-v1", num_envs=3)
        >>> envs.action_space
        MultiDiscrete([2 2 2])
        >>> observations, infos = envs.reset(seed=7)
        >>> observations.shape
        (3, 4)
    """
    # Resolved here, because worker processes may not have the registration.
    spec = id if isinstance(id, EnvSpec) else find_spec(id)
    has_engine = spec.vector_entry_point is not None and not spec.additional_wrappers
    if asynchronous is None and wrappers is None and has_engine:
        envs = make_vec(
            spec,
            num_envs=num_envs,
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
            **kwargs,
        )
        if isinstance(envs, NativeVectorEnv):
            return Gym26NativeVectorEnv(envs)
        return Gym26VectorEnv(envs)

    if asynchronous is None and has_engine and wrappers is not None:
        warn_of_wrappers("vector.make", spec.id, "asynchronous=False or True")
    engine = vector.AsyncVectorEnv if asynchronous else vector.SyncVectorEnv
    env_fns = single_env_fns(make_single, spec, num_envs, wrappers, disable_env_checker, kwargs)
    return Gym26VectorEnv(engine(env_fns, autoreset_mode=AutoresetMode.SAME_STEP))


def single_env_fns(
    make_env: Callable[..., Created],
    spec: EnvSpec,
    num_envs: int,
    wrappers: Wrappers[Created],
    disable_env_checker: bool | None,
    kwargs: Kwargs,
) -> list[Callable[[], Created]]:
    """Return functions that make single environments with `make_env`; only the first is checked.

    The other arguments are those of `make`.
    """
    if wrappers is None:
        wrappers = ()
    functions = tuple(wrappers) if isinstance(wrappers, Iterable) else (wrappers,)
    if not all(callable(wrapper) for wrapper in functions):
        raise ArgumentTypeError(f"wrappers: expected a function or functions, got {wrappers!r}")
    checks = [disable_env_checker, *[True] * (num_envs - 1)]
    return [
        functools.partial(
            make_wrapped, make_env, spec, functions, {**kwargs, "disable_env_checker": disable}
        )
        for disable in checks[:num_envs]
    ]
