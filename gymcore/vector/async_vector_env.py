"""A vector environment that steps Python environments in worker processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import logger
from gymcore.core import ActType, Env, ObsType
from gymcore.error import (
    EnvironmentFailed,
    ResetNeeded,
    WorkerDied,
)
from gymcore.spaces import Space
from gymcore.utils.arguments import seeds_per_env, split_reset_mask
from gymcore.vector.async_calls import AsyncCalls
from gymcore.vector.async_options import AsyncOptions, checked_timeout
from gymcore.vector.async_partial import AsyncPartial
from gymcore.vector.async_state import AsyncState, AsyncStates
from gymcore.vector.layouts import action_layout, has_objects, layout_of
from gymcore.vector.sub_envs import adopt_spaces
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore.vector.workers import loop
from gymcore.vector.workers.actions import checked_actions, store_actions
from gymcore.vector.workers.failures import failures_raised
from gymcore.vector.workers.plan import Plan, check_sharable
from gymcore.vector.workers.pool import Replies, WorkerPool, overflow_of
from gymcore.vector.workers.results import Results

__all__ = ["AsyncState", "AsyncVectorEnv"]

_MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)

# How long a worker that is idle may take to accept a message, in seconds.
_ACCEPT_SECONDS = 60.0


class AsyncVectorEnv(  # type: ignore[misc]
    AsyncPartial, AsyncCalls, AsyncStates, VectorEnv[ObsType, ActType, npt.NDArray[Any]]
):
    """Steps environments in worker processes that each own a range of them.

    Observations, actions, rewards, flags and numeric infos lie in memory that all processes share.
    A worker that dies, hangs or raises is an exception here that names its environments; `close`
    always succeeds, and nothing stays behind.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 4, num_workers=2)
        >>> observations, infos = envs.reset(seed=42)
        >>> envs.step_async([0, 1, 1, 0])
        >>> observations, rewards, terminations, truncations, infos = envs.step_wait(timeout=60)
        >>> rewards
        array([1., 1., 1., 1.])
        >>> envs.close()
    """

    steps_some_lanes = True

    def __init__(
        self,
        env_fns: Iterable[Callable[[], Env[Any, Any]]],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: Callable[..., None] | None = None,
        observation_mode: str | tuple[Space[Any], Space[Any]] = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_concurrency: int | None = None,
        *,
        num_workers: int | None = None,
        batch_size: int | None = None,
        on_worker_death: str = "raise",
        episode_statistics: bool = False,
        num_threads: int | None = None,
        start_timeout: float | None = 300.0,
    ) -> None:
        """Start the workers and make the environments in them.

        Args:
            env_fns: Functions without arguments that each make one environment.
            shared_memory: Whether observations lie in shared memory; if not, they are pickled.
            copy: Whether `reset` and `step` return observations that are the caller's to keep. If
                False they return views of the shared memory, which the next call overwrites.
            context: How processes are started: "fork", "spawn", "forkserver", or None for the
                default of `multiprocessing`.
            daemon: Whether workers are daemon processes, which cannot have children of their own.
            worker: A loop to run in one process for each environment instead of the engine's own;
                see `gymcore.vector.workers.custom_loop`.
            observation_mode: As for `SyncVectorEnv`.
            autoreset_mode: When an ended environment is reset.
            max_concurrency: How many environments may run at the same time, at most.
            num_workers: Number of processes; None for the CPUs that this process may use.
            batch_size: How many results `recv` returns; None for all.
            on_worker_death: "raise" a `WorkerDied` from then on, or "restart": the environments of
                that worker are made again and reset, and report themselves truncated, with
                `info["worker_restarted"]`.
            episode_statistics: Report ended episodes in `info["episode"]`.
            num_threads: For the compiled engine; without effect here.
            start_timeout: How long making the environments may take (s); None for ever.

        Raises:
            InvalidArgument: No functions, or an impossible option (a `ValueError`).
            ArgumentTypeError: Something that is no function or no space, or a function or a space
                that cannot be shared between processes (a `TypeError`).
            SpaceMismatch: The environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: A constructor raised.
            WorkerDied: A worker ended while it made its environments.
            WorkerTimeout: They were not made in time.
        """
        self._pool: WorkerPool | None = None
        self._state = AsyncState.DEFAULT
        options = AsyncOptions.checked(
            env_fns,
            autoreset_mode,
            max_concurrency,
            num_workers,
            batch_size,
            on_worker_death,
            num_threads,
        )
        self.env_fns = options.env_fns
        self.num_envs = len(self.env_fns)
        self.shared_memory = shared_memory
        self.copy = copy
        self.context = context
        self.daemon = daemon
        self.worker = worker
        self.observation_mode = observation_mode
        self.autoreset_mode = options.autoreset_mode
        self.max_concurrency = max_concurrency
        self.num_workers = len(options.bounds)
        self.batch_size = options.batch_size
        self.on_worker_death = on_worker_death
        self.episode_statistics = bool(episode_statistics)
        self._restarts = on_worker_death == "restart"
        self._final_frames = False
        self._owner = os.getpid()
        if worker is not None:
            self._run_custom_loop()
        self._start(options, start_timeout)

    def _run_custom_loop(self) -> None:
        """Become the kind of this class that talks to the user's own loop."""
        from gymcore.vector.async_custom import CustomAsyncVectorEnv

        cls = type(self)
        if cls is AsyncVectorEnv:
            self.__class__ = CustomAsyncVectorEnv
        elif not issubclass(cls, CustomAsyncVectorEnv):
            self.__class__ = type(cls.__name__, (cls, CustomAsyncVectorEnv), {})

    def _start(self, options: AsyncOptions, start_timeout: float | None) -> None:
        """Start the workers; on failure nothing is left of them."""
        pool = self._pool = WorkerPool(
            self.env_fns,
            options.bounds,
            multiprocessing.get_context(self.context),
            self.daemon,
            start_timeout,
        )
        try:
            self._adopt(pool)
        except BaseException:
            self._shut_down(0.0)
            raise
        self._end_with(pool)

    def _end_with(self, engine: Any) -> None:
        """Close the workers' side when this object is collected, and at the end of the program."""
        # Not `atexit`: this runs before `multiprocessing` waits for processes that are no daemons.
        from multiprocessing.util import Finalize

        self._engine = engine
        self._finalize = Finalize(self, engine.close, kwargs={"timeout": 1.0}, exitpriority=100)

    @property
    def processes(self) -> list[Any]:
        """The `multiprocessing.Process` of each worker."""
        return [] if self._pool is None else self._pool.processes

    def _adopt(self, pool: WorkerPool) -> None:
        """Take spaces and metadata from the workers, and lay out the shared memory."""
        introductions = pool.introductions
        first = introductions[0]
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        adopt_spaces(
            self,
            [space for each in introductions for space in each.observation_spaces],
            [space for each in introductions for space in each.action_spaces],
        )
        layout = layout_of(self.single_observation_space, copy=self.copy)
        if self.shared_memory:
            check_sharable(self.single_observation_space)
        in_memory = self.shared_memory and not has_objects(layout)
        actions = action_layout(self.single_action_space, self.action_space)
        plan = Plan(
            self.num_envs,
            pool.bounds,
            _MODES.index(self.autoreset_mode),
            self.episode_statistics,
            layout if in_memory else None,
            actions,
        )
        memory = pool.open(plan)
        self._memory = memory
        self._channel = memory.channel
        self._action_layout = actions
        self._action_rows = None if memory.actions is None else memory.actions.batch()
        self._results = Results(
            memory,
            self.single_observation_space,
            layout,
            self.num_envs,
            self.copy,
            self._restarts,
        )
        self._all = list(range(self.num_envs))
        self._workers = list(range(self.num_workers))
        self._ready = False  # a full reset has succeeded since the start or the last failure
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._request = 0
        self._asked: list[int] = []  # workers that the pending request went to
        self._resume: tuple[Any, ...] = ()  # what the pending call needs when it is waited for
        self._start_partial()

    # --- requests ------------------------------------------------------------------------------

    def _check_workers(self) -> None:
        assert self._pool is not None
        if self._pool.dead and not self._restarts:
            dead = sorted({*self._pool.dead, *self._pool.ended()})
            raise self._pool.death(dead, "an earlier call")

    def _collect(self, call: str, timeout: float | None) -> tuple[Replies, list[int]]:
        """Wait for the pending request; whatever happens, nothing is pending afterwards."""
        assert self._pool is not None
        try:
            if not self._asked:
                return {}, []
            return self._pool.wait(
                self._request, self._asked, call, timeout, survive=self._restarts
            )
        except EnvironmentFailed as problem:
            if call in ("reset_wait", "step_wait") or isinstance(problem, WorkerDied):
                self._ready = False
            raise
        finally:
            self._state = AsyncState.DEFAULT

    def _post_messages(self, call: str, args: dict[int, tuple[Any, ...]]) -> None:
        assert self._pool is not None
        if not self._restarts and (ended := self._pool.ended()):
            raise self._pool.death(ended, "an earlier call")
        self._request = self._pool.post_messages(call, args, _ACCEPT_SECONDS, self._restarts)
        self._asked = list(args)

    # --- reset ---------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset all environments, or those that `options["reset_mask"]` selects.

        As `SyncVectorEnv.reset`; see there for the arguments.

        Raises:
            EnvironmentFailed: Environments raised; another `reset` is needed before `step`.
            WorkerDied: A worker died.
        """
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Begin a reset; `reset_wait` returns its results.

        Args:
            seed: As for `reset`.
            options: As for `reset`.
        """
        self._begin("reset_async", "", outstanding=True)
        seeds = None if seed is None else seeds_per_env(seed, self.num_envs)
        env_options, mask = split_reset_mask(options, self.num_envs)
        if mask is not None and not self._ready and not mask.all():
            raise ResetNeeded(
                "options['reset_mask']: the first reset (or the first after a failure) must "
                "include every environment, got a mask without environments "
                f"{np.flatnonzero(~mask).tolist()}"
            )
        lanes = self._all if mask is None else np.flatnonzero(mask).tolist()
        if len(lanes) < self.num_envs:
            self._check_outstanding("reset_async")
        else:
            self._drop_outstanding()
        self._reset_workers(lanes, seeds, env_options)
        self._resume = (lanes, seeds, env_options)
        self._state = AsyncState.WAITING_RESET

    def reset_wait(self, timeout: float | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Return the results of `reset_async`.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Raises:
            WorkerTimeout: The results did not come in time; they will be dropped.
            NoAsyncCallError: There was no `reset_async`.
        """
        timeout = checked_timeout(timeout)
        self._pending(AsyncState.WAITING_RESET)
        lanes, seeds, env_options = self._resume
        replies, died = self._collect("reset_wait", timeout)
        if died:
            self._restart(died)
            self._reset_workers(lanes, seeds, env_options, died)
            again, died = self._collect("reset_wait", timeout)
            if died:  # by this very reset: not once more
                raise self._death(died)
            replies.update(again)
        infos = self._results.infos(lanes, overflow_of(replies), self._add_info, lanes)
        if len(lanes) == self.num_envs:
            self._drop_messages()
            self._ready = True
        self._ended[lanes] = False
        self._lost.difference_update(lanes)
        self._received = None
        return self._observed(), infos

    # --- step ----------------------------------------------------------------------------------

    def step(
        self, actions: ActType, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[
        ObsType,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Step every environment, or some of them; see `VectorEnv.step`.

        Args:
            actions: One action for each environment that is stepped.
            env_ids: Which ones to step; None for all. The results are theirs, in this order, and
                `infos["env_id"]` names them.

        Raises:
            EnvironmentFailed: Environments raised; `reset` is needed before the next step.
            WorkerDied: A worker died.
            ResetNeeded: Before `reset`, or, when autoreset is disabled, on an ended episode.
            InvalidAction: Not one action for each environment, or of another structure or type.
        """
        if env_ids is not None:
            return self._step_some(actions, env_ids)
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: ActType) -> None:
        """Begin a step; `step_wait` returns its results.

        Args:
            actions: One action for each environment.
        """
        self._begin("step_async")
        self._check_steppable(self._all)
        self._post_step(actions)
        self._state = AsyncState.WAITING_STEP

    def _check_steppable(self, lanes: Sequence[int]) -> None:
        if not self._ready:
            raise ResetNeeded(f"step: call reset() of {self} first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended[lanes].any():
            ended = [lane for lane in lanes if self._ended[lane]]
            raise ResetNeeded(
                f"step: environments {ended} have ended their episodes and autoreset is disabled; "
                "call reset(options={'reset_mask': terminations | truncations})"
            )

    def _post_step(self, actions: ActType) -> None:
        assert self._pool is not None
        if self._action_layout is not None:
            checked = checked_actions(self._action_layout, actions, self.num_envs)
            store_actions(self._action_layout, self._action_rows, checked, slice(None))
            if not self._lost:
                self._asked = self._workers
                self._request = self._pool.post(loop.STEP)
                return
            single = None
        else:
            single = self._single_actions(actions, self.num_envs)
        self._post_lanes(self._all, single)

    def step_wait(
        self, timeout: float | None = None
    ) -> tuple[
        ObsType,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Return the results of `step_async`.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Raises:
            WorkerTimeout: The results did not come in time; they will be dropped, and the next
                step waits until the environments have done this one.
            NoAsyncCallError: There was no `step_async`.
        """
        timeout = checked_timeout(timeout)
        self._pending(AsyncState.WAITING_STEP)
        replies, died = self._collect("step_wait", timeout)
        if died:
            self._restart(died)
        memory = self._memory
        infos = self._step_infos(replies)
        rewards = memory.rewards.copy()
        terminations, truncations = memory.terminated.copy(), memory.truncated.copy()
        if self._lost:
            lost = sorted(self._lost)
            self._report_lost(lost, lost, rewards, terminations, truncations, infos)
        ended = terminations | truncations
        self._results.episodes(infos, ended)
        self._ended = ended
        return self._observed(), rewards, terminations, truncations, infos

    # --- ending --------------------------------------------------------------------------------

    def close(self, **kwargs: Any) -> None:
        """Close every environment and end the workers; calling it again does nothing.

        Args:
            **kwargs: `timeout`: how long environments may take (s), None for 10 s; `terminate`: end
                the processes without closing the environments.

        Raises:
            EnvironmentFailed: An environment's `close` raised. All the same everything is closed.
        """
        timeout = kwargs.pop("timeout", None)
        terminate = kwargs.pop("terminate", False)
        self.close_extras(timeout=timeout, terminate=terminate, **kwargs)

    def close_extras(  # type: ignore[override]
        self, timeout: float | None = None, terminate: bool = False
    ) -> None:
        """Close the environments and end the workers.

        Args:
            timeout: How long environments may take, in seconds; None for 10 s.
            terminate: End the processes without closing the environments.
        """
        if self.closed and "_engine" not in self.__dict__:
            return
        timeout = checked_timeout(timeout)
        if self._state is not AsyncState.DEFAULT and os.getpid() == self._owner:
            logger.warn(
                f"Calling `close` while waiting for a pending call to `{self._state.value}` to "
                "complete."
            )
        failures = self._shut_down(0.0 if terminate else timeout)
        if failures:
            raise failures_raised(failures)

    def _shut_down(self, timeout: float | None) -> list[Any]:
        self.closed = True
        self._state = AsyncState.DEFAULT
        finalize = self.__dict__.pop("_finalize", None)
        if finalize is not None:
            finalize.cancel()
        # Or they would keep the shared memory.
        for name in ("_memory", "_channel", "_results", "_action_rows"):
            self.__dict__.pop(name, None)
        engine = self.__dict__.get("_engine", self._pool)
        failures = [] if engine is None else engine.close(timeout)
        # Only now: a key press may have ended the closing, and the next `close` goes on with it.
        self.__dict__.pop("_engine", None)
        self._pool = None
        return failures
