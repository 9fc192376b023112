"""A vector environment that steps Python environments in worker processes."""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gymcore import error, logger
from gymcore.base.arguments import positive, seeds_per_env, time_limit
from gymcore.base.cpus import usable_cpus
from gymcore.base.no_copies import NoCopies
from gymcore.core import ActType, Env, Info, ObsType, Options, RenderFrame, without_mode
from gymcore.error import (
    AlreadyPendingCallError,
    ArgumentTypeError,
    EnvironmentFailed,
    ForkedProcessError,
    InvalidArgument,
    NoAsyncCallError,
    ResetNeeded,
    WorkerDied,
)
from gymcore.foreign import make_adopted
from gymcore.spaces import Space
from gymcore.spaces.layouts import has_objects, layout_of
from gymcore.vector.engine import (
    FLOATS,
    Lanes,
    Mask,
    StepResult,
    VectorEngine,
    check_name_of_call,
    checked_actions,
    checked_timeout,
)
from gymcore.vector.engine_options import (
    adopt_spaces,
    checked_functions,
    values_per_env,
)
from gymcore.vector.lane_episodes import AUTORESET_NUMBERS
from gymcore.vector.lane_states import LaneState
from gymcore.vector.protocols import EnvFn
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.utils.misc import CloudpickleWrapper as CloudpickleWrapper
from gymcore.vector.vector_env import AutoresetMode, EnvIds, Seeds, VectorEnv
from gymcore.vector.workers import worker as worker_process
from gymcore.vector.workers.custom import CustomWorkers, Request
from gymcore.vector.workers.default_loop import _async_worker as _async_worker
from gymcore.vector.workers.failures import Failure, failures_error, worker_timeout_error
from gymcore.vector.workers.messages import SLICE_SECONDS
from gymcore.vector.workers.placement import placements
from gymcore.vector.workers.pool import Replies, WorkerPool
from gymcore.vector.workers.shared_memory import (
    Plan,
    Results,
    check_sharable,
    split_lanes,
    store_actions,
)
from gymcore_ext.arrays import one_at_a_time

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

__all__ = ["AsyncState", "AsyncVectorEnv", "CustomWorkerVectorEnv"]

# Seconds that an idle worker may take to accept a message.
_ACCEPT_SECONDS = 60.0

# Seconds between checks for dead workers while results of other workers arrive.
_CHECK_SECONDS = 0.2

_Result = TypeVar("_Result")


class AsyncState(Enum):
    """The call that is pending.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> envs.reset_async(seed=1)
        >>> try:
        ...     envs.step_async([0, 1])
        ... except gym.error.AlreadyPendingCallError as problem:
        ...     print(problem.name, AsyncState(problem.name))
        reset AsyncState.WAITING_RESET
        >>> observations, infos = envs.reset_wait()
        >>> envs.close()
    """

    DEFAULT = "default"
    WAITING_RESET = "reset"
    WAITING_STEP = "step"
    WAITING_CALL = "call"


