"""Calls into environments that live in worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.core import RenderFrame
from gymcore.error import InvalidArgument, ResetNeeded
from gymcore.utils.arguments import lane_indices
from gymcore.vector.async_options import checked_timeout
from gymcore.vector.async_state import AsyncState
from gymcore.vector.lane_episodes import ended_mask
from gymcore.vector.lane_states import LaneState

# The class that these are part of; naming it here would be a circle.
Base: Any = object

__all__ = ["AsyncCalls", "check_call", "values_per_env"]

# Methods of an environment that the batch has its own call for.
_BATCH_CALLS = ("reset", "step", "close", "_setattr", "_check_spaces")


class AsyncCalls(Base):
    """Methods and attributes of the environments, for `AsyncVectorEnv`."""

    _ready: bool
    _ended: npt.NDArray[np.bool_]

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute.

        Args:
            name: Name of a method or attribute of the environment or of one of its wrappers.
            *args: For the method.
            **kwargs: For the method.

        Returns:
            One result for each environment.

        Raises:
            InvalidArgument: A method that the batch has its own call for (a `ValueError`).
            EnvironmentFailed: It raised, or there is no such attribute.
        """
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Begin a call; `call_wait` returns its results.

        Args:
            name: As for `call`.
            *args: For the method.
            **kwargs: For the method.
        """
        self._begin("call_async")
        check_call(name)
        self._post_calls("call", dict.fromkeys(self._all, (name, args, kwargs)))
        self._state = AsyncState.WAITING_CALL

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return the results of `call_async`.

        Args:
            timeout: How long to wait, in seconds; None for ever.

        Raises:
            WorkerTimeout: The results did not come in time; they will be dropped.
            NoAsyncCallError: There was no `call_async`.
        """
        timeout = checked_timeout(timeout)
        self._pending(AsyncState.WAITING_CALL)
        return tuple(self._call_results(timeout))

    def _post_calls(self, call: str, args: dict[int, tuple[Any, ...]]) -> None:
        """Ask for something of single lanes."""
        assert self._pool is not None
        messages: dict[int, tuple[Any, ...]] = {}
        for worker, (lo, hi) in enumerate(self._pool.bounds):
            own = [(lane - lo, *args[lane]) for lane in range(lo, hi) if lane in args]
            if own:
                messages[worker] = (own,)
        self._post_messages(call, messages)

    def _call_results(self, timeout: float | None) -> list[Any]:
        assert self._pool is not None
        replies, died = self._collect("call_wait", timeout)
        if died:
            problem = self._pool.death(died, "call")
            self._restart(died)
            raise problem
        return [one for worker in sorted(replies) for one in replies[worker].get("result", ())]

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment; a method is called.

        Args:
            name: Name of an attribute of the environment or of one of its wrappers.
        """
        return self.call(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of every environment.

        Args:
            name: Name of the attribute.
            values: A list or tuple of one value for each environment, or one value for all.

        Raises:
            InvalidArgument: A list or tuple of another length (a `ValueError`).
        """
        self._begin("set_attr")
        values = values_per_env(values, self.num_envs)
        self._post_calls("set_attr", {lane: (name, values[lane]) for lane in self._all})
        self._call_results(None)

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End episodes, as if the last step had; see `VectorEnv.end_episodes`."""
        self._begin("end_episodes")
        lanes = np.flatnonzero(ended_mask(self, mask)).tolist()
        if not self._ready:
            raise ResetNeeded(f"end_episodes: call reset() of {self} first")
        self._post_calls("end_episode", dict.fromkeys(lanes, ()))
        self._call_results(None)
        self._ended = self._ended | mask

    def keep_final_frames(self, keep: bool = True) -> None:
        """Render before resets in SAME_STEP; see `VectorEnv.keep_final_frames`."""
        self._begin("keep_final_frames")
        self._final_frames = bool(keep)
        self._post_calls("keep_final_frames", dict.fromkeys(self._all, (bool(keep),)))
        self._call_results(None)

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each environment."""
        return self.call("render")

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """A copy of the generator of each environment."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of each environment's generator."""
        return self.get_attr("np_random_seed")

    def get_state(self, lanes: Sequence[int] | npt.NDArray[Any] | None = None) -> list[LaneState]:
        """Return everything that decides what environments do next.

        Args:
            lanes: Indices or a mask; None for all.

        Returns:
            One state for each of the lanes.

        Raises:
            StateNotSupported: An environment has no `get_state` and `set_state`, or a wrapper
                around them that does not pickle (an `AttributeError`).
            ResetNeeded: Before `reset`.
        """
        self._begin("get_state")
        if not self._ready:
            raise ResetNeeded(f"get_state: call reset() of {self} first")
        chosen = lane_indices(lanes, self.num_envs).tolist()
        self._post_calls("get_state", dict.fromkeys(chosen, ()))
        found = dict(zip(sorted(chosen), self._call_results(None), strict=True))
        return [
            found[lane]._replace(observation=self._results.observation(lane)) for lane in chosen
        ]

    def set_state(
        self, state: Sequence[LaneState], lanes: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> None:
        """Let environments go on from states, which may be those of other lanes or batches.

        Args:
            state: One state for each of the lanes.
            lanes: Indices or a mask; None for all.

        Raises:
            InvalidArgument: Not one state for each lane, or of environments of other wrappers (a
                `ValueError`); nothing has changed.
            ArgumentTypeError: What is no state (a `TypeError`); nothing has changed.
            StateNotSupported: An environment that has no `set_state` (an `AttributeError`).
            ResetNeeded: Some lanes of a batch that has not been reset.
            EnvironmentFailed: The `set_state` of an environment raised.
        """
        self._begin("set_state")
        chosen = lane_indices(lanes, self.num_envs).tolist()
        if len(state) != len(chosen):
            raise InvalidArgument(
                f"state: expected one for each of the {len(chosen)} lanes, got {len(state)}"
            )
        if not self._ready and len(chosen) < self.num_envs:
            raise ResetNeeded("set_state: expected states of all lanes, or a reset() before")
        args = {lane: (one,) for lane, one in zip(chosen, state, strict=True)}
        self._post_calls("check_state", args)
        self._call_results(None)
        self._post_calls("set_state", args)
        try:
            self._call_results(None)
        except Exception:
            self._ready = False
            raise
        for lane, one in zip(chosen, state, strict=True):
            self._results.store(lane, one.observation)
            self._ended[lane] = one.ended
            self._lost.discard(lane)
        self._ready = True


def check_call(name: str) -> None:
    """Raise for what the batch has a call of its own for."""
    if name in _BATCH_CALLS:
        raise InvalidArgument(
            f"Trying to call function `{name}` with `call`, use `{name}` directly instead."
        )


def values_per_env(values: Any, num_envs: int) -> Sequence[Any]:
    """Return one value for each environment."""
    if not isinstance(values, (list, tuple)):
        return [values] * num_envs
    if len(values) != num_envs:
        raise InvalidArgument(
            "Values must be a list or tuple with length equal to the number of environments. "
            f"Got `{len(values)}` values for {num_envs} environments."
        )
    return values
