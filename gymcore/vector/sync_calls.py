"""Calls into environments that live in this process, one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.core import Env, RenderFrame
from gymcore.error import ClosedEnvironmentError, InvalidArgument, ResetNeeded, StateNotSupported
from gymcore.utils.arguments import lane_indices
from gymcore.vector.episode_ends import ended_mask
from gymcore.vector.lane_states import LaneState, check_state, load_env, save_env
from gymcore.vector.partial_batches import PartialBatches
from gymcore_ext.python_envs.row_loop import RowLoop

__all__ = ["SyncCalls", "naming_lane"]


@contextlib.contextmanager
def naming_lane(lane: int, call: str) -> Iterator[None]:
    """Let an exception of an environment say which one it was, and in what."""
    try:
        yield
    except StateNotSupported:
        raise  # names the environment itself
    except Exception as problem:
        from gymcore.vector.workers.failures import environment_failed

        raise environment_failed([lane], call, problem) from problem


class SyncCalls(PartialBatches):
    """Methods, attributes and states of the environments, for `SyncVectorEnv`."""

    _envs: list[Env[Any, Any]]
    _loop: RowLoop

    @property
    def envs(self) -> list[Env[Any, Any]]:
        """The environments. One may be replaced between two calls, and so may its methods."""
        return self._envs

    @envs.setter
    def envs(self, envs: Iterable[Env[Any, Any]]) -> None:
        self._envs[:] = envs

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each environment.

        Raises:
            EnvironmentFailed: An environment raised.
        """
        frames = []
        for lane, env in enumerate(self.envs):
            with naming_lane(lane, "render"):
                frames.append(env.render())
        return tuple(frames)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute.

        Args:
            name: Name of a method or attribute of the environment or of one of its wrappers.
            *args: For the method.
            **kwargs: For the method.

        Returns:
            One result for each environment.

        Raises:
            EnvironmentFailed: It raised, or there is no such attribute; of the class of what was
                raised (an `AttributeError`).
        """
        found = []
        for lane, env in enumerate(self.envs):
            with naming_lane(lane, name):
                found.append(env.get_wrapper_attr(name))
        results = []
        for lane, one in enumerate(found):
            with naming_lane(lane, name):
                results.append(one(*args, **kwargs) if callable(one) else one)
        return tuple(results)

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
            EnvironmentFailed: An environment raised.
        """
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise InvalidArgument(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        for lane, (env, value) in enumerate(zip(self.envs, values, strict=True)):
            with naming_lane(lane, "set_attr"):
                env.set_wrapper_attr(name, value)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each environment."""
        return tuple(env.np_random for env in self.envs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each environment's generator."""
        return tuple(env.np_random_seed for env in self.envs)

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End episodes, as if the last step had; see `VectorEnv.end_episodes`."""
        lanes = np.flatnonzero(ended_mask(self, mask)).tolist()
        self._check_steppable(None)
        self._loop.mark_ended(lanes)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Render before resets in SAME_STEP; see `VectorEnv.keep_final_frames`."""
        self._final_frames = self._loop.final_frames = bool(keep)

    # --- states --------------------------------------------------------------------------------

    def get_state(self, lanes: Sequence[int] | npt.NDArray[Any] | None = None) -> list[LaneState]:
        """Return everything that decides what environments do next.

        Args:
            lanes: Indices or a mask; None for all.

        Returns:
            One state for each of the lanes, apart from the environments.

        Raises:
            StateNotSupported: An environment has no `get_state` and `set_state`, or a wrapper
                around them that does not pickle (an `AttributeError`).
            ResetNeeded: Before `reset`.
            ClosedEnvironmentError: After `close`.
        """
        if self.closed:
            raise ClosedEnvironmentError(f"get_state: {self} is closed")
        if self._loop.needs_reset:
            raise ResetNeeded(f"get_state: call reset() of {self} first")
        states = []
        for lane in lane_indices(lanes, self.num_envs).tolist():
            with naming_lane(lane, "get_state"):
                env, wrappers = save_env(self.envs[lane], lane)
            states.append(LaneState(env, wrappers, *self._loop.save_lane(lane)))
        return states

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
        if self.closed:
            raise ClosedEnvironmentError(f"set_state: {self} is closed")
        chosen = lane_indices(lanes, self.num_envs).tolist()
        if len(state) != len(chosen):
            raise InvalidArgument(
                f"state: expected one for each of the {len(chosen)} lanes, got {len(state)}"
            )
        if self._loop.needs_reset and len(chosen) < self.num_envs:
            raise ResetNeeded("set_state: expected states of all lanes, or a reset() before")
        self._check_none_sent("set_state")
        for lane, one in zip(chosen, state, strict=True):
            check_state(self.envs[lane], one, lane)
        for lane, one in zip(chosen, state, strict=True):
            with naming_lane(lane, "set_state"):
                load_env(self.envs[lane], one)
            self._loop.load_lane(lane, tuple(one[2:]))
        self._loop.mark_ready()

    # --- ending --------------------------------------------------------------------------------

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment; one that fails does not keep the others open.

        Raises:
            EnvironmentFailed: An environment's `close` raised. All the same everything is closed.
        """
        self.closed = True
        self._close_envs()

    def _close_envs(self) -> None:
        failures: dict[int, BaseException] = {}
        for lane, env in enumerate(self.envs):
            try:
                env.close()
            except BaseException as problem:
                failures[lane] = problem
        for other in failures.values():
            if not isinstance(other, Exception):  # an interrupt is none of the environment's
                raise other
        if failures:
            from gymcore.vector.workers.failures import environment_failed

            first = next(iter(failures.values()))
            raise environment_failed(list(failures), "close", first) from first