class AsyncVectorEnv(NoCopies, VectorEngine[ObsType, ActType]):
    """Vector environment whose environments run in worker processes, a range of them in each.

    Observations, actions, rewards, flags and numeric infos are in shared memory. If a worker dies,
    hangs or raises, this process raises an exception that names the worker's environments. `close`
    always succeeds and leaves no process or memory behind.

    Workers send other infos, results of calls, states and failures as pickles. Loading a pickle can
    run any code in this process, so use only environments that you trust.

    If you pass `worker`, your own worker loop, the object becomes a `CustomWorkerVectorEnv`. An
    object of your own subclass becomes an instance of both classes.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 4, num_workers=2)
        >>> observations, infos = envs.reset(seed=42)
        >>> envs.step_async([0, 1, 1, 0])
        >>> observations, rewards, terminations, truncations, infos = envs.step_wait(timeout=60)
        >>> rewards
        array([1., 1., 1., 1.])
        >>> envs.close()
    """

    # Whether no full reset has succeeded since the start or the last failure.
    _needs_reset = True

    def __init__(
        self,
        env_fns: Iterable[EnvFn],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: Callable[..., None] | None = None,
        observation_mode: str | tuple[Space, Space] = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_concurrency: int | None = None,
        *,
        num_workers: int | None = None,
        batch_size: int | None = None,
        on_worker_death: str = "raise",
        episode_statistics: bool = False,
        num_threads: int | None = None,
        start_timeout: float | None = 300.0,
        worker_affinity: str | Sequence[int] | None = "auto",
    ) -> None:
        """Start the workers and make the environments in them.

        Args:
            env_fns: Functions without arguments that each make one environment.
            shared_memory: Whether observations are in shared memory; if False, they are pickled.
            copy: Whether `reset` and `step` return copies of the observations. If False, they
                return views of the shared memory, which the next call overwrites.
            context: The start method of the processes: "fork", "spawn", "forkserver", or None for
                the default of `multiprocessing`.
            daemon: Whether workers are daemon processes, which cannot start child processes.
            worker: A loop to run in one process for each environment instead of the engine's own;
                see `CustomWorkerVectorEnv`.
            observation_mode: As for `SyncVectorEnv`.
            autoreset_mode: When an ended environment is reset.
            max_concurrency: Maximum number of environments that run at the same time.
            num_workers: Number of processes; None for the number of CPUs this process may use.
            batch_size: Number of results that `recv` returns; None for all.
            on_worker_death: With "raise", the current and later calls raise `WorkerDied`. With
                "restart", the worker's environments are made again and reset; their episodes are
                reported as truncated, with `info["worker_restarted"]`.
            episode_statistics: Whether to report ended episodes in `info["episode"]`.
            num_threads: An option of the compiled engine; no effect here.
            start_timeout: Maximum time for making the environments (s, more than 0); None for no
                limit.
            worker_affinity: Where workers wait for the next step, on Linux; no effect elsewhere.
                "auto": If there are at least two workers and a CPU for each, each waits on one of
                its own, except while other programs use it or steps are short. A sequence: The CPU
                of each worker, always. None: The system chooses at each step. Environments, their
                threads and their child processes may use all CPUs that this process may use.

        Raises:
            InvalidArgument: If there are no functions or an option is invalid (a `ValueError`).
            ArgumentTypeError: If an argument has the wrong type, or if a function or space cannot
                be shared between processes (a `TypeError`).
            SpaceMismatch: If the environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: If a constructor raises.
            WorkerDied: If a worker ends while it makes its environments.
            WorkerTimeout: If the environments are not made within `start_timeout`; the message
                shows where the first of them waits.
        """
        if worker is not None and not isinstance(self, CustomWorkerVectorEnv):
            cls, bases = type(self), (type(self), CustomWorkerVectorEnv)
            is_plain = cls is AsyncVectorEnv
            self.__class__ = CustomWorkerVectorEnv if is_plain else type(cls.__name__, bases, {})
        self._state = AsyncState.DEFAULT
        self._owner = os.getpid()
        self._engine: WorkerPool | CustomWorkers | None = None
        self.env_fns = checked_functions(env_fns)
        self._set_options(
            len(self.env_fns),
            autoreset_mode,
            copy=copy,
            batch_size=batch_size,
            episode_statistics=episode_statistics,
            num_threads=num_threads,
            num_workers=num_workers,
            on_worker_death=on_worker_death,
            has_workers=True,
        )
        processes = num_workers or usable_cpus()
        if max_concurrency is not None:
            processes = min(processes, _checked_concurrency(max_concurrency))
        seconds = time_limit("start_timeout", start_timeout)
        self.shared_memory = shared_memory
        self.context = context
        self.daemon = daemon
        self.worker = worker
        self.observation_mode = observation_mode
        self.max_concurrency = max_concurrency
        self.on_worker_death = on_worker_death
        self.worker_affinity = worker_affinity
        self._restarts = on_worker_death == "restart"
        self._final_frames = False
        try:
            self._start(min(processes, self.num_envs), seconds)
        except BaseException:
            self._shut_down(0.0)
            raise
        # Close the workers when this object is collected and when the program ends; at exit,
        # `Finalize` runs before `multiprocessing` waits for its non-daemon processes.
        from multiprocessing.util import Finalize

        assert self._engine is not None
        self._finalize = Finalize(
            self, self._engine.close, kwargs={"timeout": 1.0}, exitpriority=100
        )

    def _start(self, num_workers: int, start_timeout: float) -> None:
        """Start the workers and allocate the shared memory."""
        self.num_workers = num_workers
        self._engine = pool = self._pool = WorkerPool(
            self.env_fns,
            split_lanes(self.num_envs, num_workers),
            multiprocessing.get_context(self.context),
            self.daemon,
            start_timeout,
            placements(self.worker_affinity, num_workers),
        )
        self._dead: Sequence[int] = pool.dead
        first = pool.specs[0]
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        adopt_spaces(
            self,
            [space for spec in pool.specs for space in spec.observation_spaces],
            [space for spec in pool.specs for space in spec.action_spaces],
        )
        layout = layout_of(self.single_observation_space, copy=self.copy)
        if self.shared_memory:
            check_sharable(self.single_observation_space)
        in_memory = self.shared_memory and not has_objects(layout)
        self._find_action_layout()
        plan = Plan(
            self.num_envs,
            pool.bounds,
            AUTORESET_NUMBERS[self.autoreset_mode],
            self.episode_statistics,
            layout if in_memory else None,
            self._action_layout,
            keeps_floats=self._action_layout is not None and self._action_layout[1] in FLOATS,
        )
        memory = self._memory = pool.open(plan)
        self._channel = memory.channel
        self._action_rows = None if memory.actions is None else memory.actions.batch()
        self._results = Results(
            memory,
            layout,
            self.num_envs,
            self.copy,
            functools.partial(pool.lane_message, key="overflow"),
            self._restarts,
        )
        self._all_lanes = list(range(self.num_envs))
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        # The pending request: its number, its workers and, for a reset, the arguments.
        self._request = 0
        self._awaited: Iterable[int] = ()
        self._resets: dict[int, tuple[object, ...]] = {}
        # Lanes of restarted workers whose restart is not reported yet, and their last observations.
        self._restarted: set[int] = set()
        self._last_observations: dict[int, object] = {}
        # For `send` and `recv`: sent lanes whose step was lost in a restart, and when the workers
        # were last checked.
        self._lost_lanes: list[int] = []
        self._checked_at = 0.0

    @property
    def processes(self) -> list[BaseProcess]:
        """The `multiprocessing.Process` of each worker."""
        return [] if self._engine is None else self._engine.processes

    # --- order of calls ------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.closed:
            super()._check_open()
        if os.getpid() != self._owner:
            raise ForkedProcessError(
                f"{self} belongs to process {self._owner}; this process ({os.getpid()}) is a fork "
                "of it and has to make its own"
            )
        if self._dead and not self._restarts:
            dead = sorted({*self._dead, *self._pool.ended()})
            raise self._pool.mark_dead(dead, "an earlier call")

    def _check_call(self, method: str, *, sending: bool = False) -> None:
        self._check_open()
        if self._state is not AsyncState.DEFAULT:
            # Gymnasium's texts: its `render` is a call.
            stop = "" if method == "reset_async" else "."
            name = "call_async" if method == "render" else method
            raise AlreadyPendingCallError(
                f"Calling `{name}` while waiting for a pending call to `{self._state.value}` to "
                f"complete{stop}",
                self._state.value,
            )
        if self._received is not None and not sending:  # lanes were sent since the last reset
            super()._check_call(method.removesuffix("_async"))
        # Restart workers that died between two steps. `recv` detects deaths and their lanes itself.
        if self._dead and method != "recv":
            self._restart(list(self._dead))

    def _check_pending(self, state: AsyncState) -> None:
        self._check_open()
        if self._state is not state:
            raise NoAsyncCallError(
                f"Calling `{state.value}_wait` without any prior call to `{state.value}_async`.",
                state.value,
            )

    def _call_whole(self, begin: Callable[[], None], wait: Callable[[], _Result]) -> _Result:
        pending = self._state
        try:
            begin()
            return wait()
        except BaseException:
            self._state = pending
            raise

    def _ended_lanes(self) -> Mask:
        return self._ended

    def _post_messages(self, call: str, args: dict[int, tuple[object, ...]]) -> None:
        if not self._restarts and (ended := self._pool.ended()):
            raise self._pool.mark_dead(ended, "an earlier call")
        self._request = self._pool.post_messages(call, args, _ACCEPT_SECONDS, self._restarts)
        self._awaited = list(args)

    def _collect(self, call: str, timeout: float | None) -> tuple[Replies, list[int]]:
        """Wait for the pending request. No request is pending afterwards, even after an error."""
        try:
            if not self._awaited:
                return {}, []
            return self._pool.wait(
                self._request, self._awaited, call, timeout, allow_deaths=self._restarts
            )
        except EnvironmentFailed as problem:
            if call in ("reset_wait", "step_wait") or isinstance(problem, WorkerDied):
                self._needs_reset = True
            raise
        finally:
            self._state = AsyncState.DEFAULT

    # --- reset ---------------------------------------------------------------------------------

    @one_at_a_time(error)
    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset environments; see `VectorEngine.reset`.

        Raises:
            WorkerDied: If a worker dies.
        """
        return self._call_whole(
            lambda: self.reset_async(seed=seed, options=options), self.reset_wait
        )

    @one_at_a_time(error)
    def reset_async(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: Options = None,
    ) -> None:
        """Begin a reset; `reset_wait` returns its results.

        Args:
            seed: As for `reset`.
            options: As for `reset`.
        """
        checked, env_options, mask = self._checked_reset("reset_async", seed, options)
        self._begin_reset(seeds_per_env(checked, self.num_envs), env_options, mask)
        self._state = AsyncState.WAITING_RESET

    def _begin_reset(
        self, seeds: list[int | None], env_options: Options, mask: Mask | None
    ) -> None:
        """Ask the workers to reset the lanes of a mask; None for all."""
        lanes = self._all_lanes if mask is None else np.flatnonzero(mask).tolist()
        if mask is None:  # withdraw the lanes that were sent and not received
            self._lost_lanes.clear()
            sent = self._channel.outstanding()
            if len(sent):
                # A worker that finds a lane and a reset must not step the lane after the reset.
                self._channel.forget(sent)
        self._resets = {lane: (seeds[lane], env_options) for lane in lanes}
        self._post_calls("reset", self._resets)

    @one_at_a_time(error)
    def reset_wait(self, timeout: float | None = None) -> tuple[ObsType, Info]:
        """Return the results of `reset_async`; workers may send infos as pickles.

        Args:
            timeout: Maximum time to wait, in seconds; None waits forever.

        Raises:
            WorkerTimeout: If the results do not arrive in time; they will be discarded.
            NoAsyncCallError: If `reset_async` was not called before.
        """
        timeout = checked_timeout(timeout)
        self._check_pending(AsyncState.WAITING_RESET)
        return self._finish_reset(timeout)

    def _finish_reset(self, timeout: float | None) -> tuple[ObsType, Info]:
        """Wait for the results of a reset."""
        lanes = list(self._resets)
        _, dead_workers = self._collect("reset_wait", timeout)
        if dead_workers:
            self._restart(dead_workers)
            lost = {lane for index in dead_workers for lane in range(*self._pool.bounds[index])}
            self._post_calls("reset", {lane: self._resets[lane] for lane in lanes if lane in lost})
            _, dead_workers = self._collect("reset_wait", timeout)
            if dead_workers:  # the same reset killed a worker again: do not retry
                raise self._pool.mark_dead(dead_workers, "reset_wait")
        infos = self._infos(lanes, lanes, self.num_envs, True)
        if len(lanes) == self.num_envs:
            self._pool.drop_lane_messages()  # of results that `recv` has not returned
            self._clear_queue()
        self._ended[lanes] = False
        self._restarted.difference_update(lanes)
        self._needs_reset = True
        observations = self._results.observations()  # raises if one does not fit its space
        self._needs_reset = False
        return observations, infos

    # --- step ----------------------------------------------------------------------------------

    @one_at_a_time(error)
    def step(self, actions: ActType, env_ids: EnvIds | None = None) -> StepResult[ObsType]:
        """Step every environment, or some of them; see `VectorEngine.step`.

        Raises:
            WorkerDied: If a worker dies.
        """
        if env_ids is not None:
            return self._step_some("step", actions, env_ids)
        cls, base = type(self), AsyncVectorEnv
        # As in Gymnasium, a subclass may define its own halves.
        if cls.step_async is not base.step_async or cls.step_wait is not base.step_wait:
            return self._call_whole(lambda: self.step_async(actions), self.step_wait)
        pending = self._state
        try:
            self._send_step(actions)
            return self._finish_step(None)
        except BaseException:
            self._state = pending
            raise

    @one_at_a_time(error)
    def step_async(self, actions: ActType) -> None:
        """Begin a step; `step_wait` returns its results.

        Args:
            actions: One action for each environment.
        """
        self._send_step(actions)

    def _send_step(self, actions: ActType) -> None:
        """Begin a step, whose results `_finish_step` returns."""
        self._check_call("step_async")
        self._check_steppable(None)
        self._begin_step(self._checked_actions(actions, self.num_envs))
        self._state = AsyncState.WAITING_STEP

    def _begin_step(self, actions: object) -> None:
        """Ask the workers to step all lanes."""
        if self._action_layout is None or self._restarted:
            self._post_lanes(self._all_lanes, slice(None), actions)
        else:
            self._store_actions(actions, slice(None))
            self._awaited = range(self.num_workers)
            self._request = self._channel.post(worker_process.STEP)

    def _checked_actions(self, actions: ActType, count: int) -> Any:
        """Return actions as arrays for shared memory if possible, otherwise as a list."""
        if self._action_layout is None:
            return super()._checked_actions(actions, count)
        return checked_actions(self._action_layout, actions, count)

    def _store_actions(self, actions: Any, lanes: Lanes | slice) -> None:
        assert self._action_layout is not None
        store_actions(self._action_layout, self._action_rows, actions, lanes)
        if self._memory.single_precision is not None:
            self._memory.single_precision[lanes] = actions.dtype == np.float32

    def _post_lanes(self, lanes: list[int], index: Lanes | slice, actions: Any) -> None:
        """Request a step of lanes, which `index` selects: `self._all_lanes` or some.

        Lanes whose worker was restarted are not stepped; they only report the restart.
        """
        args: dict[int, tuple[object, ...]] = dict.fromkeys(lanes, ())
        if self._action_layout is None:
            args = {lane: (action,) for lane, action in zip(lanes, actions, strict=True)}
        else:
            self._store_actions(actions, index)
        for lane in self._restarted:
            args.pop(lane, None)
        self._post_calls("step_lanes", args)

    @one_at_a_time(error)
    def step_wait(self, timeout: float | None = None) -> StepResult[ObsType]:
        """Return the results of `step_async`; workers may send infos as pickles.

        Args:
            timeout: Maximum time to wait, in seconds; None waits forever.

        Raises:
            WorkerTimeout: If the results do not arrive in time. They will be discarded, and the
                next step waits until the environments have finished this one.
            NoAsyncCallError: If `step_async` was not called before.
        """
        timeout = checked_timeout(timeout)
        self._check_pending(AsyncState.WAITING_STEP)
        return self._finish_step(timeout)

    def _finish_step(self, timeout: float | None) -> StepResult[ObsType]:
        """Wait for the results of a step."""
        _, dead_workers = self._collect("step_wait", timeout)
        if dead_workers:
            self._restart(dead_workers)
        return self._results_of(self._all_lanes, slice(None))

    # --- stepping some lanes -------------------------------------------------------------------

    def _step_engine(self, actions: Any, lanes: Lanes | None) -> StepResult[ObsType]:
        assert lanes is not None  # `step_async` steps all
        self._post_lanes(lanes.tolist(), lanes, actions)
        _, dead_workers = self._collect("step_wait", None)
        if dead_workers:
            self._restart(dead_workers)
        self._memory.failed[lanes] = False
        return self._lane_results(lanes)

    def _send_lanes(self, actions: object, lanes: Lanes) -> None:
        """Begin to step lanes.

        A worker always steps the waiting environment that has used the least time so far. Slow
        environments are stepped less often, but are never starved.
        """
        if self._action_layout is None:
            raise InvalidArgument(
                f"send: actions of {self.single_action_space} do not fit into shared memory; "
                "use step"
            )
        self._store_actions(actions, lanes)
        self._received = []  # before lanes are sent: `_check_call` relies on it
        if self._restarted:
            lost = np.isin(lanes, list(self._restarted))
            self._lost_lanes += lanes[lost].tolist()
            lanes = lanes[~lost]
        self._channel.submit(lanes)

    def _receive_lanes(self, timeout: float | None) -> tuple[Lanes, StepResult]:
        """Return the first lanes that are ready; workers may send infos as pickles."""
        lanes = self._wait_ready(timeout)
        self._received = lanes
        return lanes, self._lane_results(lanes)

    def _sent_lanes(self) -> Sequence[int]:
        return [*self._channel.outstanding().tolist(), *self._lost_lanes]

    def _num_sent(self) -> int:
        return self._channel.num_outstanding + len(self._lost_lanes)

    def _wait_ready(self, timeout: float | None) -> Lanes:
        pool, size = self._pool, self.batch_size
        started = time.monotonic()
        # Check at intervals: if the other lanes are fast enough, `recv` never waits for a dead one.
        check_workers = started > self._checked_at + _CHECK_SECONDS
        while True:
            ready = self._lost_lanes[:size]
            num_missing = size - len(ready)
            if num_missing == 0:
                del self._lost_lanes[:size]
                return np.array(ready, np.int64)
            remaining = SLICE_SECONDS
            if timeout is not None:
                remaining = min(remaining, max(0.0, started + timeout - time.monotonic()))
            lanes = None
            if self._channel.num_outstanding >= num_missing and not check_workers:
                lanes = self._channel.ready(num_missing, remaining, pool.spin)
            if lanes is not None:
                del self._lost_lanes[: len(ready)]
                return np.concatenate((np.array(ready, np.int64), lanes)) if ready else lanes
            pool.pump()
            check_workers = False
            self._checked_at = time.monotonic()
            dead = pool.ended()
            if dead:
                if not self._restarts:
                    self._needs_reset = True
                    raise pool.mark_dead(dead, "recv")
                self._restart_in_recv(dead)
            elif timeout is not None and time.monotonic() >= started + timeout:
                raise worker_timeout_error(self._channel.outstanding().tolist(), "recv", timeout)

    def _restart_in_recv(self, workers: Sequence[int]) -> None:
        """Restart workers, and count the lanes that they were stepping as done."""
        before = set(self._channel.outstanding().tolist())
        lanes = [
            lane for index in workers for lane in range(*self._pool.bounds[index]) if lane in before
        ]
        self._restart(workers)
        self._lost_lanes += lanes

    def _lane_results(self, lanes: Lanes) -> StepResult:
        """Return the results of lanes that have been stepped, or raise their failures."""
        failed = lanes[self._memory.failed[lanes]].tolist()
        if failed:
            self._needs_reset = True
            failures = [self._pool.lane_message(lane, "failure") for lane in failed]
            failures = [failure for failure in failures if failure is not None]
            if failures:
                raise failures_error(failures)
            raise ResetNeeded(
                f"recv: environments {failed} were not stepped, because an earlier one failed; "
                f"call reset() of {self}"
            )
        return self._results_of(lanes.tolist(), lanes)

    # --- results -------------------------------------------------------------------------------

    def _results_of(self, lanes: list[int], index: Lanes | slice) -> StepResult:
        """Return the results of stepped lanes, which `index` selects: `self._all_lanes` or some."""
        memory, results, restarted = self._memory, self._results, self._restarted
        is_whole = lanes is self._all_lanes
        rewards = memory.rewards[index].copy()
        terminations = memory.terminated[index].copy()
        truncations = memory.truncated[index].copy()
        rows: Sequence[int] = range(len(lanes))
        alive = lanes
        if restarted:  # skip lost lanes, whose infos are from the reset in the new worker
            rows = [row for row in rows if lanes[row] not in restarted]
            alive = [lanes[row] for row in rows]
        infos = self._infos(alive, rows, len(lanes), is_whole) if memory.slots.filled() else {}
        try:
            if results.vectors:
                rewards = results.rewards(rewards, lanes)
            observations = results.observations() if is_whole else results.some_observations(lanes)
        except EnvironmentFailed:  # a reward or an observation does not fit
            self._needs_reset = True
            raise
        lost = [row for row, lane in enumerate(lanes) if lane in restarted] if restarted else ()
        for row in lost:  # the episodes were cut off
            rewards[row], terminations[row], truncations[row] = 0.0, False, True
            last = self._last_observations.pop(lanes[row], None)
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                merge_info(infos, {"final_obs": last, "final_info": {}}, row, len(lanes))
            merge_info(infos, {"worker_restarted": True}, row, len(lanes))
            restarted.remove(lanes[row])
        ended = terminations | truncations
        if memory.episodes is not None:
            results.episodes(infos, ended, index)
        self._ended[index] = ended
        return observations, rewards, terminations, truncations, infos

    def _infos(
        self, lanes: Sequence[int], rows: Sequence[int], num_rows: int, is_whole: bool
    ) -> Info:
        """Return the merged infos of lanes; subclasses may override the merge of whole batches."""
        is_overridden = is_whole and type(self)._add_info is not VectorEnv._add_info
        add_info = self._add_info if is_overridden else None
        return self._results.infos(lanes, rows, num_rows, add_info)

    # --- restarted workers ---------------------------------------------------------------------

    def _restart(self, workers: Sequence[int]) -> None:
        """Restart workers. Their lanes lose the current episodes."""
        for index in workers:
            lanes = range(*self._pool.bounds[index])
            last = {}
            if not self._needs_reset:
                last = {lane: self._results.observation(lane) for lane in lanes}
            self._pool.restart(index)
            self._memory.failed[lanes.start : lanes.stop] = False
            self._post_messages("restart", {index: (self._final_frames,)})
            self._pool.wait(self._request, [index], "restart", None)
            # Reads pickled observations; the infos of this reset belong to no step and are dropped.
            self._results.infos(lanes, lanes, self.num_envs)
            if self._needs_reset:
                continue
            self._restarted.update(lanes)
            self._last_observations.update(last)
            if self.autoreset_mode is not AutoresetMode.SAME_STEP:
                for lane in lanes:
                    self._results.store(lane, last[lane])

    # --- calls ---------------------------------------------------------------------------------

    @one_at_a_time(error)
    def call(self, name: str, *args: object, **kwargs: object) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute; see `VectorEngine.call`."""
        return self._call_whole(lambda: self.call_async(name, *args, **kwargs), self.call_wait)

    @one_at_a_time(error)
    def call_async(self, name: str, /, *args: object, **kwargs: object) -> None:
        """Begin a call; `call_wait` returns its results.

        Raises:
            InvalidArgument: If the batch has its own method for `name` (a `ValueError`).
        """
        self._check_call("call_async")
        check_name_of_call(name)
        self._begin_call(name, args, kwargs)
        self._state = AsyncState.WAITING_CALL

    @one_at_a_time(error)
    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return the results of `call_async`, which workers send as pickles.

        Args:
            timeout: Maximum time to wait, in seconds; None waits forever.

        Raises:
            WorkerTimeout: If the results do not arrive in time; they will be discarded.
            NoAsyncCallError: If `call_async` was not called before.
        """
        timeout = checked_timeout(timeout)
        self._check_pending(AsyncState.WAITING_CALL)
        return tuple(self._call_results(timeout))

    def _begin_call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Ask the workers to call a method of every lane."""
        self._post_calls("call", dict.fromkeys(self._all_lanes, (name, args, kwargs)))

    def _post_calls(self, call: str, args: Mapping[int, tuple[object, ...]]) -> None:
        """Send a request about single lanes."""
        messages: dict[int, tuple[object, ...]] = {}
        for index, (lo, hi) in enumerate(self._pool.bounds):
            chosen = [(lane - lo, *values) for lane, values in args.items() if lo <= lane < hi]
            if chosen:
                messages[index] = (chosen,)
        self._awaited = []
        if messages:
            self._post_messages(call, messages)

    def _call_results(self, timeout: float | None) -> list[object]:
        replies, dead_workers = self._collect("call_wait", timeout)
        if dead_workers:
            problem = self._pool.mark_dead(dead_workers, "call")
            self._restart(dead_workers)
            raise problem
        return [value for index in sorted(replies) for value in replies[index].get("result", ())]

    def _set_lanes_attr(self, name: str, values: object) -> None:
        values = values_per_env(values, self.num_envs)
        self._post_calls("set_attr", {lane: (name, values[lane]) for lane in self._all_lanes})
        self._call_results(None)

    def _end_lanes(self, mask: Mask) -> None:
        self._post_calls("end_episode", dict.fromkeys(np.flatnonzero(mask).tolist(), ()))
        self._call_results(None)
        self._ended = self._ended | mask

    @one_at_a_time(error)
    def keep_final_frames(self, keep: bool = True) -> None:
        """Render before resets in SAME_STEP; see `VectorEnv.keep_final_frames`."""
        self._check_call("keep_final_frames")
        self._final_frames = bool(keep)
        self._post_calls("keep_final_frames", dict.fromkeys(self._all_lanes, (bool(keep),)))
        self._call_results(None)

    @without_mode
    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each environment."""
        self._check_call("render")
        return self.call("render")

    def _generators(self) -> tuple[np.random.Generator, ...]:
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of each environment's generator."""
        return self.get_attr("np_random_seed")

    def _save_lanes(self, lanes: Lanes) -> Sequence[object]:
        chosen = sorted(lanes.tolist())
        self._post_calls("get_state", dict.fromkeys(chosen, ()))
        states = dict(zip(chosen, self._call_results(None), strict=True))
        return [
            states[lane]._replace(observation=self._results.observation(lane))
            for lane in lanes.tolist()
        ]

    def _load_lanes(self, states: Sequence[LaneState], lanes: Lanes) -> None:
        states_by_lane = dict(zip(lanes.tolist(), states, strict=True))
        args = {lane: (state,) for lane, state in states_by_lane.items()}
        self._post_calls("check_state", args)
        self._call_results(None)
        self._post_calls("set_state", args)
        try:
            self._call_results(None)
        except Exception:
            self._needs_reset = True
            raise
        for lane, state in states_by_lane.items():
            self._results.store(lane, state.observation)
            self._ended[lane] = state.ended
            self._restarted.discard(lane)
        self._needs_reset = False

    # --- closing -------------------------------------------------------------------------------

    def close(self, **kwargs: Any) -> None:
        """Close every environment and end the workers; calling it again does nothing.

        Args:
            **kwargs: `timeout`, the maximum time for closing the environments (s; None for 10 s),
                and `terminate`, whether to end the processes without closing the environments.

        Raises:
            EnvironmentFailed: If an environment's `close` raises. Everything is closed anyway.
        """
        self.close_extras(**kwargs)

    @one_at_a_time(error)
    def close_extras(  # type: ignore[override]
        self, timeout: float | None = None, terminate: bool = False
    ) -> None:
        """Close the environments and end the workers.

        Args:
            timeout: Maximum time for closing the environments, in seconds; None for 10 s.
            terminate: Whether to end the processes without closing the environments.
        """
        if self.closed and self._engine is None:
            return
        timeout = checked_timeout(timeout)
        if self._state is not AsyncState.DEFAULT and os.getpid() == self._owner:
            logger.warn(
                f"Calling `close` while waiting for a pending call to `{self._state.value}` to "
                "complete."
            )
        failures = self._shut_down(0.0 if terminate else timeout)
        if failures:
            raise failures_error(failures)

    def _shut_down(self, timeout: float | None) -> list[Failure]:
        self.closed = True
        self._state = AsyncState.DEFAULT
        finalize = self.__dict__.pop("_finalize", None)
        if finalize is not None:
            finalize.cancel()
        # These references would keep the shared memory alive.
        for name in ("_memory", "_channel", "_results", "_action_rows"):
            self.__dict__.pop(name, None)
        failures = [] if self._engine is None else self._engine.close(timeout)
        # Cleared last: if a KeyboardInterrupt stopped the closing, the next `close` continues it.
        self._engine = None
        return failures


