"""`send` and `recv` of engines that step in this process: a queue of lanes waiting for a step."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import lane_indices, positive
from gymcore.core import ActType, ObsType
from gymcore.error import AlreadyPendingCallError, InvalidArgument, NoAsyncCallError
from gymcore.vector.vector_env import EnvIds, VectorEnv
from gymcore_ext.arrays import Turn, one_at_a_time

__all__ = ["Lanes", "QueuedVectorEnv", "SendQueue", "StepResult"]

Lanes = npt.NDArray[np.int64]

StepResult = tuple[
    Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]


class SendQueue:
    """Lanes that were sent with their actions, to be stepped in order, `batch_size` at a time.

    An exception of a signal handler finds what is sent before a change or after it.

    Attributes:
        batch_size: How many lanes `take` returns.
        sent: Lanes that wait, and a list or array of their actions; empty if none wait.
        received: Lanes of the last `recv`, which the next `send` without indices takes; empty after
            a `send`, None after a reset.
    """

    def __init__(self, num_envs: int, batch_size: int | None) -> None:
        """Begin empty; a `batch_size` of None stands for all."""
        self.batch_size = (
            num_envs if batch_size is None else positive("batch_size", batch_size, num_envs)
        )
        self._num_envs = num_envs
        self.clear()

    def clear(self) -> None:
        """Drop what was sent: after a reset of all lanes nothing of it can be stepped."""
        self.sent: tuple[()] | tuple[Lanes, Any] = ()
        self.received: Lanes | None = None

    @property
    def count(self) -> int:
        """How many lanes wait."""
        sent = self.sent
        return len(sent[0]) if sent else 0

    def choose(self, env_ids: EnvIds | None) -> Lanes:
        """Return the lanes of a `send`.

        Args:
            env_ids: Indices or a mask; None for those of the last `recv`, or all after a reset.

        Raises:
            InvalidArgument: Lanes that wait already (a `ValueError`).
        """
        if env_ids is not None:
            lanes = lane_indices(env_ids, self._num_envs, "env_ids")
        elif self.received is not None and len(self.received):
            lanes = self.received
        else:
            lanes = np.arange(self._num_envs)
        if self.sent:
            waits = np.zeros(self._num_envs, dtype=np.bool_)
            waits[self.sent[0]] = True
            if waits[lanes].any():
                raise InvalidArgument(
                    "env_ids: expected environments that are not being stepped, got "
                    f"{sorted(lanes[waits[lanes]].tolist())}"
                )
        return lanes

    def put(self, lanes: Lanes, actions: Any) -> None:
        """Append lanes as `choose` returned them, with a list or array of their actions."""
        if self.sent:
            before, first = self.sent
            lanes = np.concatenate((before, lanes))
            actions = (
                first + actions if isinstance(actions, list) else np.concatenate((first, actions))
            )
        self.sent = lanes, actions
        self.received = lanes[:0]

    def take(self) -> tuple[Lanes, Any]:
        """Remove and return the `batch_size` lanes that were sent first, and their actions.

        Raises:
            NoAsyncCallError: Fewer wait.
        """
        size = self.batch_size
        if not self.sent or len(self.sent[0]) < size:
            raise NoAsyncCallError(
                f"Calling `recv` for {size} environments while {self.count} are "
                "being stepped; call `send` first.",
                "step",
            )
        lanes, actions = self.sent
        self.sent = (lanes[size:], actions[size:]) if len(lanes) > size else ()
        return lanes[:size], actions[:size]

    def check_empty(self, method: str) -> None:
        """Raise `AlreadyPendingCallError` if lanes wait, naming the method that was called."""
        if self.sent:
            raise AlreadyPendingCallError(
                f"Calling `{method}` while {self.count} environments are being stepped; call "
                "`recv` first.",
                "step",
            )


class QueuedVectorEnv(VectorEnv[ObsType, ActType, npt.NDArray[Any]], Generic[ObsType, ActType]):
    """The base of engines that step in this process, where `recv` steps what `send` has queued."""

    steps_some_lanes = True
    _queue: SendQueue
    _turn: Turn

    def _check_steppable(self, lanes: Lanes | None) -> None:
        """Raise unless these lanes may be stepped now; None stands for any at all."""
        raise NotImplementedError

    def _actions_of(self, actions: Any, count: int) -> Any:
        """Return the actions of so many lanes, checked, as `_step_lanes` takes them."""
        raise NotImplementedError

    def _step_lanes(self, actions: Any, lanes: Lanes) -> StepResult:
        raise NotImplementedError

    def step_lanes(self, actions: Any, env_ids: EnvIds) -> StepResult:
        """Step some of the environments; see `step`, which this is with `env_ids`."""
        return self.step(actions, env_ids)  # type: ignore[call-arg]

    @property
    def batch_size(self) -> int:
        """How many results `recv` returns."""
        return self._queue.batch_size

    @one_at_a_time(error)
    def send(self, actions: Any, env_ids: EnvIds | None = None) -> None:
        """Request a step of some environments; `recv` steps them and returns the results.

        Args:
            actions: One action for each of them; copied.
            env_ids: Which ones, indices or a mask; None for those of the last `recv`, or all after
                a `reset`.

        Raises:
            InvalidArgument: Environments that were sent already (a `ValueError`); and as `step`.
        """
        self._check_steppable(None)
        lanes = self._queue.choose(env_ids)
        self._check_steppable(lanes)
        self._queue.put(lanes, self._actions_of(deepcopy(actions), len(lanes)))

    @one_at_a_time(error)
    def recv(self, timeout: float | None = None) -> StepResult:
        """Step the `batch_size` environments that were sent first, and return their results.

        Args:
            timeout: For engines that wait for other processes; has no effect here.

        Returns:
            As `step`, with `batch_size` rows; `infos["env_id"]` int64 names the environments.

        Raises:
            NoAsyncCallError: Fewer environments than that were sent; and as `step`.
        """
        self._check_steppable(None)
        lanes, actions = self._queue.take()
        results = self._step_lanes(actions, lanes)
        self._queue.received = lanes
        return results
