"""Partial batches for engines that step in this process: `send` some lanes, `recv` some results."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import (
    AlreadyPendingCallError,
    InvalidArgument,
    NoAsyncCallError,
)
from gymcore.utils.arguments import lane_indices

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

    Base = VectorEnv[Any, Any, npt.NDArray[Any]]
else:
    Base = object

__all__ = ["Lanes", "PartialBatches"]

Lanes = npt.NDArray[np.int64]

StepResult = tuple[
    Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]


class PartialBatches(Base):
    """`send` and `recv` for a vector environment that steps when results are asked for.

    Lanes are stepped in the order in which they were sent, `batch_size` of them in every `recv`.

    Attributes:
        batch_size: How many results `recv` returns.
    """

    batch_size: int
    steps_some_lanes = True

    def _start_partial(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self._forget_sent()

    def _forget_sent(self) -> None:
        """Drop what was sent: after a reset of all lanes nothing of it can be stepped."""
        self._sent: deque[tuple[Lanes, Any]] = deque()
        self._count_sent(0)
        self._is_sent: npt.NDArray[np.bool_] | None = None
        self._received: Lanes | None = None

    def _count_sent(self, count: int) -> None:
        self._sent_count = count
        self._note_sent(count)

    # What an engine brings along.

    def _check_steppable(self, lanes: Lanes | None) -> None:
        """Raise unless lanes may be stepped now: these, or, for None, any at all."""
        raise NotImplementedError

    def _single_actions(self, actions: Any, count: int) -> Any:
        """Return single actions as a list, or checked ones as an array `[count, ...]`."""
        raise NotImplementedError

    def _step_lanes(self, actions: Any, lanes: Lanes) -> StepResult:
        """Step lanes with actions as `_single_actions` returns them."""
        raise NotImplementedError

    def _note_sent(self, count: int) -> None:
        """Hear how many lanes are sent and not received."""

    # What it gets.

    def send(self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None) -> None:
        """Ask for a step of some environments; `recv` returns the results.

        Args:
            actions: One action for each of them; copied.
            env_ids: Which ones, indices or a mask; None for those of the last `recv`, or all after
                a `reset`.

        Raises:
            ResetNeeded: Before `reset`, or, when autoreset is disabled, on an ended episode.
            InvalidArgument: Environments that were sent already (a `ValueError`).
            InvalidAction: Not one action for each.
            ClosedEnvironmentError: After `close`.
        """
        self._check_steppable(None)
        if env_ids is not None:
            lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        elif self._received is not None and len(self._received):
            lanes = self._received
        else:
            lanes = np.arange(self.num_envs)
        if self._is_sent is None:
            self._is_sent = np.zeros(self.num_envs, dtype=np.bool_)
        busy = self._is_sent[lanes]
        if busy.any():
            raise InvalidArgument(
                "env_ids: expected environments that are not being stepped, got "
                f"{sorted(lanes[busy].tolist())}"
            )
        self._check_steppable(lanes)
        self._sent.append((lanes, self._single_actions(deepcopy(actions), len(lanes))))
        self._count_sent(self._sent_count + len(lanes))
        self._is_sent[lanes] = True
        self._received = lanes[:0]

    def step_lanes(self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any]) -> StepResult:
        """Step some of the environments; see `step`, which this is with `env_ids`."""
        results: StepResult = self.step(actions, env_ids)  # type: ignore[call-arg]
        return results

    def recv(self, timeout: float | None = None) -> StepResult:
        """Step the `batch_size` environments that were sent first, and return their results.

        Args:
            timeout: For engines that wait for other processes; without effect here.

        Returns:
            As `step`, with `batch_size` rows; `infos["env_id"]` int64 names the environments.

        Raises:
            NoAsyncCallError: Fewer environments than that were sent.
            EnvironmentFailed: An environment raised; `reset` is needed.
            ClosedEnvironmentError: After `close`.
        """
        self._check_steppable(None)
        if self._sent_count < self.batch_size:
            raise NoAsyncCallError(
                f"Calling `recv` for {self.batch_size} environments while {self._sent_count} are "
                "being stepped; call `send` first.",
                "step",
            )
        lanes, actions = self._take(self.batch_size)
        results = self._step_lanes(actions, lanes)
        self._received = lanes
        return results

    def _take(self, size: int) -> tuple[Lanes, Any]:
        lanes, actions = self._sent.popleft()
        while len(lanes) < size:
            more, their_actions = self._sent.popleft()
            lanes = np.concatenate((lanes, more))
            if isinstance(actions, list):
                actions = actions + their_actions
            else:
                actions = np.concatenate((actions, their_actions))
        if len(lanes) > size:
            self._sent.appendleft((lanes[size:], actions[size:]))
            lanes, actions = lanes[:size], actions[:size]
        self._count_sent(self._sent_count - size)
        assert self._is_sent is not None
        self._is_sent[lanes] = False
        return lanes, actions

    def _check_none_sent(self, method: str) -> None:
        """Raise if results are still to be received."""
        if self._sent_count:
            raise AlreadyPendingCallError(
                f"Calling `{method}` while {self._sent_count} environments are being stepped; call "
                "`recv` first.",
                "step",
            )

    def _step_some(self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any]) -> StepResult:
        """Step some environments at once."""
        self._check_none_sent("step")
        lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        self._check_steppable(lanes)
        return self._step_lanes(self._single_actions(actions, len(lanes)), lanes)
