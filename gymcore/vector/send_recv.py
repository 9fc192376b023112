"""`send` and `recv` of engines that step in this process: a queue of lanes waiting for a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import AlreadyPendingCallError, InvalidArgument, NoAsyncCallError
from gymcore.utils.arguments import lane_indices, positive

__all__ = ["Lanes", "SendQueue", "StepResult"]

Lanes = npt.NDArray[np.int64]

StepResult = tuple[
    Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]


class SendQueue:
    """Lanes that were sent with their actions, to be stepped in order, `batch_size` at a time.

    Attributes:
        batch_size: How many lanes `take` returns.
        count: How many lanes wait.
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
        self.count = 0
        self.received: Lanes | None = None
        self._batches: deque[tuple[Lanes, Any]] = deque()
        self._waits = np.zeros(self._num_envs, dtype=np.bool_)

    def choose(self, env_ids: Sequence[int] | npt.NDArray[Any] | None) -> Lanes:
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
        waiting = self._waits[lanes]
        if waiting.any():
            raise InvalidArgument(
                "env_ids: expected environments that are not being stepped, got "
                f"{sorted(lanes[waiting].tolist())}"
            )
        return lanes

    def put(self, lanes: Lanes, actions: Any) -> None:
        """Append lanes as `choose` returned them, with a list or array of their actions."""
        self._batches.append((lanes, actions))
        self.count += len(lanes)
        self._waits[lanes] = True
        self.received = lanes[:0]

    def take(self) -> tuple[Lanes, Any]:
        """Remove and return the `batch_size` lanes that were sent first, and their actions.

        Raises:
            NoAsyncCallError: Fewer wait.
        """
        size = self.batch_size
        if self.count < size:
            raise NoAsyncCallError(
                f"Calling `recv` for {size} environments while {self.count} are "
                "being stepped; call `send` first.",
                "step",
            )
        lanes, actions = self._batches.popleft()
        while len(lanes) < size:
            more, more_actions = self._batches.popleft()
            lanes = np.concatenate((lanes, more))
            if isinstance(actions, list):
                actions = actions + more_actions
            else:
                actions = np.concatenate((actions, more_actions))
        if len(lanes) > size:
            self._batches.appendleft((lanes[size:], actions[size:]))
            lanes, actions = lanes[:size], actions[:size]
        self.count -= size
        self._waits[lanes] = False
        return lanes, actions

    def check_empty(self, method: str) -> None:
        """Raise `AlreadyPendingCallError` if lanes wait, naming the method that was called."""
        if self.count:
            raise AlreadyPendingCallError(
                f"Calling `{method}` while {self.count} environments are being stepped; call "
                "`recv` first.",
                "step",
            )
