"""Protocols of vector environments, for functions in lower layers, and the type of `env_fns`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gymcore.core import Env, Metadata

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from gymcore.spaces import Space
    from gymcore.specs import EnvSpec
    from gymcore.vector.lane_episodes import AutoresetMode
    from gymcore_ext.engine.batch import Batch

EnvFn: TypeAlias = Callable[[], Env]
"""A function that makes one environment of a vector environment."""


class Batched(Protocol):
    """A vector environment or a wrapper of one; see `VectorEnv` for the attributes."""

    num_envs: int
    metadata: Metadata
    observation_space: Space
    action_space: Space
    single_observation_space: Space
    single_action_space: Space


class PythonEngine(Batched, Protocol):
    """An engine of Python environments, which derives its spaces from theirs."""

    env_fns: tuple[EnvFn, ...]
    observation_mode: str | tuple[Space, Space]


class LoopEngine(PythonEngine, Protocol):
    """An engine whose worker processes run the user's own loop; see `AsyncVectorEnv`."""

    autoreset_mode: AutoresetMode
    context: str | None
    copy: bool
    daemon: bool
    max_concurrency: int | None
    shared_memory: bool
    worker: Any


class CompiledEngine(Protocol):
    """An engine of compiled lanes, each of which can be viewed as a single environment."""

    single_observation_space: Space
    single_action_space: Space
    spec: EnvSpec | None
    render_mode: str | None
    _batch: Batch
    _model: Any


class RunsRollouts(Protocol):
    """An engine that takes many steps in one call; see `NativeVectorEnv.rollout`."""

    def rollout(
        self,
        actions: npt.NDArray[np.generic],
        *,
        observations: npt.NDArray[np.generic],
        rewards: npt.NDArray[np.float64],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
        final_observations: npt.NDArray[np.generic] | None,
        infos: bool,
    ) -> object:
        """Step every lane with each row of `actions`."""
