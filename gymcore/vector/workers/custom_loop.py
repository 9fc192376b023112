"""Environments in processes that run a loop of the user's own (`AsyncVectorEnv(worker=...)`).

Each environment has a process, which calls

    worker(index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore)

`pipe` is the worker's end; `parent_pipe` it should close. `shared_memory` is what
`gymcore.vector.utils.create_shared_memory` returned for the whole batch, or None; `semaphore` is
None unless `max_concurrency` is given, and is to be held while the environment runs. The loop reads
requests `(command, data)` and answers each of them, in order, with `(result, True)`:

| command         | data                                          | result                               |
|-----------------|-----------------------------------------------|--------------------------------------|
| `_check_spaces` | `(observation_mode, single observation space, single action space)`, the first request | `(observation space fits, action space fits)` |
| `reset`         | `{"seed": seed, "options": options}`          | `(observation, info)`                |
| `reset-noop`    | None, where a mask leaves out the environment | `(last observation, {})`             |
| `step`          | one action                                    | `(observation, reward, terminated, truncated, info)` |
| `_call`         | `(name, args, kwargs)`                        | what the method returns              |
| `_setattr`      | `(name, value)`                               | None                                 |
| `close`         | None                                          | None; then the loop returns          |

With shared memory the worker writes observations with `write_to_shared_memory(space, index,
observation, shared_memory)`, and those in its answers are ignored. Autoreset is the worker's duty:
in same-step mode its info is `{"final_info": ..., "final_obs": ..., **reset_info}`. An exception is
reported by `error_queue.put((index, type, exception, traceback_text))` and the answer
`(None, False)`, after which the loop may return.
"""  # noqa: E501

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import (
    CustomSpaceError,
    InvalidArgument,
    SpaceMismatch,
)
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymcore.vector.utils.shared_memory import create_shared_memory, read_from_shared_memory
from gymcore.vector.utils.space_utils import concatenate, create_empty_array
from gymcore.vector.workers.custom_pipe import pickled
from gymcore.vector.workers.custom_process import CustomProcess
from gymcore.vector.workers.custom_workers import CustomWorkers, wrong_answer
from gymcore.vector.workers.failures import Failure, environment_failed, shown_lanes
from gymcore.vector.workers.registry import pickled_registered

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from gymcore.core import Env
    from gymcore.spaces import Space
    from gymcore.vector.vector_env import AutoresetMode

__all__ = ["CustomWorkerEngine"]

_ARGUMENTS = (
    "(index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore)"
)