class CustomWorkerVectorEnv(AsyncVectorEnv[ObsType, ActType]):
    """Vector environment whose worker processes run your own loop, `worker`.

    `AsyncVectorEnv(..., worker=loop)` returns one. The loop implements the protocol of
    `gymcore.vector.workers.custom`. `send` and `recv`, stepping some of the environments, restarts,
    saved states and episode statistics are not supported.

    Examples:
        >>> import gymcore
        >>> def worker(index, env_fn, pipe, parent_pipe, *_):
        ...     parent_pipe.close()
        ...     for command, data in iter(pipe.recv, ("close", None)):
        ...         pipe.send(((True, True) if command == "_check_spaces" else None, True))
        ...     pipe.send((None, True))
        >>> envs = AsyncVectorEnv([lambda: gymcore.make("CartPole-v1")] * 2, worker=worker)
        >>> type(envs).__name__, envs.num_workers
        ('CustomWorkerVectorEnv', 2)
        >>> envs.close()
    """

    _workers: CustomWorkers

    steps_some_lanes = False
    ends_episodes = False
    _needs_reset = False
    _dead = ()  # `CustomWorkers.post` detects dead workers

    # Only the workers have this state, so use the base class's methods.
    keep_final_frames = VectorEngine.keep_final_frames
    _save_lanes = VectorEngine._save_lanes
    _load_lanes = VectorEngine._load_lanes
    _checked_actions = VectorEngine._checked_actions

    def _start(self, num_workers: int, start_timeout: float) -> None:
        for name, is_set in (
            ("batch_size", self.batch_size != self.num_envs),
            ("on_worker_death='restart'", self._restarts),
            ("episode_statistics", self.episode_statistics),
            ("worker_affinity", str(self.worker_affinity) not in ("auto", "None")),
        ):
            if is_set:
                raise InvalidArgument(f"{name}: cannot be combined with a custom `worker`")
        if self.worker is None:
            raise InvalidArgument("worker: expected the loop that workers run, got None")
        self.num_workers = self.num_envs
        self._adopt_spaces_of_samples()
        self._find_action_layout()
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._engine = self._workers = CustomWorkers(self, start_timeout)

    def _adopt_spaces_of_samples(self) -> None:
        """Read spaces and metadata from environments that are made here and closed again."""
        different = self.observation_mode == "different"
        envs: list[Env] = []
        try:
            for env_fn in self.env_fns if different else self.env_fns[:1]:
                envs.append(make_adopted(env_fn))
            self.metadata = {**envs[0].metadata, "autoreset_mode": self.autoreset_mode}
            self.render_mode = envs[0].render_mode
            num_copies = 0 if different else self.num_envs - 1
            adopt_spaces(
                self,
                [env.observation_space for env in envs] + [envs[0].observation_space] * num_copies,
                [env.action_space for env in envs] + [envs[0].action_space] * num_copies,
            )
        finally:
            for env in envs:
                env.close()

    def _finish(self, wait: Callable[[float | None], _Result], timeout: float | None) -> _Result:
        """Wait for results. No call is pending afterwards, even after an error."""
        try:
            return wait(timeout)
        finally:
            self._state = AsyncState.DEFAULT

    def _merged(self, env_infos: Sequence[Info]) -> Info:
        infos: Info = {}
        for lane, info in enumerate(env_infos):
            if info:
                infos = self._add_info(infos, info, lane)
        return infos

    def _begin_reset(
        self, seeds: list[int | None], env_options: Options, mask: Mask | None
    ) -> None:
        requests: list[Request] = [("reset", {"seed": s, "options": env_options}) for s in seeds]
        for lane in () if mask is None else np.flatnonzero(~mask):
            requests[lane] = ("reset-noop", None)
        self._workers.post("reset", requests)

    def _finish_reset(self, timeout: float | None) -> tuple[ObsType, Info]:
        observations, env_infos = self._finish(self._workers.reset_wait, timeout)
        return observations, self._merged(env_infos)

    def _begin_step(self, actions: Any) -> None:
        self._workers.post("step", [("step", action) for action in actions])

    def _finish_step(self, timeout: float | None) -> StepResult[ObsType]:
        *arrays, env_infos = self._finish(self._workers.step_wait, timeout)
        return (*arrays, self._merged(env_infos))

    def _begin_call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self._workers.post(name, [("_call", (name, args, kwargs))] * self.num_envs)

    def _call_results(self, timeout: float | None) -> list[object]:
        return self._finish(functools.partial(self._workers.wait, "call_wait"), timeout)

    def _set_lanes_attr(self, name: str, values: object) -> None:
        values = values_per_env(values, self.num_envs)
        self._workers.post("set_attr", [("_setattr", (name, value)) for value in values])
        self._workers.wait("set_attr", None)


def _checked_concurrency(max_concurrency: object) -> int:
    try:
        count = positive("max_concurrency", max_concurrency)
    except ArgumentTypeError:
        raise InvalidArgument(
            f"`max_concurrency` must be an integer or None, got {type(max_concurrency)}."
        ) from None
    except InvalidArgument:
        raise InvalidArgument(
            f"`max_concurrency` must be a positive or None, got {max_concurrency}."
        ) from None
    return count
