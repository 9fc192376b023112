"""Base class of the engines, with the contract of vector environments that all of them share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Generic, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.base.arguments import (
    check_mask,
    checked_seeds,
    flag,
    lane_indices,
    positive,
    split_reset_mask,
)
from gymcore.core import ActType, Info, ObsType, Options
from gymcore.env_states import EnvState
from gymcore.error import (
    AlreadyPendingCallError,
    ArgumentTypeError,
    ClosedEnvironmentError,
    InvalidAction,
    InvalidArgument,
    NoAsyncCallError,
    ResetNeeded,
    UnsupportedMode,
)
from gymcore.spaces.batching import iterate
from gymcore.spaces.layouts import Layout, action_layout, split_batch
from gymcore.vector.lane_episodes import AutoresetMode
from gymcore.vector.vector_env import EnvIds, Seeds, VectorEnv
from gymcore_ext.arrays import CurrentCaller, one_at_a_time
from gymcore_ext.engine.actions import action_array
from gymcore_ext.layouts import grouped, leaves
from gymcore_ext.python_envs.infos import copied

Lanes: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
StepResult: TypeAlias = tuple[ObsType, npt.NDArray[np.float64], Mask, Mask, Info]

# Types of floating-point actions that reach the environments unconverted.
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

# Methods of an environment for which the batch has its own methods.
_BATCH_CALLS = ("reset", "step", "close", "_setattr", "_check_spaces")

# Maximum number of lanes that a message names.
_MAX_NAMED = 8

_MAX_THREADS = 1024


class VectorEngine(VectorEnv[ObsType, ActType, np.ndarray], Generic[ObsType, ActType]):
    """Base class of the vector environments that step lanes themselves.

    This class implements the contract: the order of calls, the meaning of actions, lanes, masks,
    seeds and options, the queue of `send` and `recv`, and the errors of all these. An engine
    defines the methods of the section "methods of engines"; their arguments are already checked.

    Only one thread at a time may use an engine; a second one gets `ConcurrentUseError`.

    Attributes:
        autoreset_mode: When an ended lane begins a new episode.
        batch_size: Number of results that `recv` returns.
    """

    steps_some_lanes: bool = True

    autoreset_mode: AutoresetMode
    batch_size: int
    copy: bool = True
    episode_statistics: bool = False
    _caller: CurrentCaller
    _action_layout: Layout | None

    # Lanes that were sent and their actions; None if there are none.
    _sent: tuple[Lanes, Any] | None
    # Lanes that the next `send` without indices uses: None after a reset, empty after a `send`.
    _received: Sequence[int] | Lanes | None

    def _set_options(
        self,
        num_envs: int,
        autoreset_mode: str | AutoresetMode,
        *,
        copy: bool = True,
        batch_size: int | None = None,
        episode_statistics: bool = False,
        num_threads: int | None = None,
        num_workers: int | None = None,
        on_worker_death: str = "raise",
        has_workers: bool = False,
    ) -> None:
        """Check and store the options that all engines accept.

        Options that affect only other engines are checked too, so that a program can switch
        engines without changing its options.
        """
        self._caller = CurrentCaller()
        self.num_envs = num_envs
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError as problem:
            raise InvalidArgument(f"autoreset_mode: {problem}") from problem
        if num_threads is not None:
            positive("num_threads", num_threads, _MAX_THREADS)
        if num_workers is not None:
            positive("num_workers", num_workers)
        if not isinstance(on_worker_death, str) or on_worker_death not in ("raise", "restart"):
            raise InvalidArgument(
                f"on_worker_death: expected 'raise' or 'restart', got {on_worker_death!r}"
            )
        if on_worker_death == "restart" and not has_workers:
            logger.warn(
                "on_worker_death='restart' has no effect: this engine runs the environments in "
                "this process, which a crash of one ends; AsyncVectorEnv restarts them"
            )
        self.batch_size = (
            num_envs if batch_size is None else positive("batch_size", batch_size, num_envs)
        )
        self.copy = flag("copy", copy)
        self.episode_statistics = flag("episode_statistics", episode_statistics)
        self._clear_queue()

    # --- methods of engines --------------------------------------------------------------------

    @property
    def _needs_reset(self) -> bool:
        """Whether every lane must be reset before the next step."""
        raise NotImplementedError

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Mask | None
    ) -> tuple[ObsType, Info]:
        """Reset the lanes of a mask; None for all.

        An integer `seed` seeds lane `i` with `seed + i`; a list has an entry for each lane.
        """
        raise NotImplementedError

    def _step_engine(self, actions: Any, lanes: Lanes | None) -> StepResult[ObsType]:
        """Step lanes (None for all) with actions that `_checked_actions` has returned."""
        raise NotImplementedError

    def _ended_lanes(self) -> Mask:
        """Return the lanes whose episode has ended and that have not begun a new one."""
        raise NotImplementedError

    def _end_lanes(self, mask: Mask) -> None:
        """End the episodes of the lanes of a mask; called only if `ends_episodes` is true."""
        raise NotImplementedError

    def _call_lanes(
        self, name: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Sequence[object]:
        """Return the result of a method, or the value of an attribute, for each lane."""
        raise UnsupportedMode(f"call: {self} does not support this method")

    def _set_lanes_attr(self, name: str, values: object) -> None:
        """Set an attribute of each lane; `values_per_env` defines the form of `values`."""
        raise UnsupportedMode(f"set_attr: {self} does not support this method")

    def _save_lanes(self, lanes: Lanes) -> Any:
        """Return the states of lanes."""
        raise UnsupportedMode(f"get_state: {self} does not support this method")

    def _load_lanes(self, states: Any, lanes: Lanes) -> None:
        """Check the states, one for each lane, and continue the lanes from them."""
        raise UnsupportedMode(f"set_state: {self} does not support this method")

    def _copy_lanes(self, source: Lanes, target: Lanes) -> None:
        """Copy the lanes `source` over the lanes `target`, which are distinct."""
        if type(self)._save_lanes is VectorEngine._save_lanes:
            VectorEnv.copy_lanes(self, source, target)  # raises
        lanes, rows = np.unique(source, return_inverse=True)
        states = self._save_lanes(lanes)
        self._load_lanes([states[row] for row in rows.tolist()], target)

    def _sent_lanes(self) -> Sequence[int] | Lanes:
        """Return the lanes that were sent and whose results were not received."""
        return self._sent[0] if self._sent else ()

    def _num_sent(self) -> int:
        """Return the number of lanes that were sent and whose results were not received."""
        return len(self._sent_lanes())

    def _send_lanes(self, actions: Any, lanes: Lanes) -> None:
        """Begin to step lanes. Without workers, queue them for `recv` with copies of the actions.

        If a signal handler raises, the queue is either unchanged or fully updated.
        """
        actions = deepcopy(actions)
        if self._sent:
            queued_lanes, queued = self._sent
            lanes = np.concatenate((queued_lanes, lanes))
            actions = (
                queued + actions if isinstance(actions, list) else np.concatenate((queued, actions))
            )
        self._sent = lanes, actions

    def _receive_lanes(
        self, timeout: float | None
    ) -> tuple[Lanes | list[int], StepResult[ObsType]]:
        """Return `batch_size` of the lanes that were sent, and their results."""
        size = self.batch_size
        assert self._sent is not None  # `recv` has checked it
        lanes, actions = self._sent
        # Dequeue before the step: if an environment raises, the others must not be stepped again.
        self._sent = (lanes[size:], actions[size:]) if len(lanes) > size else None
        lanes, actions = lanes[:size], actions[:size]
        try:
            return lanes, self._step_engine(actions, lanes)
        except BaseException:
            if self._needs_reset:
                self._clear_queue()  # all lanes must be reset first
            raise

    # --- order of calls ------------------------------------------------------------------------

    def _clear_queue(self) -> None:
        """Discard the lanes that were sent, as a reset of all lanes does."""
        self._sent = None
        self._received = None

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on `{type(self).__name__}`, after a call to `close()`."
            )

    def _check_call(self, method: str, *, sending: bool = False) -> None:
        """Raise unless a call may begin. With `sending`, lanes may be waiting for `recv`."""
        self._check_open()
        if not sending and (count := self._num_sent()):
            raise AlreadyPendingCallError(
                f"Calling `{method}` while {count} environments are being stepped; call `recv` "
                "first.",
                "step",
            )

    def _check_reset(self, method: str) -> None:
        if self._needs_reset:
            raise ResetNeeded(f"{method}: call reset() of {self} first")

    def _check_steppable(self, lanes: Lanes | None) -> None:
        """Raise unless lanes (None for all) may be stepped."""
        if self._needs_reset:
            self._check_reset("step")  # raises
        if self.autoreset_mode is AutoresetMode.DISABLED:
            mask = self._ended_lanes()
            ended = np.flatnonzero(mask) if lanes is None else lanes[mask[lanes]]
            if len(ended):
                ends = "terminations | truncations"
                if self.agents is not None:
                    ends = f"~(infos['active'] & ~({ends})).any(axis=1)"
                raise ResetNeeded(
                    f"step: environments {shown_lanes(ended)} have ended their episodes and "
                    "autoreset is disabled; call "
                    f"reset(options={{'reset_mask': {ends}}})"
                )

    def _check_some_lanes(self, method: str) -> None:
        if not self.steps_some_lanes:
            raise UnsupportedMode(f"{method}: {self} cannot step some of its environments")

    # --- resetting -----------------------------------------------------------------------------

    @one_at_a_time(error)
    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset all environments, or the ones that `options["reset_mask"]` selects.

        A reset of all discards actions that were sent and whose results were not received.

        Args:
            seed: None continues the random streams (the first reset uses the system's entropy); an
                integer `s` seeds environment `i` with `s + i`; a sequence has one seed or None for
                each environment.
            options: Options for the environments. `reset_mask` `[num_envs] bool` selects the
                environments to reset; it is not passed to them, and the dict is not modified.

        Returns:
            The observations (the last observation for environments that were not reset) and the
            merged infos of the environments that were reset.

        Raises:
            ClosedEnvironmentError: If the environment is closed.
            ResetNeeded: If a mask leaves out environments before the first reset, or before the
                first reset after a failure.
            InvalidArgument: If a seed, mask or option is invalid (`ValueError`); nothing is reset.
            ArgumentTypeError: If one has the wrong type (`TypeError`); nothing is reset.
            AlreadyPendingCallError: If a mask is given before all results are received.
            EnvironmentFailed: If an environment raises; then reset all of them.
        """
        request = self._checked_reset("reset", seed, options)
        results = self._reset_lanes(*request)
        if request[2] is None:
            self._clear_queue()
        return results

    def _checked_reset(
        self, method: str, seed: Seeds, options: Options
    ) -> tuple[int | list[int | None] | None, Options, Mask | None]:
        """Check the arguments of `reset` and return the arguments of `_reset_lanes`."""
        self._check_call(method, sending=True)
        seeds = checked_seeds(seed, self.num_envs)
        env_options, mask = split_reset_mask(options, self.num_envs)
        if mask is not None and mask.all():
            mask = None
        if mask is not None:
            if self._needs_reset:
                raise ResetNeeded(
                    "options['reset_mask']: the first reset (or the first after a failure) must "
                    "include every environment, got a mask without environments "
                    f"{shown_lanes(np.flatnonzero(~mask))}"
                )
            self._check_call("reset")
        return seeds, env_options, mask

    # --- stepping ------------------------------------------------------------------------------

    @one_at_a_time(error)
    def step(self, actions: ActType, env_ids: EnvIds | None = None) -> StepResult[ObsType]:
        """Step every environment, or some of them.

        Args:
            actions: One action for each environment that is stepped. Numbers keep their type if the
                space has that kind of number: a float64 action reaches the environment as a Python
                float.
            env_ids: Indices or a mask of the environments to step; None for all. The results have
                one row for each of them, in this order, and `infos["env_id"]` int64 lists them.

        Returns:
            observations: The batch of observations.
            rewards: `[num_envs] float64`, or `[num_envs, k]` if environments written in Python
                return vectors of k numbers.
            terminated: `[num_envs] bool`.
            truncated: `[num_envs] bool`.
            infos: The merged infos.

        Raises:
            ClosedEnvironmentError: If the environment is closed.
            ResetNeeded: If a reset is needed: at first, after a failure or, if autoreset is
                disabled, after the end of an episode.
            InvalidAction: If there is not one action for each environment, or one does not fit.
            AlreadyPendingCallError: If results have not been received yet.
            UnsupportedMode: If `env_ids` is given and the engine can only step all environments.
            EnvironmentFailed: If an environment raises; then reset all of them.
        """
        if env_ids is not None:
            return self._step_some("step", actions, env_ids)
        if self.closed or self._sent:
            self._check_call("step")
        self._check_steppable(None)
        return self._step_engine(self._checked_actions(actions, self.num_envs), None)

    @one_at_a_time(error)
    def step_lanes(self, actions: ActType, env_ids: EnvIds) -> StepResult[ObsType]:
        """Step some of the environments, like `step` with `env_ids`."""
        return self._step_some("step_lanes", actions, env_ids)

    def _step_some(self, method: str, actions: ActType, env_ids: EnvIds) -> StepResult[ObsType]:
        self._check_some_lanes(method)
        self._check_call("step")
        lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        self._check_steppable(lanes)
        results = self._step_engine(self._checked_actions(actions, len(lanes)), lanes)
        results[4]["env_id"] = lanes.copy()
        return results

    def _checked_actions(self, actions: ActType, count: int) -> Any:
        """Return copies of the actions of `count` lanes as a list, for `_step_engine`."""
        layout = self._action_layout
        if layout is not None:
            return split_batch(layout, checked_actions(layout, actions, count), count)
        try:
            single = list(iterate(self.action_space, copied(actions)))
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

    def _find_action_layout(self) -> None:
        """Set the layout of actions, for `_checked_actions`."""
        self._action_layout = action_layout(self.single_action_space, self.action_space)

    @one_at_a_time(error)
    def send(self, actions: ActType, env_ids: EnvIds | None = None) -> None:
        """Request a step of some environments; `recv` returns the results.

        Args:
            actions: One action for each of the environments; copied.
            env_ids: Indices or a mask of the environments; None for the ones that the last `recv`
                returned, or for all after a `reset` of all.

        Raises:
            InvalidArgument: If an environment is already being stepped (a `ValueError`).
            Error: If `step` would raise it for these arguments.
        """
        self._check_some_lanes("send")
        self._check_call("send", sending=True)
        self._check_reset("step")
        if env_ids is not None:
            lanes = lane_indices(env_ids, self.num_envs, "env_ids")
        elif self._received is not None and len(self._received):
            lanes = np.asarray(self._received, np.int64)
        else:
            lanes = np.arange(self.num_envs)
        sent = np.zeros(self.num_envs, np.bool_)
        sent[np.asarray(self._sent_lanes(), np.int64)] = True
        if sent[lanes].any():
            raise InvalidArgument(
                "env_ids: expected environments that are not being stepped, got "
                f"{shown_lanes(np.sort(lanes[sent[lanes]]))}"
            )
        self._check_steppable(lanes)
        self._send_lanes(self._checked_actions(actions, len(lanes)), lanes)
        self._received = lanes[:0]

    @one_at_a_time(error)
    def recv(self, timeout: float | None = None) -> StepResult[ObsType]:
        """Return the results of `batch_size` of the environments that were sent.

        Engines without workers step the environments now, in the order in which they were sent.

        Args:
            timeout: Maximum time to wait for workers, in seconds; None waits forever.

        Returns:
            As for `step`, with `batch_size` rows; `infos["env_id"]` int64 lists the environments.

        Raises:
            NoAsyncCallError: If fewer environments than `batch_size` were sent. Also see `step`.
        """
        self._check_some_lanes("recv")
        timeout = checked_timeout(timeout)
        self._check_call("recv", sending=True)
        self._check_reset("recv")
        count = self._num_sent()
        if count < self.batch_size:
            raise NoAsyncCallError(
                f"Calling `recv` for {self.batch_size} environments while {count} are being "
                "stepped; call `send` first.",
                "step",
            )
        lanes, results = self._receive_lanes(timeout)
        self._received = lanes
        results[4]["env_id"] = np.array(lanes, np.int64)
        return results

    # --- episodes ------------------------------------------------------------------------------

    @one_at_a_time(error)
    def end_episodes(self, mask: Mask) -> None:
        """End episodes as if the last step had ended them; see `VectorEnv.end_episodes`."""
        if not self.ends_episodes:
            VectorEnv.end_episodes(self, mask)  # raises
        self._check_call("end_episodes")
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            raise UnsupportedMode(
                "end_episodes: same-step autoreset leaves no episode ended; reset(options="
                "{'reset_mask': mask}) begins the next ones"
            )
        mask = check_mask(mask, self.num_envs)
        self._check_reset("end_episodes")
        self._end_lanes(mask)

    # --- attributes ----------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generator of each environment: drawing from it advances the environment's stream.

        If the environments run in other processes, the generators are copies.
        """
        return self._generators()

    def _generators(self) -> tuple[np.random.Generator, ...]:
        return tuple(self.lane_generators(range(self.num_envs)) or ())

    @one_at_a_time(error)
    def call(self, name: str, *args: object, **kwargs: object) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute.

        Args:
            name: Name of a method or attribute of the environment or of one of its wrappers.
            *args: Positional arguments of the method.
            **kwargs: Keyword arguments of the method.

        Raises:
            InvalidArgument: If the batch has its own method for `name` (a `ValueError`).
            AttributeError: If the environments have no such attribute.
            EnvironmentFailed: If the method raises.
        """
        self._check_call("call")
        check_name_of_call(name)
        return tuple(self._call_lanes(name, args, kwargs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every environment; a method is called."""
        return self.call(name)

    @one_at_a_time(error)
    def set_attr(self, name: str, values: object) -> None:
        """Set an attribute of every environment.

        Args:
            name: Name of the attribute.
            values: A list or tuple of one value for each environment, or one value for all.

        Raises:
            InvalidArgument: If a list or tuple has the wrong length (a `ValueError`).
        """
        self._check_call("set_attr")
        check_name(name)
        self._set_lanes_attr(name, values)

    # --- states --------------------------------------------------------------------------------

    @one_at_a_time(error)
    def get_state(self, lanes: Sequence[int] | np.ndarray | None = None) -> Any:
        """Return copies of the complete states of environments, one for each lane.

        Args:
            lanes: Indices or a mask; None for all.

        Raises:
            StateNotSupported: If an environment has no `get_state` and `set_state`, or a wrapper
                around it cannot be pickled (an `AttributeError`).
        """
        self._check_call("get_state")
        self._check_reset("get_state")
        return self._save_lanes(lane_indices(lanes, self.num_envs))

    @one_at_a_time(error)
    def set_state(self, state: object, lanes: Sequence[int] | np.ndarray | None = None) -> None:
        """Continue environments from saved states, which may come from other lanes or batches.

        States of Python environments contain pickles, and loading a pickle can run any code: use
        only states that you trust.

        Args:
            state: One state for each of the lanes, as returned by `get_state`.
            lanes: Indices or a mask; None for all.

        Raises:
            InvalidArgument: If there is not one state for each lane, or a state belongs to another
                environment or other wrappers (a `ValueError`); nothing is changed.
            ArgumentTypeError: If `state` is not a batch of states (a `TypeError`); nothing changes.
            ResetNeeded: If only some lanes are given and the batch has not been reset.
        """
        self._check_call("set_state")
        indices = lane_indices(lanes, self.num_envs)
        is_number = isinstance(state, np.ndarray) and not state.ndim
        if (
            isinstance(state, EnvState)
            or not isinstance(state, (list, tuple, np.ndarray))
            or is_number
        ):
            raise ArgumentTypeError(
                "state: expected a batch of states, as get_state() of vector environments returns, "
                f"got {type(state).__name__}"
            )
        if len(state) != len(indices):
            raise InvalidArgument(
                f"state: expected one for each of the {len(indices)} lanes, got {len(state)}"
            )
        if len(indices) < self.num_envs and self._needs_reset:
            raise ResetNeeded("set_state: expected states of all lanes, or reset() first")
        self._load_lanes(state, indices)

    @one_at_a_time(error)
    def copy_lanes(
        self, source: Sequence[int] | np.ndarray, target: Sequence[int] | np.ndarray
    ) -> None:
        """Copy environments over others; see `VectorEnv.copy_lanes`."""
        self._check_call("copy_lanes")
        self._check_reset("copy_lanes")
        originals = lane_indices(source, self.num_envs, "source", distinct=False)
        copies = lane_indices(target, self.num_envs, "target")
        if len(originals) != len(copies):
            raise InvalidArgument(
                f"target: expected one environment for each of the {len(originals)} in source, got "
                f"{len(copies)}"
            )
        self._copy_lanes(originals, copies)


def check_name(name: object) -> None:
    """Raise `ArgumentTypeError` if this is no name of an attribute."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name: expected a text, got {name!r}")


def check_name_of_call(name: str) -> None:
    """Raise `InvalidArgument` if the batch has its own method of this name."""
    check_name(name)
    if name in _BATCH_CALLS:
        raise InvalidArgument(
            f"Trying to call function `{name}` with `call`, use `{name}` directly instead."
        )


def shown_lanes(lanes: np.ndarray) -> str:
    """Return the first few lanes as text, for a message.

    Examples:
        >>> shown_lanes(np.arange(20))
        '[0, 1, 2, 3, 4, 5, 6, 7, ...]'
    """
    ellipsis = ", ..." if len(lanes) > _MAX_NAMED else ""
    return f"[{', '.join(map(str, lanes[:_MAX_NAMED].tolist()))}{ellipsis}]"


def checked_timeout(timeout: object) -> float | None:
    """Check a timeout (s) and return it as an int or float; None means no limit.

    Raises:
        ArgumentTypeError: If it is not a number (a `TypeError`).
        InvalidArgument: If it is nan (a `ValueError`).
    """
    if timeout is None:
        return None
    if not isinstance(timeout, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"timeout: expected seconds or None, got {timeout!r}")
    if math.isnan(timeout):
        raise InvalidArgument("timeout: expected seconds or None, got nan")
    return timeout if isinstance(timeout, (int, float)) else float(timeout)


def checked_actions(layout: Layout, actions: object, count: int) -> Any:
    """Return a batch of actions as arrays of the layout's shapes.

    A single array is converted by `action_array`; arrays within tuples and dicts get the layout's
    dtypes.

    Raises:
        InvalidAction: If the structure or a shape is wrong, or the dtype cannot hold a number.
    """
    if layout[0] != "array":
        parts = leaves(layout, "actions", actions, InvalidAction, InvalidAction)
        arrays = (
            action_array(array, dtype, (count, *shape), where, error, not shape).astype(
                dtype, copy=False
            )
            for where, (_, dtype, shape), array in parts
        )
        return grouped(layout, arrays)
    dtype, shape = layout[1], (count, *layout[2])
    if type(actions) is np.ndarray and actions.dtype == dtype and actions.shape == shape:
        return actions
    return action_array(actions, dtype, shape, "actions", error, len(shape) == 1)