class CustomWorkerEngine:
    """The parent's side of workers that run a loop of the user's own.

    Every wait ends at its deadline or at the death of a worker. An answer that comes after its
    time-out is dropped.

    Attributes:
        observations: The last batch of observations.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        worker: Callable[..., None],
        context: BaseContext,
        *,
        daemon: bool = True,
        single_observation_space: Space[Any],
        single_action_space: Space[Any],
        observation_mode: Any = "same",
        shared_memory: bool = True,
        copy: bool = True,
        autoreset_mode: AutoresetMode,
        max_concurrency: int | None = None,
        start_timeout: float | None = None,
        name: str = "AsyncVectorEnv",
    ) -> None:
        """Start a process for each environment, and let the workers check the spaces.

        Args:
            env_fns: Functions that each make one environment.
            worker: The loop.
            context: A `multiprocessing` context.
            daemon: Whether the processes are daemons.
            single_observation_space: Space of one environment's observation.
            single_action_space: Space of one environment's action.
            observation_mode: As for `AsyncVectorEnv`; for the workers.
            shared_memory: Whether observations lie in shared memory.
            copy: Whether batches of observations are the caller's to keep; if not, all calls return
                the same arrays.
            autoreset_mode: For the workers.
            max_concurrency: How many environments may run at the same time; None for all.
            start_timeout: How long the workers may take for their first answer, in seconds; None
                for ever.
            name: Of the vector environment's class, for names of processes and messages.

        Raises:
            InvalidArgument: A loop that does not take eight arguments, or a custom space in shared
                memory (a `ValueError`).
            ArgumentTypeError: A space of no fixed size in shared memory (a `TypeError`).
            SpaceMismatch: The environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: A worker reported an exception.
            WorkerDied: A worker ended before its first answer.
            WorkerTimeout: An answer did not come in time.
        """
        _check_signature(worker)
        self._num_envs = len(env_fns)
        self._space = single_observation_space
        self._copy = copy
        self._workers = CustomWorkers()
        self._memory = self._allocate(context) if shared_memory else None
        self._fixed = _all_arrays(single_observation_space)
        if self._memory is None:
            self.observations = create_empty_array(single_observation_space, self._num_envs)
        else:
            self.observations = self._read()
        semaphore = None if max_concurrency is None else context.BoundedSemaphore(max_concurrency)
        fork = context.get_start_method() == "fork"
        registered = [] if fork else pickled_registered()
        try:
            for index, env_fn in enumerate(env_fns):
                self._workers.workers.append(
                    CustomProcess(
                        context,
                        f"Worker<{name}>-{index}",
                        daemon,
                        worker,
                        env_fn,
                        index,
                        (self._memory, autoreset_mode, semaphore),
                        registered,
                        self._workers.workers,
                    )
                )
            self._check_spaces(observation_mode, single_action_space, start_timeout, name)
        except BaseException:
            self.close(0.0)
            raise

    @property
    def owner(self) -> int:
        """Process id of the process that made the engine."""
        return self._workers.owner

    @property
    def dead(self) -> list[int]:
        """Indices of the workers that have died."""
        return self._workers.dead

    @property
    def processes(self) -> list[Any]:
        """The `multiprocessing` process of each environment; none after `close`."""
        if self._workers.closed:
            return []
        return [worker.process.process for worker in self._workers.workers]

    @property
    def parent_pipes(self) -> list[Any]:
        """The parent's end of each pipe."""
        return [worker.pipe.connection for worker in self._workers.workers]

    # --- starting ------------------------------------------------------------------------------

    def _allocate(self, context: BaseContext) -> Any:
        try:
            return create_shared_memory(self._space, self._num_envs, context)
        except CustomSpaceError as problem:
            raise InvalidArgument(
                "Using `AsyncVector(..., shared_memory=True)` caused an error, you can disable "
                "this feature with `shared_memory=False` however this is slower."
            ) from problem

    def _check_spaces(
        self, observation_mode: Any, action_space: Any, timeout: float | None, name: str
    ) -> None:
        request = pickled(("_check_spaces", (observation_mode, self._space, action_space)))
        self._workers.post("_check_spaces", "starting", [request] * self._num_envs)
        found = self._workers.wait("_check_spaces", "__init__", timeout)
        fits = self._unpacked(found, 2, "_check_spaces")
        odd = [i for i, (observation, _) in enumerate(fits) if not observation]
        if odd and observation_mode == "same":
            raise SpaceMismatch(
                f"{name}(..., observation_mode='same') however some of the sub-environments "
                f"observation spaces are not equivalent: {shown_lanes(odd)} differ from "
                f"{self._space}. If this is intentional, use `observation_mode='different'` "
                "instead."
            )
        if odd:
            raise SpaceMismatch(
                f"{name}(..., observation_mode='different' or custom space) however the "
                "sub-environment's observation spaces do not share a common shape and dtype: "
                f"{shown_lanes(odd)} differ from {self._space}."
            )
        odd = [i for i, (_, action) in enumerate(fits) if not action]
        if odd:
            raise SpaceMismatch(
                f"Some environments have an action space different from `{action_space}`. In order "
                "to batch actions, the action spaces from all environments must be equal: "
                f"{shown_lanes(odd)} differ."
            )

    # --- calls ---------------------------------------------------------------------------------

    def reset(
        self,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
        timeout: float | None = None,
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Reset; `reset_async` and `reset_wait` in one."""
        self.reset_async(seeds, options, mask)
        return self.reset_wait(timeout)

    def reset_async(
        self,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Begin a reset.

        Args:
            seeds: One seed or None for each environment.
            options: For the environments, without a mask.
            mask: `[num_envs] bool`, which ones to reset; None for all.
        """
        noop = pickled(("reset-noop", None))
        requests = [
            pickled(("reset", {"seed": seed, "options": options}))
            if mask is None or mask[i]
            else noop
            for i, seed in enumerate(seeds)
        ]
        self._workers.post("reset", "reset", requests)

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, list[dict[str, Any]]]:
        """Return the batch of observations, and the info of each environment.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Raises:
            EnvironmentFailed: Workers reported exceptions.
            WorkerDied: A worker died.
            WorkerTimeout: An answer did not come in time.
            NoAsyncCallError: There was no `reset_async`.
        """
        found = self._unpacked(self._workers.wait("reset", "reset_wait", timeout), 2, "reset")
        infos = [info or {} for _, info in found]
        return self._batch([observation for observation, _ in found]), infos

    def step(self, actions: Sequence[Any], timeout: float | None = None) -> tuple[Any, ...]:
        """Step; `step_async` and `step_wait` in one."""
        self.step_async(actions)
        return self.step_wait(timeout)

    def step_async(self, actions: Sequence[Any]) -> None:
        """Begin a step.

        Args:
            actions: One for each environment.
        """
        self._workers.post("step", "step", [pickled(("step", action)) for action in actions])

    def step_wait(
        self, timeout: float | None = None
    ) -> tuple[
        Any,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        list[dict[str, Any]],
    ]:
        """Return what a step of the batch returns, but the infos of the environments unmerged.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Returns:
            The batch of observations; rewards `[num_envs] float64`; terminated and truncated
            `[num_envs] bool`; a list of infos.

        Raises:
            EnvironmentFailed: Workers reported exceptions.
            WorkerDied: A worker died.
            WorkerTimeout: An answer did not come in time.
            NoAsyncCallError: There was no `step_async`.
        """
        found = self._unpacked(self._workers.wait("step", "step_wait", timeout), 5, "step")
        observations, rewards, terminated, truncated, infos = zip(*found, strict=True)
        numbers = np.empty(len(rewards), dtype=np.float64)
        for index, reward in enumerate(rewards):
            try:
                # An array of one element counts as a number.
                numbers[index] = reward.item() if isinstance(reward, np.ndarray) else reward
            except (TypeError, ValueError) as problem:
                raise environment_failed([index], "step (its reward)", problem) from problem
        return (
            self._batch(list(observations)),
            numbers,
            np.array([bool(flag) for flag in terminated], dtype=np.bool_),
            np.array([bool(flag) for flag in truncated], dtype=np.bool_),
            [info or {} for info in infos],
        )

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], timeout: float | None = None
    ) -> list[Any]:
        """Call; `call_async` and `call_wait` in one."""
        self.call_async(name, args, kwargs)
        return self.call_wait(timeout)

    def call_async(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Begin a call of a method of every environment, or get an attribute."""
        request = pickled(("_call", (name, args, kwargs)))
        self._workers.post("call", name, [request] * self._num_envs)

    def call_wait(self, timeout: float | None = None) -> list[Any]:
        """Return one result for each environment; raises as `reset_wait`."""
        return self._workers.wait("call", "call_wait", timeout)

    def set_attr(self, name: str, values: Sequence[Any], timeout: float | None = None) -> None:
        """Set an attribute of every environment.

        Args:
            name: Name of the attribute.
            values: One for each environment.
            timeout: How long to wait, in seconds; None for ever.
        """
        requests = [pickled(("_setattr", (name, value))) for value in values]
        self._workers.post("set_attr", "set_attr", requests)
        self._workers.wait("set_attr", "set_attr", timeout)

    # --- observations --------------------------------------------------------------------------

    def _read(self) -> Any:
        return read_from_shared_memory(self._space, self._memory, self._num_envs)

    def _batch(self, env_observations: list[Any]) -> Any:
        """Return the batch of observations."""
        if self._memory is not None:
            if not self._fixed:
                self.observations = self._read()
            return deepcopy(self.observations) if self._copy else self.observations
        out = self.observations
        if self._copy:
            out = create_empty_array(self._space, self._num_envs)
        self.observations = concatenate(self._space, env_observations, out)
        return self.observations

    def _unpacked(self, results: list[Any], count: int, what: str) -> list[Any]:
        """Check that every result is a tuple of `count` elements."""
        for index, result in enumerate(results):
            if not isinstance(result, (tuple, list)) or len(result) != count:
                raise wrong_answer(index, what, f"a tuple of {count}", result)
        return results

    # --- ending --------------------------------------------------------------------------------

    def close(self, timeout: float | None = None, terminate: bool = False) -> list[Failure]:
        """Close; see `CustomWorkers.close`."""
        return self._workers.close(timeout, terminate)


def _check_signature(worker: Callable[..., None]) -> None:
    """Raise unless the loop can be called with the eight arguments."""
    try:
        inspect.signature(worker).bind(*[None] * 8)
    except TypeError as problem:
        if not callable(worker):
            raise
        raise InvalidArgument(
            "A custom `worker` must accept 8 arguments. Got the signature "
            f"{inspect.signature(worker)} which should match {_ARGUMENTS}."
        ) from problem
    except ValueError:  # a callable that has no signature to look at
        return


def _all_arrays(space: Space[Any]) -> bool:
    """Whether a batch is made of arrays alone."""
    if isinstance(space, Tuple):
        return all(map(_all_arrays, space.spaces))
    if isinstance(space, Dict):
        return all(map(_all_arrays, space.spaces.values()))
    return isinstance(space, (Box, Discrete, MultiDiscrete, MultiBinary))
