"""Requests to some of the environments, and those whose worker was restarted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import (
    AlreadyPendingCallError,
    EnvironmentFailed,
    InvalidAction,
    InvalidArgument,
    NoAsyncCallError,
    ResetNeeded,
    WorkerDied,
)
from gymcore.utils.arguments import lane_indices
from gymcore.vector.async_options import checked_timeout
from gymcore.vector.utils.space_utils import iterate
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore.vector.workers.actions import checked_actions, store_actions
from gymcore.vector.workers.failures import failures_raised, worker_timeout
from gymcore.vector.workers.pool import Replies, overflow_of

# The class that these are part of; naming it here would be a circle.
Base: Any = object

__all__ = ["AsyncPartial"]

# How often a waiting `recv` looks whether the workers live, in seconds.
_SLICE_SECONDS = 0.05

# How long a death may go unnoticed while results come, in seconds.
_LOOK_SECONDS = 0.2

StepResult = tuple[
    Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]


class AsyncPartial(Base):
    """Partial batches for `AsyncVectorEnv`."""

    def _start_partial(self) -> None:
        self._lost: set[int] = set()  # lanes of restarted workers that have not said so yet
        self._last_seen: dict[int, Any] = {}  # their last observations
        self._received: list[int] | None = None  # lanes of the last `recv`, for `send` without ids
        self._looked_after = 0.0
        self._dropped = False  # lanes were taken back, whose messages may still come
        self._given_up: list[int] = []  # outstanding lanes of workers that were restarted

    def send(self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None) -> None:
        """Begin to step some environments; `recv` returns results as they come.

        A worker takes of its waiting environments the one that has used the least time so far: a
        slow one is stepped less often, and never forgotten.

        Args:
            actions: One action for each of them.
            env_ids: Which ones; None for those of the last `recv`, or all after a `reset`.

        Raises:
            ResetNeeded: Before `reset`, or, when autoreset is disabled, on an ended episode.
            InvalidArgument: Environments that are being stepped already (a `ValueError`).
            InvalidAction: Not one action for each.
        """
        self._begin("send", outstanding=True)
        if env_ids is not None:
            lanes = lane_indices(env_ids, self.num_envs, "env_ids").tolist()
        elif self._received is not None:
            lanes = self._received
        else:
            lanes = self._all
        busy = set(self._outstanding()).intersection(lanes)
        if busy:
            raise InvalidArgument(
                f"env_ids: expected environments that are not being stepped, got {sorted(busy)}"
            )
        self._check_steppable(lanes)
        if self._action_layout is None:
            raise InvalidArgument(
                f"send: actions of {self.single_action_space} cannot lie in shared memory; use step"
            )
        checked = checked_actions(self._action_layout, actions, len(lanes))
        indices = np.asarray(lanes, dtype=np.int64)
        store_actions(self._action_layout, self._action_rows, checked, indices)
        self._given_up += [lane for lane in lanes if lane in self._lost]
        self._channel.submit([lane for lane in lanes if lane not in self._lost])
        self._received = []

    def step_lanes(self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any]) -> StepResult:
        """Step some of the environments; see `step`, which this is with `env_ids`."""
        results: StepResult = self.step(actions, env_ids)
        return results

    def recv(self, timeout: float | None = None) -> StepResult:
        """Return the results of `batch_size` environments, those that were ready first.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Returns:
            As `step`, with `batch_size` rows; `infos["env_id"]` int64 names the environments.

        Raises:
            NoAsyncCallError: Fewer environments than that are being stepped.
            WorkerTimeout: The results did not come in time; the next `recv` returns them.
            EnvironmentFailed: Environments raised; `reset` is needed.
            WorkerDied: A worker died.
        """
        timeout = checked_timeout(timeout)
        self._assert_is_running()
        outstanding = len(self._outstanding())
        if outstanding < self.batch_size:
            raise NoAsyncCallError(
                f"Calling `recv` for {self.batch_size} environments while {outstanding} are being "
                "stepped; call `send` first.",
                "step",
            )
        lanes = self._wait_ready(timeout)
        self._received = lanes
        return self._lane_results(lanes)

    def _outstanding(self) -> list[int]:
        """Return the lanes that were sent and not received."""
        return [*self._channel.outstanding().tolist(), *self._given_up]

    def _check_outstanding(self, method: str) -> None:
        if self._received is not None and self._outstanding():
            raise AlreadyPendingCallError(
                f"Calling `{method}` while {len(self._outstanding())} environments are being "
                "stepped; call `recv` first.",
                "step",
            )

    def _drop_outstanding(self) -> None:
        """Take back what was sent and not received, before a reset of all."""
        self._given_up.clear()
        lanes = self._channel.outstanding()
        if len(lanes):
            # A worker that finds a lane and a reset at once must not step the lane after it.
            self._channel.forget(lanes)
            self._dropped = True

    def _drop_messages(self) -> None:
        """After that reset: drop what came with the results of lanes that were under way."""
        assert self._pool is not None
        if self._dropped:
            self._dropped = False
            self._pool.drop_lane_messages()

    def _wait_ready(self, timeout: float | None) -> list[int]:
        assert self._pool is not None
        pool, size = self._pool, self.batch_size
        started = time.monotonic()
        # Also where the other workers are fast enough that nobody ever waits for the dead one.
        look_after_workers = started > self._looked_after + _LOOK_SECONDS
        while True:
            done = self._given_up[:size]
            wanted = size - len(done)
            if wanted == 0:
                del self._given_up[:size]
                return done
            left = _SLICE_SECONDS
            if timeout is not None:
                left = min(left, max(0.0, started + timeout - time.monotonic()))
            outstanding = self._channel.outstanding()
            lanes = None
            if len(outstanding) >= wanted and not look_after_workers:
                lanes = self._channel.ready(wanted, left, pool.spin)
            if lanes is not None:
                del self._given_up[: len(done)]
                return [*done, *lanes.tolist()]
            pool.pump()
            look_after_workers = False
            self._looked_after = time.monotonic()
            dead = pool.ended()
            if dead:
                if not self._restarts:
                    self._ready = False
                    raise pool.death(dead, "recv")
                self._give_up(dead)
            elif timeout is not None and time.monotonic() >= started + timeout:
                raise worker_timeout(outstanding.tolist(), "recv", timeout)

    def _give_up(self, workers: Sequence[int]) -> None:
        """Restart workers; what they were stepping counts as done."""
        assert self._pool is not None
        before = set(self._channel.outstanding().tolist())
        lanes = [
            lane
            for worker in workers
            for lane in range(*self._pool.bounds[worker])
            if lane in before
        ]
        self._restart(workers)
        self._given_up += lanes

    def _lane_results(self, lanes: list[int]) -> StepResult:
        """Return the results of some lanes, which have been stepped."""
        assert self._pool is not None
        memory = self._memory
        indices = np.asarray(lanes, dtype=np.int64)
        alive = [lane for lane in lanes if lane not in self._lost]
        blobs = {
            lane: self._pool.lane_message(lane, "overflow")
            for lane in alive
            if memory.slots.overflowed(lane)
        }
        failed = [lane for lane in alive if memory.failed[lane]]
        if failed:
            self._ready = False
            failures = [self._pool.lane_message(lane, "failure") for lane in failed]
            failures = [failure for failure in failures if failure is not None]
            if failures:
                raise failures_raised(failures)
            raise ResetNeeded(
                f"recv: environments {failed} were not stepped, because one before them failed; "
                f"call reset() of {self}"
            )
        rows = {lane: row for row, lane in enumerate(lanes)}
        infos = self._results.infos(
            alive, blobs, self._merge_into(len(lanes)), [rows[lane] for lane in alive]
        )
        rewards = memory.rewards[indices]
        terminations, truncations = memory.terminated[indices], memory.truncated[indices]
        lost = [lane for lane in lanes if lane in self._lost]
        if lost:
            self._report_lost(
                lost, [rows[lane] for lane in lost], rewards, terminations, truncations, infos
            )
        ended = terminations | truncations
        self._results.episodes(infos, ended, indices)
        self._ended[indices] = ended
        infos["env_id"] = indices
        return self._observed(lanes), rewards, terminations, truncations, infos

    def _observed(self, lanes: Sequence[int] | None = None) -> Any:
        """Return the observations of all lanes, or of some."""
        results = self._results
        try:
            return results.observations() if lanes is None else results.some_observations(lanes)
        except EnvironmentFailed:  # one that does not fit its space
            self._ready = False
            raise

    def _merge_into(self, rows: int) -> Any:
        from gymcore.vector.utils.infos import merge_info

        def add_info(infos: dict[str, Any], info: dict[str, Any], row: int) -> dict[str, Any]:
            merge_info(infos, info, row, rows)
            return infos

        return add_info

    def _single_actions(self, actions: Any, count: int) -> list[Any]:
        single = list(iterate(self.action_space, actions))
        if len(single) != count:
            raise InvalidAction(
                f"actions: expected one for each of the {count} environments, got {len(single)}"
            )
        return single

    def _step_some(self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any]) -> StepResult:
        """Step some environments and wait for them; see `step`."""
        assert self._pool is not None
        self._begin("step_async")
        lanes = lane_indices(env_ids, self.num_envs, "env_ids").tolist()
        self._check_steppable(lanes)
        single: list[Any] | None = None
        if self._action_layout is None:
            single = self._single_actions(actions, len(lanes))
        else:
            checked = checked_actions(self._action_layout, actions, len(lanes))
            store_actions(
                self._action_layout, self._action_rows, checked, np.asarray(lanes, dtype=np.int64)
            )
        self._post_lanes(lanes, single)
        replies, died = self._collect("step_wait", None)
        if died:
            self._restart(died)
        self._memory.failed[lanes] = False
        self._pool.keep_overflow(replies)
        return self._lane_results(lanes)

    def _step_infos(self, replies: Replies) -> dict[str, Any]:
        """Return the merged infos of a step of all lanes."""
        overflow = overflow_of(replies)
        if self._lost:  # their infos are those of the reset in a new worker
            alive = [lane for lane in self._all if lane not in self._lost]
            return self._results.infos(alive, overflow, self._add_info, alive)
        if type(self)._add_info is not VectorEnv._add_info:
            return self._results.infos(self._all, overflow, self._add_info, self._all)
        return self._results.all_infos(overflow)

    def _reset_workers(
        self,
        lanes: Sequence[int],
        seeds: list[int | None] | None,
        env_options: dict[str, Any] | None,
        workers: Sequence[int] | None = None,
    ) -> None:
        assert self._pool is not None
        args: dict[int, tuple[Any, ...]] = {}
        for worker in self._workers if workers is None else workers:
            lo, hi = self._pool.bounds[worker]
            own = [lane for lane in lanes if lo <= lane < hi]
            if own:
                args[worker] = (
                    None if len(own) == hi - lo else [lane - lo for lane in own],
                    None if seeds is None else [seeds[lane] for lane in own],
                    env_options,
                )
        self._post_messages("reset", args)

    def _post_lanes(self, lanes: Sequence[int], single: list[Any] | None) -> None:
        """Ask for a step of some lanes, whose actions are in shared memory or in the list.

        Lanes that a restarted worker has lost are not stepped: they only say so.
        """
        assert self._pool is not None
        args: dict[int, tuple[Any, ...]] = {}
        for worker, (lo, hi) in enumerate(self._pool.bounds):
            own = [k for k, lane in enumerate(lanes) if lo <= lane < hi and lane not in self._lost]
            if own:
                args[worker] = (
                    [lanes[k] - lo for k in own],
                    None if single is None else [single[k] for k in own],
                )
        self._asked: list[int] = []
        if args:
            self._post_messages("step_lanes", args)

    # --- restarted workers ---------------------------------------------------------------------

    def _death(self, workers: Sequence[int]) -> WorkerDied:
        assert self._pool is not None
        death: WorkerDied = self._pool.death(workers, "reset_wait")
        return death

    def _revive(self) -> None:
        """Start workers again whose death was told when there was no step to tell it."""
        assert self._pool is not None
        if self._restarts and self._pool.dead:
            self._restart(list(self._pool.dead))

    def _restart(self, workers: Sequence[int]) -> None:
        """Start workers again; their lanes have lost their episodes."""
        assert self._pool is not None
        for worker in workers:
            lanes = range(*self._pool.bounds[worker])
            last = {}
            if self._ready:
                last = {lane: self._results.observation(lane) for lane in lanes}
            self._pool.restart(worker)
            self._post_messages("restart", {worker: (self._final_frames,)})
            replies, _ = self._pool.wait(self._request, [worker], "restart", None)
            self._pool.keep_overflow(replies)
            blobs = {
                lane: self._pool.lane_message(lane, "overflow")
                for lane in lanes
                if self._memory.slots.overflowed(lane)
            }
            # For the observations that are pickled; the infos of this reset belong to no step.
            self._results.infos(lanes, blobs, self._merge_into(self.num_envs), lanes)
            if not self._ready:
                continue
            self._lost.update(lanes)
            self._last_seen.update(last)
            if self.autoreset_mode is not AutoresetMode.SAME_STEP:
                for lane in lanes:
                    self._results.store(lane, last[lane])

    def _report_lost(
        self,
        lanes: Sequence[int],
        rows: Sequence[int],
        rewards: npt.NDArray[np.float64],
        terminations: npt.NDArray[np.bool_],
        truncations: npt.NDArray[np.bool_],
        infos: dict[str, Any],
    ) -> None:
        """Say of lanes whose worker was restarted that their episodes were cut off."""
        add_info = self._merge_into(len(rewards))
        for lane, row in zip(lanes, rows, strict=True):
            rewards[row], terminations[row], truncations[row] = 0.0, False, True
            last = self._last_seen.pop(lane, None)
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                add_info(infos, {"final_obs": last, "final_info": {}}, row)
            add_info(infos, {"worker_restarted": True}, row)
        self._lost.difference_update(lanes)
