"""A vector environment that steps Python environments one after another, in this process."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType
from gymcore.error import (
    ArgumentTypeError,
    ClosedEnvironmentError,
    InvalidAction,
    InvalidArgument,
    ResetNeeded,
)
from gymcore.spaces import Space
from gymcore.utils.arguments import seeds_per_env, split_reset_mask
from gymcore.vector.engine_options import check_threads, check_worker_options, received_rows
from gymcore.vector.layouts import action_layout, layout_of
from gymcore.vector.partial_batches import Lanes, StepResult
from gymcore.vector.sub_envs import adopt_spaces
from gymcore.vector.sync_calls import SyncCalls, naming_lane
from gymcore.vector.utils.space_utils import iterate
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore_ext.python_envs.row_loop import RowLoop
from gymcore_ext.python_envs.rows import Rows, rows_of

__all__ = ["SyncVectorEnv"]

_MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)


class SyncVectorEnv(SyncCalls, VectorEnv[ObsType, ActType, npt.NDArray[Any]]):
    """Steps a list of environments in order.

    An exception in `reset` or `step` of an environment is raised as an `EnvironmentFailed` that is
    also of the exception's own class, and the next call must be a `reset` of all environments.

    Attributes:
        envs: The environments. One may be replaced between two calls, and so may its methods.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> observations, infos = envs.reset(seed=42)
        >>> observations.shape
        (2, 4)
        >>> _, rewards, terminations, truncations, infos = envs.step([0, 1])
        >>> rewards
        array([1., 1.])
        >>> envs.close()
    """

    def __init__(
        self,
        env_fns: Iterable[Callable[[], Env[Any, Any]]],
        copy: bool = True,
        observation_mode: str | tuple[Space[Any], Space[Any]] = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        *,
        num_workers: int | None = None,
        batch_size: int | None = None,
        on_worker_death: str = "raise",
        episode_statistics: bool = False,
        num_threads: int | None = None,
    ) -> None:
        """Make the environments.

        Args:
            env_fns: Functions without arguments that each make one environment.
            copy: Whether `reset` and `step` return observations that are the caller's to keep. If
                False they return one buffer that the next call overwrites.
            observation_mode: "same", every environment has the first one's observation space;
                "different", spaces of the same shape and dtype with bounds of their own; or a tuple
                `(observation_space, single_observation_space)` to announce.
            autoreset_mode: When an ended environment is reset.
            num_workers: For `AsyncVectorEnv`; like the other options of other engines without
                effect here, and taken so that a program can change engines by one word.
            batch_size: How many results `recv` returns; None for all.
            on_worker_death: For `AsyncVectorEnv`.
            episode_statistics: Report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).
            num_threads: For the compiled engine.

        Raises:
            InvalidArgument: No functions, or an impossible option (a `ValueError`).
            ArgumentTypeError: Something that is no function or no space (a `TypeError`).
            SpaceMismatch: The environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: A constructor raised; what was made before is closed.
        """
        self.env_fns = tuple(env_fns)
        self.copy = copy
        self.observation_mode = observation_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        if not self.env_fns:
            raise InvalidArgument("env_fns: expected at least one function, got none")
        for i, env_fn in enumerate(self.env_fns):
            if not callable(env_fn):
                raise ArgumentTypeError(f"env_fns[{i}]: expected a function, got {type(env_fn)}")
        self.num_envs = len(self.env_fns)
        check_threads(num_threads)
        check_worker_options(num_workers, on_worker_death)
        self.episode_statistics = bool(episode_statistics)
        self._final_frames = False
        self._start_partial(received_rows(batch_size, self.num_envs))

        self._envs: list[Env[Any, Any]] = []
        try:
            for i, env_fn in enumerate(self.env_fns):
                with naming_lane(i, "its constructor"):
                    self._envs.append(env_fn())
                    # What a constructor must return is seen here, not at the first step.
                    _ = self._envs[-1].observation_space, self._envs[-1].action_space
            first = self._envs[0]
            self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
            self.render_mode = first.render_mode
            adopt_spaces(
                self,
                [env.observation_space for env in self._envs],
                [env.action_space for env in self._envs],
            )
        except BaseException:
            with contextlib.suppress(Exception):
                self._close_envs()
            raise
        self._bind()

    def _bind(self) -> None:
        """Make the loop over the environments."""
        self._action_layout = action_layout(self.single_action_space, self.action_space)
        layout = layout_of(self.single_observation_space, copy=self.copy)
        self._loop = RowLoop(
            self._envs,
            Rows(layout, self.num_envs, reuse=not self.copy),
            mode=_MODES.index(self.autoreset_mode),
            statistics=self.episode_statistics,
            add_info=self._merging(),
            errors=error,
        )
        self._loop.final_frames = self._final_frames

    def _merging(self) -> Any:
        """Return how infos are merged, or None where it is the way of `VectorEnv`."""
        if type(self)._add_info is VectorEnv._add_info:
            return None
        this = weakref.ref(self)  # the loop must not keep its owner alive

        def add_info(infos: dict[str, Any], info: dict[str, Any], lane: int) -> dict[str, Any]:
            owner: Any = this()
            merged: dict[str, Any] = owner._add_info(infos, info, lane)
            return merged

        return add_info

    # --- stepping ------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset all environments, or those that `options["reset_mask"]` selects.

        A reset of all drops what was sent and not received.

        Args:
            seed: None; an integer `s`, for environment `i` `s + i`; or one seed or None for each.
            options: Passed on to the environments, without `reset_mask` (the dict itself is left as
                it is). `reset_mask` `[num_envs] bool` selects which ones to reset.

        Returns:
            The observations, with the last ones of environments not reset, and the merged infos of
            those that were.

        Raises:
            ClosedEnvironmentError: After `close`.
            ResetNeeded: A mask leaves out environments that have never been reset, or not since one
                of them failed.
            InvalidArgument: A bad seed or mask (a `ValueError`), nothing was reset.
            ArgumentTypeError: One of the wrong type (a `TypeError`), nothing was reset.
            AlreadyPendingCallError: A mask, while results are still to be received.
            EnvironmentFailed: An environment raised.
        """
        if self.closed:
            raise ClosedEnvironmentError(f"reset: {self} is closed")
        seeds = seeds_per_env(seed, self.num_envs)
        env_options, mask = split_reset_mask(options, self.num_envs)
        lanes = None
        if mask is not None and not mask.all():
            if self._loop.needs_reset:
                raise ResetNeeded(
                    "options['reset_mask']: the first reset must include every environment, "
                    f"got a mask without environments {np.flatnonzero(~mask).tolist()}"
                )
            self._check_none_sent("reset")
            lanes = np.flatnonzero(mask).tolist()
            seeds = [seeds[lane] for lane in lanes]
        else:
            self._forget_sent()
        try:
            observations, infos = self._loop.reset(lanes, seeds, env_options)
        except Exception as problem:
            failure = self._failure(problem)
            if failure is None:
                raise
            raise failure from problem
        return observations, infos

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
            env_ids: Which ones to step, indices or a mask; None for all. The results are theirs, in
                this order, and `infos["env_id"]` int64 names them.

        Raises:
            ClosedEnvironmentError: After `close`.
            ResetNeeded: Before `reset`, after a failure, or, when autoreset is disabled, on an
                ended episode.
            InvalidAction: Not one action for each environment.
            AlreadyPendingCallError: Results are still to be received.
            EnvironmentFailed: An environment raised; all have to be reset.
        """
        if self.closed or self._loop.needs_reset:
            self._check_steppable(None)
        if self._sent_count:
            self._check_none_sent("step")
        if env_ids is not None:
            return self._step_some(actions, env_ids)
        return self._run(self._single_actions(actions, self.num_envs), None)

    def _run(self, actions: list[Any], lanes: list[int] | None) -> StepResult:
        try:
            results: StepResult = self._loop.step(actions, lanes)
        except Exception as problem:
            failure = self._failure(problem)
            if failure is None:
                raise
            raise failure from problem
        return results

    def _failure(self, problem: Exception) -> Exception | None:
        """Return what to raise for an exception of an environment; None for one of ours."""
        if self._loop.failed_lane < 0:
            return None
        from gymcore.vector.workers.failures import environment_failed

        return environment_failed([self._loop.failed_lane], str(self._loop.failed_call), problem)

    # --- partial batches -----------------------------------------------------------------------

    def _check_steppable(self, lanes: Lanes | None) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"step: {self} is closed")
        if self._loop.needs_reset:
            raise ResetNeeded(f"step: call reset() of {self} first")
        if lanes is not None and self.autoreset_mode is AutoresetMode.DISABLED:
            self._loop.check_ended(lanes.tolist())

    def _single_actions(self, actions: Any, count: int) -> list[Any]:
        layout = self._action_layout
        if layout is not None and (type(actions) is np.ndarray or layout[0] != "array"):
            # What is wrong with others is said by `iterate`.
            with contextlib.suppress(TypeError, ValueError, LookupError):
                return rows_of(layout, actions, count)
        try:
            found = list(iterate(self.action_space, actions))
        except error.Error:
            raise
        except Exception as problem:
            raise InvalidAction(
                f"actions: expected a batch for {self.action_space}, got {type(actions).__name__}: "
                f"{type(problem).__name__}: {problem}"
            ) from problem
        if len(found) != count:
            raise InvalidAction(
                f"actions: expected one for each of the {count} environments, got {len(found)}"
            )
        return found

    def _step_lanes(self, actions: list[Any], lanes: Lanes) -> StepResult:
        results = self._run(actions, lanes.tolist())
        results[4]["env_id"] = lanes.copy()
        return results

    # --- copies --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return the environments and what is known of their episodes."""
        kept = {name: value for name, value in self.__dict__.items() if name != "_loop"}
        loop, lanes = self._loop, range(self.num_envs)
        kept["_lanes"] = None if loop.needs_reset else [loop.save_lane(lane) for lane in lanes]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Make the loop again; durations of episodes begin anew."""
        kept = dict(kept)
        lanes = kept.pop("_lanes")
        self.__dict__.update(kept)
        self._bind()
        if lanes is not None:
            for lane, saved in enumerate(lanes):
                self._loop.load_lane(lane, saved)
            self._loop.mark_ready()
