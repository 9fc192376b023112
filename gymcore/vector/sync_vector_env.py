"""A vector environment that steps Python environments one after another, in this process."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import lane_indices, seeds_per_env, split_reset_mask
from gymcore.core import ActType, Env, Info, ObsType, Options, RenderFrame, without_mode
from gymcore.error import (
    ClosedEnvironmentError,
    InvalidAction,
    ResetNeeded,
    StateNotSupported,
)
from gymcore.foreign import adopt, make_adopted
from gymcore.spaces import Space
from gymcore.spaces.layouts import action_layout, layout_of, split_batch
from gymcore.vector.engine_options import (
    adopt_spaces,
    check_engine_options,
    checked_functions,
    values_per_env,
)
from gymcore.vector.lane_episodes import AUTORESET_NUMBERS, AutoresetMode, ended_mask
from gymcore.vector.lane_states import LaneState, check_state, load_env, save_env, states_of
from gymcore.vector.send_recv import Lanes, QueuedVectorEnv, SendQueue, StepResult
from gymcore.vector.utils.space_utils import create_empty_array, iterate
from gymcore.vector.vector_env import EnvIds, Seeds, VectorEnv
from gymcore_ext.arrays import Turn, one_at_a_time
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.env_loop import EnvLoop

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(QueuedVectorEnv[ObsType, ActType]):
    """Steps a list of environments in order.

    An exception in `reset` or `step` of an environment is raised as an `EnvironmentFailed` that is
    also an instance of the exception's own class, and the next call must be a `reset` of all
    environments.

    A subclass may have a `step` in Python that writes Gymnasium's buffers: `_rewards`,
    `_terminations`, `_truncations`, `_autoreset_envs`, `_observations` and `_env_obs`.

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
            env_fns: Functions without arguments that each make one environment, gymcore's or
                Gymnasium's.
            copy: Whether `reset` and `step` return observations that are the caller's to keep. If
                False they return one buffer that the next call overwrites.
            observation_mode: "same", every environment has the first one's observation space;
                "different", spaces of the same shape and dtype with different bounds; or a tuple
                `(observation_space, single_observation_space)` to announce.
            autoreset_mode: When an ended environment is reset.
            num_workers: For `AsyncVectorEnv`. Options of other engines have no effect here; they
                are accepted so that a program can change engines by changing one word.
            batch_size: How many results `recv` returns; None for all.
            on_worker_death: For `AsyncVectorEnv`; "restart" warns here.
            episode_statistics: Report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).
            num_threads: For the compiled engine.

        Raises:
            InvalidArgument: No functions, or an invalid option (a `ValueError`).
            ArgumentTypeError: Something that is not a function or a space (a `TypeError`).
            SpaceMismatch: The environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: A constructor raised; the environments made before are closed.
        """
        self.env_fns = checked_functions(env_fns)
        self.copy = copy
        self.observation_mode = observation_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.num_envs = len(self.env_fns)
        check_engine_options(num_threads, num_workers, on_worker_death)
        self.episode_statistics = bool(episode_statistics)
        self._final_frames = False
        self._queue, self._turn = SendQueue(self.num_envs, batch_size), Turn()

        self._envs: list[Env[Any, Any]] = []
        try:
            for i, env_fn in enumerate(self.env_fns):
                with _naming_lane(i, "its constructor"):
                    self._envs.append(make_adopted(env_fn))
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
        if type(self).step is not SyncVectorEnv.step:
            self._make_step_buffers()

    def _make_step_buffers(self) -> None:
        """Make the buffers of Gymnasium's `step`, for a subclass that writes them in its own."""
        self._env_obs: list[Any] = [None] * self.num_envs
        self._observations = create_empty_array(self.single_observation_space, self.num_envs)
        self._rewards = np.zeros(self.num_envs)
        self._terminations = np.zeros(self.num_envs, np.bool_)
        self._truncations = np.zeros(self.num_envs, np.bool_)
        self._autoreset_envs = np.zeros(self.num_envs, np.bool_)

    def _bind(self) -> None:
        """Make the loop over the environments."""
        self._action_layout = action_layout(self.single_action_space, self.action_space)
        layout = layout_of(self.single_observation_space, copy=self.copy)
        self._loop = EnvLoop(
            self._envs,
            BatchBuffer(layout, self.num_envs, reuse=not self.copy),
            mode=AUTORESET_NUMBERS[self.autoreset_mode],
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
            return owner._add_info(infos, info, lane)

        return add_info

    # --- stepping ------------------------------------------------------------------------------

    @one_at_a_time(error)
    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset all environments, or those that `options["reset_mask"]` selects.

        A reset of all drops actions that were sent and whose results were not received.

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
            self._queue.check_empty("reset")
            lanes = np.flatnonzero(mask).tolist()
            seeds = [seeds[lane] for lane in lanes]
        try:
            results = self._loop.reset(lanes, seeds, env_options)
        except Exception as problem:
            self._name_failed_lane(problem)
            raise
        if lanes is None:
            self._queue.clear()
        if type(self).step is not SyncVectorEnv.step:
            for ended in (self._terminations, self._truncations, self._autoreset_envs):
                ended[slice(None) if lanes is None else lanes] = False
        return results

    def step(
        self, actions: ActType, env_ids: EnvIds | None = None
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
            ResetNeeded: Before `reset`, after a failure, or, when autoreset is disabled, on an
                ended episode.
            InvalidAction: Not one action for each environment.
            AlreadyPendingCallError: Results are still to be received.
            EnvironmentFailed: An environment raised; all have to be reset.
        """
        if self.closed or self._loop.needs_reset:
            self._check_steppable(None)
        if self._queue.sent:
            self._queue.check_empty("step")
        if env_ids is None:
            return self._run(self._actions_of(actions, self.num_envs), None)
        lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        self._check_steppable(lanes)
        return self._step_lanes(self._actions_of(actions, len(lanes)), lanes)

    def _run(self, actions: list[Any], lanes: list[int] | None) -> StepResult:
        try:
            return self._loop.step(actions, lanes)
        except Exception as problem:
            self._name_failed_lane(problem)
            raise

    def _name_failed_lane(self, problem: Exception) -> None:
        """Raise an exception that an environment raised as `EnvironmentFailed`."""
        if self._loop.failed_lane >= 0:
            from gymcore.vector.workers.failures import environment_failed

            lanes, call = [self._loop.failed_lane], str(self._loop.failed_call)
            raise environment_failed(lanes, call, problem) from problem

    def _check_steppable(self, lanes: Lanes | None) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"step: {self} is closed")
        if self._loop.needs_reset:
            raise ResetNeeded(f"step: call reset() of {self} first")
        if lanes is not None and self.autoreset_mode is AutoresetMode.DISABLED:
            self._loop.check_ended(lanes.tolist())

    def _actions_of(self, actions: Any, count: int) -> list[Any]:
        layout = self._action_layout
        if type(actions) is not np.ndarray and hasattr(actions, "__dlpack__"):
            actions = np.asarray(actions)  # a tensor, whose elements are tensors too
        if layout is not None and (type(actions) is np.ndarray or layout[0] != "array"):
            # `iterate` says what is wrong with others.
            with contextlib.suppress(TypeError, ValueError, LookupError):
                return split_batch(layout, actions, count)
        try:
            single = list(iterate(self.action_space, actions))
        except error.Error:
            raise
        except Exception as problem:
            raise InvalidAction(
                f"actions: expected a batch for {self.action_space}, got {type(actions).__name__}: "
                f"{type(problem).__name__}: {problem}"
            ) from problem
        if len(single) != count:
            raise InvalidAction(
                f"actions: expected one for each of the {count} environments, got {len(single)}"
            )
        return single

    def _step_lanes(self, actions: list[Any], lanes: Lanes) -> StepResult:
        results = self._run(actions, lanes.tolist())
        results[4]["env_id"] = lanes.copy()
        return results

    # --- environments --------------------------------------------------------------------------

    @property
    def envs(self) -> list[Env[Any, Any]]:
        """The environments. One may be replaced between two calls, and so may its methods."""
        return self._envs

    @envs.setter
    def envs(self, envs: Iterable[Env[Any, Any]]) -> None:
        self._envs[:] = map(adopt, envs)

    @without_mode
    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each environment."""
        frames = []
        for lane, env in enumerate(self.envs):
            with _naming_lane(lane, "render"):
                frames.append(env.render())
        return tuple(frames)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute.

        Args:
            name: Name of a method or attribute of the environment or of one of its wrappers.
            *args: For the method.
            **kwargs: For the method.

        Raises:
            EnvironmentFailed: It raised, or there is no such attribute (an `AttributeError`).
        """
        attributes = []
        for lane, env in enumerate(self.envs):
            with _naming_lane(lane, name):
                attributes.append(env.get_wrapper_attr(name))
        results = []
        for lane, value in enumerate(attributes):
            with _naming_lane(lane, name):
                results.append(value(*args, **kwargs) if callable(value) else value)
        return tuple(results)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment; a method is called."""
        return self.call(name)

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of every environment.

        Args:
            name: Name of the attribute.
            values: A list or tuple of one value for each environment, or one value for all.

        Raises:
            InvalidArgument: A list or tuple of another length (a `ValueError`).
        """
        values = values_per_env(values, self.num_envs)
        for lane, (env, value) in enumerate(zip(self.envs, values, strict=True)):
            with _naming_lane(lane, "set_attr"):
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
        """Return everything that determines what environments do next, one copy per lane.

        Args:
            lanes: Indices or a mask; None for all.

        Raises:
            StateNotSupported: An environment has no `get_state` and `set_state`, or a wrapper
                around them does not pickle (an `AttributeError`).
        """
        if self.closed:
            raise ClosedEnvironmentError(f"get_state: {self} is closed")
        if self._loop.needs_reset:
            raise ResetNeeded(f"get_state: call reset() of {self} first")
        states = []
        for lane in lane_indices(lanes, self.num_envs).tolist():
            with _naming_lane(lane, "get_state"):
                env, wrappers = save_env(self.envs[lane], lane)
            states.append(LaneState(env, wrappers, *self._loop.save_lane(lane)))
        return states

    def set_state(
        self, state: Sequence[LaneState], lanes: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> None:
        """Continue environments from states, which may be those of other lanes or batches.

        The states of wrappers are pickles and may run any code: set only states that you trust.

        Args:
            state: One state for each of the lanes.
            lanes: Indices or a mask; None for all.

        Raises:
            InvalidArgument: Not one state for each lane, or of environments with other wrappers (a
                `ValueError`); nothing has changed.
            ArgumentTypeError: Not a state (a `TypeError`); nothing has changed.
            ResetNeeded: Some lanes of a batch that has not been reset.
        """
        if self.closed:
            raise ClosedEnvironmentError(f"set_state: {self} is closed")
        chosen = lane_indices(lanes, self.num_envs).tolist()
        states = states_of(state, chosen)
        if self._loop.needs_reset and len(chosen) < self.num_envs:
            raise ResetNeeded("set_state: expected states of all lanes, or a reset() before")
        self._queue.check_empty("set_state")
        for lane, one in states.items():
            check_state(self.envs[lane], one, lane)
        for lane, one in states.items():
            with _naming_lane(lane, "set_state"):
                load_env(self.envs[lane], one)
            self._loop.load_lane(lane, tuple(one[2:]))
        self._loop.mark_ready()

    # --- copies --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return the environments and what is known of their episodes."""
        state = {name: value for name, value in self.__dict__.items() if name != "_loop"}
        loop, lanes = self._loop, range(self.num_envs)
        state["_lanes"] = None if loop.needs_reset else [loop.save_lane(lane) for lane in lanes]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the loop again; durations of episodes start again."""
        state = dict(state)
        lanes = state.pop("_lanes")
        self.__dict__.update(state)
        self._bind()
        if lanes is not None:
            for lane, saved in enumerate(lanes):
                self._loop.load_lane(lane, saved)
            self._loop.mark_ready()

    # --- ending --------------------------------------------------------------------------------

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment; one that fails does not keep the others open.

        Raises:
            EnvironmentFailed: An environment's `close` raised. Everything is closed nevertheless.
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


@contextlib.contextmanager
def _naming_lane(lane: int, call: str) -> Iterator[None]:
    """Let an exception of an environment say which one it was, and in what."""
    try:
        yield
    except StateNotSupported:
        raise  # names the environment itself
    except Exception as problem:
        from gymcore.vector.workers.failures import environment_failed

        raise environment_failed([lane], call, problem) from problem
