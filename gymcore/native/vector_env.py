"""The vector environment for compiled physics: the engine of `make_vec` for built-in ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.base import cpus
from gymcore.base.arguments import (
    MAX_COUNT,
    MAX_STEPS,
    lane_indices,
    positive,
    step_limit,
    unexpected_arguments,
)
from gymcore.core import Info, ObsType, Options, without_mode
from gymcore.native.lane_generator import stream_state
from gymcore.native.parameters import write_parameter
from gymcore.native.state import (
    LaneSeeds,
    checked_lanes,
    read_states,
    save_lanes,
    write_lanes,
    write_states,
)
from gymcore.spaces.batching import batch_space
from gymcore.vector.engine import Lanes, StepResult, VectorEngine
from gymcore.vector.engine_options import values_per_env
from gymcore.vector.final_observations import final_frame_infos
from gymcore.vector.lane_episodes import AUTORESET_NUMBERS, AutoresetMode
from gymcore.vector.vector_env import EnvIds
from gymcore_ext.arrays import one_at_a_time

if TYPE_CHECKING:
    from gymcore.native.env import NativeEnv
    from gymcore.rendering.frames import Renderer
    from gymcore.spaces import Space
    from gymcore_ext.lazy_dict import Maker

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Frame = npt.NDArray[np.uint8]

# Maximum height and width of the window: frames of larger batches are scaled down.
_MAX_WINDOW = (840, 1280)


class Rollout(NamedTuple):
    """The arrays that `NativeVectorEnv.rollout` writes, with leading axes [T, num_envs].

    Observations are batches of the observation space: an array, or a tuple or dict of arrays.
    `infos` has the entries that `step` returns, as arrays [T, num_envs, ...] with their masks.
    """

    observations: object
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    final_observations: object
    infos: Info


class NativeVectorEnv(VectorEngine[ObsType, np.ndarray], Generic[ObsType]):
    """Vector environment that steps a batch of compiled lanes without Python objects per lane.

    After `reset(seed=s)`, lane `i` equals `make(id)` after `reset(seed=s + i)`, bit for bit, for
    any batch size, number of threads and instruction set. Arrays that `reset` and `step` return
    belong to the caller: their memory is reused only when no reference to them, or to a view of
    them, is left. With `copy=False`, every call returns the same buffers.

    Options of `reset` other than `reset_mask` are bounds of the initial state, under the
    environment's names. Only one thread at a time may use an environment; a second one gets
    `ConcurrentUseError`. An error leaves the environment unchanged.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=3)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, *flags, infos = envs.step(envs.action_space.sample())
        >>> observations.shape, rewards
        ((3, 4), array([1., 1., 1.]))
        >>> envs.set_attr("length", [0.4, 0.5, 0.6])
        >>> envs.get_attr("length")
        (0.4, 0.5, 0.6)
        >>> envs.close()
    """

    stacks_final_obs = True
    state_is_array = True
    # Attributes that are left out of copies and pickles, and are created again.
    _not_pickled: ClassVar[tuple[str, ...]] = ("_batch", "_seeds", "_window")

    _lazy_infos: dict[str, Maker] | None = None

    env_class: ClassVar[type[NativeEnv]]

    @classmethod
    def of(cls, env_class: type[NativeEnv]) -> type[Self]:
        """Return a subclass for an environment; assign it to `<Name>VectorEnv` in its module."""
        name = f"{env_class.__name__.removesuffix('Env')}VectorEnv"
        documentation = f"A batch of `{env_class.__name__}`; see `{cls.__name__}`."
        attributes = {"env_class": env_class, "__module__": env_class.__module__}
        return type(name, (cls,), {**attributes, "__doc__": documentation})

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        num_threads: int | None = None,
        copy: bool = True,
        episode_statistics: bool = False,
        num_workers: int | None = None,
        batch_size: int | None = None,
        on_worker_death: str = "raise",
        **parameters: Any,
    ) -> None:
        """Create the batch.

        Args:
            num_envs: Number of lanes.
            max_episode_steps: Steps after which an episode is truncated; -1 for no limit; None for
                the environment's own limit, which few have.
            render_mode: None, "rgb_array" (`render` returns a frame for each lane) or "human" (one
                window with all lanes).
            autoreset_mode: When an ended lane begins a new episode.
            num_threads: Number of threads that share a step. None: as many as the measured time of
                the lanes justifies, up to the number of CPUs that the process may use.
            copy: Whether returned arrays belong to the caller; if False, calls reuse them.
            episode_statistics: Whether to report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).
            num_workers: An option of `AsyncVectorEnv`; no effect here.
            batch_size: Number of results that `recv` returns; None for all.
            on_worker_death: An option of `AsyncVectorEnv`; "restart" causes a warning here.
            **parameters: Physics parameters of the environment: one value, or one for each lane.

        Raises:
            InvalidArgument: If a value is out of range, or there is not one for each lane.
            ArgumentTypeError: If an argument is neither the engine's nor a physics parameter.
            UnsupportedMode: If the environment does not have the render mode.
        """
        if names := self.env_class.in_python:
            raise error.InvalidArgument(
                f"{self.env_class.__name__}: expected a class that compiled code steps, got one "
                f"that overrides {names[0]}; use SyncVectorEnv or AsyncVectorEnv"
            )
        self._set_options(
            positive("num_envs", num_envs, MAX_COUNT),
            autoreset_mode,
            copy=copy,
            batch_size=batch_size,
            episode_statistics=episode_statistics,
            num_threads=num_threads,
            num_workers=num_workers,
            on_worker_death=on_worker_death,
        )
        max_episode_steps = step_limit("max_episode_steps", max_episode_steps)
        accepted = {*self.env_class.parameters, *self.env_class.arguments}
        if unknown := parameters.keys() - accepted:
            options = inspect.signature(NativeVectorEnv).parameters.keys() - {
                "num_envs",
                "parameters",
            }
            raise unexpected_arguments(type(self).__name__, unknown, options, accepted)
        self.render_mode = render_mode
        self._last_actions: np.ndarray | None = None
        self._keeps_frames = False
        self._window: Renderer | None = None
        # Lanes share the spaces and everything that depends on non-parameter arguments.
        shared = parameters.keys() & set(self.env_class.arguments)
        self._model = self.env_class(**{name: parameters.pop(name) for name in shared})
        if not self._model.fits_kernel:
            self._model.check_kernel()
        if max_episode_steps is None:
            max_episode_steps = self._model.default_max_episode_steps
        self.max_episode_steps = None if max_episode_steps == -1 else max_episode_steps
        self.metadata = {**self._model.metadata, "autoreset_mode": self.autoreset_mode}
        self._check_render_mode()
        self.single_observation_space = self._model.observation_space
        self.single_action_space = self._model.action_space
        self.agents = self._model.agents
        limit = cpus.usable_cpus() if num_threads is None else num_threads
        self.num_threads = min(limit, self.num_envs)
        self._chooses_threads = num_threads is None
        self._make_batch()
        for name, value in parameters.items():
            self.set_attr(name, value)

    def _check_render_mode(self) -> None:
        mode, modes = self.render_mode, self.metadata["render_modes"]
        if mode is not None and not (isinstance(mode, str) and mode in modes):
            # `make_vec` then makes single environments; there are none of worlds.
            kind = error.UnsupportedMode if self._model.agents is None else error.InvalidArgument
            raise kind(f"render_mode: expected None or one of {modes}, got {mode!r}")

    def _make_batch(self) -> None:
        size = self._model.object_bytes
        try:  # C++ would end the process if the objects of the lanes did not fit into memory
            np.empty((self.num_envs, size), np.uint8)
        except (MemoryError, ValueError):
            raise MemoryError(
                f"num_envs: {self.num_envs} lanes take {self.num_envs * size} bytes at least"
            ) from None
        self._batch = self._model.make_batch(
            self.num_envs,
            limit=min(self.max_episode_steps or 0, MAX_STEPS),
            mode=AUTORESET_NUMBERS[self.autoreset_mode],
            num_threads=None if self._chooses_threads else self.num_threads,
            max_threads=self.num_threads,
            reuse=not self.copy,
            statistics=self.episode_statistics,
            **self._model.batch_options(),
        )
        self._batch.lazy_infos = self._lazy_infos
        self._model.set_class_values(self._batch)
        self._seeds = LaneSeeds(self._batch)

    # Made at first use, because the bounds of a batch's spaces take as much memory as its lanes.

    if not TYPE_CHECKING:  # a type checker sees the attributes of `VectorEnv`

        @cached_property
        def observation_space(self) -> Space:
            """Space of a batch of observations."""
            return batch_space(self.single_observation_space, self.num_envs)

        @cached_property
        def action_space(self) -> Space:
            """Space of a batch of actions."""
            return batch_space(self.single_action_space, self.num_envs)

    # --- stepping ------------------------------------------------------------------------------

    @property
    def _needs_reset(self) -> bool:
        return not self._batch.is_ready

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Bools | None
    ) -> tuple[ObsType, Info]:
        bounds = self._model.reset_bounds(options)
        self._seeds.reset(seed, mask)
        results: tuple[ObsType, Info] = self._batch.reset(mask, bounds)
        self._show()
        return results

    def set_lazy_infos(self, makers: dict[str, Maker]) -> None:
        """Add entries to infos with final observations; each is made when it is first read.

        The infos of such a step are a `LazyDict` with these makers, which is cheaper to create than
        a second dict with the same entries.
        """
        self._lazy_infos = self._batch.lazy_infos = makers

    def step(
        self, actions: np.ndarray, env_ids: EnvIds | None = None
    ) -> tuple[ObsType, Floats, Bools, Bools, Info]:
        """Step every lane, or some of them; see `VectorEngine.step`.

        Args:
            actions: int64 [num_envs] or float32 [num_envs, size]. Other integers are converted (for
                float32, any numbers); the physics clips values outside a continuous space.
            env_ids: As for `VectorEngine.step`.

        Returns:
            observations float32 [num_envs, size], rewards float64 [num_envs], terminated and
            truncated bool [num_envs], and infos: in same-step mode `final_obs` float32
            [num_envs, size] (zeros where `_final_obs` is False) and `final_info`; with
            `episode_statistics`, `episode`; and what lanes report, such as `x_position`. Infos are
            empty if there is none of these.

        Raises:
            InvalidAction: If actions do not fit, a discrete action is out of range or one is nan.
        """
        if env_ids is not None:
            return self._step_some("step", actions, env_ids)
        if self._sent:
            self._check_call("step")
        if self._keeps_frames:
            self._remember_actions(self._batch.checked_actions(actions, self.num_envs))
        try:
            results: StepResult = self._batch.step(actions)
        except (error.ClosedEnvironmentError, error.ResetNeeded):
            self._check_ready_to_step()
            raise
        if self.render_mode is not None:
            self._remember_actions(actions)
            self._show()
        return results

    def _step_engine(self, actions: np.ndarray, lanes: Lanes | None) -> StepResult:
        assert lanes is not None  # `step` steps all
        if self._keeps_frames:
            self._remember_actions(actions, lanes)
        results: StepResult = self._batch.step_subset(actions, lanes)
        if self.render_mode is not None:
            self._remember_actions(actions, lanes)
            self._show()
        return results

    def _check_ready_to_step(self) -> None:
        """Raise the errors of the other engines, which name this object."""
        self._check_call("step")
        self._check_reset("step")

    def _checked_actions(self, actions: npt.ArrayLike, count: int) -> np.ndarray:
        return self._batch.checked_actions(actions, count)

    def _ended_lanes(self) -> Bools:
        return self._batch.view_lifecycle()[0]

    def _end_lanes(self, mask: Bools) -> None:
        self._batch.view_lifecycle()[0][mask] = True

    def step_into(
        self,
        actions: np.ndarray,
        *,
        observations: ObsType,
        rewards: Floats | npt.NDArray[np.float32],
        terminated: Bools,
        truncated: Bools,
        final_observations: ObsType | None = None,
        env_ids: EnvIds | None = None,
    ) -> Info:
        """Step every lane, or some, and write the results into the caller's arrays.

        Args:
            actions: As for `step`.
            observations: float32 [num_envs, size]. This and the other arrays must be C-contiguous
                and share no memory with each other or with the actions.
            rewards: float64 [num_envs], or float32, which receives rounded values.
            terminated: bool [num_envs].
            truncated: bool [num_envs].
            final_observations: None, or an array like `observations` for the last observations of
                lanes that ended, zeros elsewhere. Same-step autoreset only.
            env_ids: Which lanes to step, as for `step_lanes`: arrays have a row for each of them.

        Returns:
            The infos that `step` would return; `final_obs` is `final_observations`, if given.

        Raises:
            InvalidArgument: If an array has the wrong dtype, shape or layout. Also see `step`.
        """
        if self._sent:
            self._check_call("step")
        lanes = None if env_ids is None else lane_indices(env_ids, self.num_envs, "env_ids")
        count = self.num_envs if lanes is None else len(lanes)
        if not isinstance(actions, (np.ndarray, dict)):
            actions = self._batch.checked_actions(actions, count)  # converts them once
        if self._keeps_frames:
            self._remember_actions(self._batch.checked_actions(actions, count), lanes)
        infos = self._batch.bind_step(
            actions, observations, rewards, terminated, truncated, final_observations, lanes
        )()
        if self.render_mode is not None:
            self._remember_actions(actions, lanes)
            self._show()
        return infos

    def bind_step(
        self,
        actions: np.ndarray,
        *,
        observations: ObsType,
        rewards: Floats | npt.NDArray[np.float32],
        terminated: Bools,
        truncated: Bools,
        final_observations: ObsType | None = None,
        env_ids: EnvIds | None = None,
    ) -> Callable[[], Info]:
        """Return a function that calls `step_into` with these arrays, which are checked once.

        Use it in loops that fill the same arrays repeatedly: a call takes less time than `step`.

        Args:
            actions: An array; every call reads and checks its values.
            observations: As for `step_into`.
            rewards: As for `step_into`.
            terminated: As for `step_into`.
            truncated: As for `step_into`.
            final_observations: As for `step_into`.
            env_ids: As for `step_into`.

        Raises:
            InvalidArgument: If an array has the wrong dtype, shape or layout.
            ResetNeeded: If the environment has not been reset.

        Examples:
            >>> import gymcore as gym
            >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
            >>> rewards, flags = np.zeros(2), np.zeros((2, 2), bool)
            >>> actions, (observations, _) = np.zeros(2, np.int64), envs.reset(seed=1)
            >>> results = dict(rewards=rewards, terminated=flags[0], truncated=flags[1])
            >>> step = envs.bind_step(actions, observations=observations, **results)
            >>> step(), rewards
            ({}, array([1., 1.]))
        """
        arrays = (observations, rewards, terminated, truncated, final_observations)
        lanes = None if env_ids is None else lane_indices(env_ids, self.num_envs, "env_ids")
        bound_step: Callable[[], Info] = self._batch.bind_step(actions, *arrays, lanes)
        if not self._keeps_frames and self.render_mode is None:
            return bound_step
        names = ("observations", "rewards", "terminated", "truncated", "final_observations")
        named_arrays: dict[str, Any] = dict(zip(names, arrays, strict=True))
        return partial(self.step_into, actions, **named_arrays, env_ids=lanes)

    def rollout(
        self,
        actions: np.ndarray,
        *,
        observations: ObsType | None = None,
        rewards: Floats | None = None,
        terminated: Bools | None = None,
        truncated: Bools | None = None,
        final_observations: ObsType | bool | None = None,
        infos: bool = True,
    ) -> Rollout:
        """Step every lane with T batches of actions; the GIL is released for the whole call.

        Args:
            actions: [T, num_envs] or [T, num_envs, size].
            observations: float32 [T, num_envs, size] to write to; None makes a new array, as for
                the next three. `observations[t]` is the result of `step(actions[t])`.
            rewards: float64 [T, num_envs].
            terminated: bool [T, num_envs].
            truncated: bool [T, num_envs].
            final_observations: float32 [T, num_envs, size], or True for a new array: the last
                observations of episodes that ended, zeros elsewhere. Same-step autoreset only.
            infos: Whether to return what the lanes report; False saves time and memory.

        Returns:
            The arrays, of which `final_observations` is None unless requested, and the infos: the
            entries that `step` returns except for `final_obs`, as arrays [T, num_envs, ...]. Row t
            has the infos of `step(actions[t])`; the mask of an entry that it lacks is all False.
            With `episode_statistics`, `episode` has the ended episodes of the rollout, if any.
            Infos own their memory, like the results of `step`.

        Raises:
            InvalidArgument: If a dtype, shape or layout is wrong, autoreset is disabled, or infos
                would have frames of `keep_final_frames`, which rollouts do not draw.
            InvalidAction: If any action of the T batches is invalid; nothing is stepped.
        """
        self._check_call("step")
        if not isinstance(infos, bool):
            raise error.ArgumentTypeError(f"infos: expected a bool, got {type(infos).__name__}")
        if infos and self._keeps_frames:
            raise error.InvalidArgument(
                "infos: expected False after keep_final_frames(), because rollouts draw no frames"
            )
        try:
            first = next(iter(actions.values()), ()) if isinstance(actions, dict) else actions
            shape = (*np.shape(first)[:1], self.num_envs)
        except ValueError as problem:
            raise error.InvalidAction(f"actions: expected [T, num_envs, ...]: {problem}") from None
        if isinstance(final_observations, bool):
            final_observations = self._empty_observations(shape) if final_observations else None
        agents = self._batch.spec["agents"]
        arrays = (
            self._empty_observations(shape) if observations is None else observations,
            np.empty(shape + agents, np.float64) if rewards is None else rewards,
            np.empty(shape + agents, np.bool_) if terminated is None else terminated,
            np.empty(shape + agents, np.bool_) if truncated is None else truncated,
            final_observations,
        )
        reported_infos = self._batch.rollout(actions, *arrays, reports=infos)
        if self.render_mode is not None:
            self._remember_actions(np.asarray(actions)[-1])
            self._show()
        return Rollout(*arrays, reported_infos)

    @one_at_a_time(error)
    def central_state(self) -> np.ndarray:
        """Return the states of worlds for central critics; see `VectorEnv.central_state`."""
        self._check_call("central_state")
        self._check_reset("central_state")
        states: np.ndarray | None = self._batch.central_state()
        if states is None and self.agents is not None:
            return self.agents.numbers(self._batch.observe(), self.num_envs)
        return super().central_state() if states is None else states

    def _empty_observations(self, shape: tuple[int, ...]) -> ObsType:
        """Return new arrays [*shape, ...] for observations."""
        arrays: ObsType = self._batch.empty_observations(shape)
        return arrays

    # --- random streams ------------------------------------------------------------------------

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of every lane; -1 for a lane whose stream was set by the caller."""
        return self._seeds.as_tuple()

    def lane_generators(self, lanes: Sequence[int]) -> list[np.random.Generator]:
        """Return generators over the random streams of some lanes."""
        return self._seeds.generators(lanes)

    # --- attributes and state ------------------------------------------------------------------

    def _call_lanes(
        self, name: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> list[object]:
        if name == "set_state":
            raise error.InvalidArgument(
                "name: call set_state() of the vector environment, not of its lanes"
            )
        # Values that are stored as an array need no object for each lane.
        if name in self.env_class.parameters:
            parameter = self.env_class.parameters[name]
            values = self._batch.get_parameters()[parameter.rows(self._batch.spec)]
            columns = np.broadcast_to(values, (len(values), self.num_envs)).T.tolist()
            return [parameter.decode(column) for column in columns]
        if name == "state":
            return self._states()
        attributes = [getattr(env, name) for env in self.lane_envs()]
        return [value(*args, **kwargs) if callable(value) else value for value in attributes]

    def _states(self) -> list[Any]:
        """Return the state of each lane's physics; None before the first reset."""
        if not self._batch.is_ready:
            return [None] * self.num_envs
        states = read_states(self._batch, np.arange(self.num_envs))
        return list(map(self.env_class.shown_state, states))

    def lane_envs(self) -> Iterator[NativeEnv]:
        """Iterate over the lanes as environments for reading, which share the batch's memory."""
        seeds = self.np_random_seed
        elapsed = self._batch.view_lifecycle()[1]  # 0 for lanes that have just been reset
        for lane in range(self.num_envs):
            env = self.env_class.lane_of(self, lane, seeds[lane])
            if self._last_actions is not None and elapsed[lane]:
                env._remember_action(self._last_actions[lane])
            yield env

    def set_attr(self, name: str, values: object) -> None:
        """Set a physics parameter, `state` or `np_random` of the lanes.

        Args:
            name: Name of the attribute.
            values: A list, tuple or array with one value for each lane, or one value for all.

        Raises:
            InvalidArgument: If the number of values or one of them is wrong; nothing is changed.
            ArgumentTypeError: If a value has the wrong type; nothing is changed.
            AttributeError: If lanes have no such attribute, or it cannot be set per lane.
        """
        super().set_attr(name, values)

    def _set_lanes_attr(self, name: str, values: Any) -> None:
        env_class = self.env_class
        # A single value of such an attribute is already an array.
        has_columns = name in env_class.parameters and len(env_class.parameters[name].columns) > 1
        one_value_ndim = 1 if has_columns or name == "state" else 0
        is_list = isinstance(values, (list, tuple)) and not (has_columns and np.ndim(values) == 1)
        if is_list or np.ndim(values) > one_value_ndim:
            per_lane = list(values_per_env(list(values), self.num_envs))
        elif name in env_class.parameters:
            write_parameter(self._batch, env_class.parameters[name], [values], None)
            return
        else:
            per_lane = [values] * self.num_envs

        if name in env_class.parameters:
            parameter = env_class.parameters[name]
            write_parameter(self._batch, parameter, per_lane, range(self.num_envs))
        elif name == "state":
            self._seeds.ensure()  # the next reset needs the streams
            states = list(map(self.env_class.stored_state, per_lane))
            write_states(self._batch, states, np.arange(self.num_envs))
        elif name == "np_random":
            self._set_streams(per_lane)
        elif name in env_class.settable:
            lanes = list(self.lane_envs())
            previous = [getattr(env, name) for env in lanes]
            for lane, value in enumerate(per_lane):
                try:
                    setattr(lanes[lane], name, value)
                except Exception:
                    for env, old in zip(lanes[:lane], previous, strict=False):
                        setattr(env, name, old)
                    raise
        elif name in env_class.derived:
            for env, value in zip(self.lane_envs(), per_lane, strict=True):
                setattr(env, name, value)  # changes nothing, or raises
        else:
            raise AttributeError(
                f"lanes of {self} have no attribute {name!r} to set; they have "
                f"{sorted(env_class.parameters)}, 'state' and 'np_random'"
            )

    def _set_streams(self, generators: list[object]) -> None:
        """Set every lane's random stream to the state of a generator, which is copied."""
        states = [stream_state(generator) for generator in generators]
        for generator, state in zip(self.np_random, states, strict=True):
            generator.bit_generator.state = state
        self._seeds.forget(np.arange(self.num_envs))

    @one_at_a_time(error)
    def get_state(self, lanes: EnvIds | None = None) -> np.ndarray:
        """Return the complete states of lanes, including their random streams.

        Lanes can also be saved before their first reset.

        Args:
            lanes: Indices or a mask; None for all.

        Returns:
            A structured array with one record per lane (`gymcore.native.state.lane_dtype`), a
            copy. It contains no pickles, so `numpy.save(..., allow_pickle=False)` can write it.
        """
        self._check_call("get_state")
        return self._save_lanes(lane_indices(lanes, self.num_envs))

    def _save_lanes(self, lanes: Lanes) -> np.ndarray:
        self._seeds.ensure()
        return save_lanes(self._batch, self._model, self.spec, lanes)

    def _load_lanes(self, states: object, lanes: Lanes) -> None:
        checked = checked_lanes(self._batch, self._model, self.spec, states, lanes)
        self._write_lanes(checked, lanes)
        self._seeds.forget(lanes)

    def _copy_lanes(self, source: Lanes, target: Lanes) -> None:
        saved = self._save_lanes(source)
        self._copy_unsaved(source, target)
        self._write_lanes(saved, target)
        self._seeds.forget(target)
        if self._last_actions is not None:
            self._last_actions[target] = self._last_actions[source]

    def _copy_unsaved(self, source: Lanes, target: Lanes) -> None:
        """Copy what saved lanes lack, before these are written."""

    def _write_lanes(self, saved: Any, lanes: Lanes) -> None:
        """Write saved lanes, which have been checked, into the batch."""
        write_lanes(self._batch, saved, lanes)

    def __getstate__(self) -> dict[str, object]:
        """Return the settings and the lanes as an array, so that copies continue bit for bit."""
        state = {k: v for k, v in self.__dict__.items() if k not in self._not_pickled}
        state["_saved"] = self._save_lanes(np.arange(self.num_envs)), self._seeds.seeds
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Create the batch again and restore the lanes."""
        state = dict(state)
        saved, seeds = state.pop("_saved")
        self.__dict__.update(state)
        self._window = None
        self._make_batch()
        self._write_lanes(saved, np.arange(self.num_envs))
        self._seeds.seeds = seeds
        self._keep_frames(self._keeps_frames)
        if self.closed:
            self._batch.close()

    # --- rendering -----------------------------------------------------------------------------

    def _remember_actions(self, actions: np.ndarray, lanes: Lanes | None = None) -> None:
        """Store the last actions of lanes, which some environments draw."""
        if not self.single_action_space.shape:
            return
        if lanes is not None:
            last = np.zeros((self.num_envs, *actions.shape[1:]), actions.dtype)
            if self._last_actions is not None:
                last[:] = self._last_actions
            last[lanes] = actions
            self._last_actions = last
        else:
            self._last_actions = np.array(actions)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Draw last states in SAME_STEP; see `VectorEnv.keep_final_frames`."""
        self._check_call("keep_final_frames")
        self._keep_frames(keep)

    def _keep_frames(self, keep: bool) -> None:
        self._keeps_frames = keep and self.autoreset_mode is AutoresetMode.SAME_STEP
        self._batch.set_before_reset(self._final_frames if self._keeps_frames else None)

    def _final_frames(self, ended: Bools, lanes: Lanes | None) -> Info:
        """Return entries for the final infos with the frames of lanes before they are reset."""
        rows = np.flatnonzero(ended)
        row_of = dict(zip((rows if lanes is None else lanes[rows]).tolist(), rows, strict=True))
        states = self._states()
        frames = {
            int(row_of[lane]): env._render_frame("rgb_array", states[lane])
            for lane, env in enumerate(self.lane_envs())
            if lane in row_of
        }
        return final_frame_infos(frames, len(ended))

    @without_mode
    def render(self) -> tuple[Any, ...] | None:
        """Return a uint8 frame [height, width, 3] or a str for each lane; for "human" show them."""
        self._check_call("render")
        if self.render_mode is None:
            logger.warn(
                f"render: {self} was made without a render mode, so nothing can be shown; give "
                'make_vec a render_mode, e.g. render_mode="rgb_array"'
            )
            return None
        self._check_render_mode()
        if self.render_mode == "human":
            self._show()
            return None
        if self.render_mode == "ansi":
            self._check_rendered()
            return tuple(env._render_text() for env in self.lane_envs())
        return self._frames()

    def render_tiled(self, columns: int | None = None) -> Frame:
        """Return all lanes in a uint8 frame [height, width, 3]; `columns` as for `tile_frames`."""
        from gymcore.rendering.tiling import tile_frames

        return tile_frames(self._frames(), columns)

    def _frames(self) -> tuple[Frame, ...]:
        """Return a uint8 frame [height, width, 3] of every lane."""
        self._check_rendered()
        lanes = zip(self.lane_envs(), self._states(), strict=True)
        return tuple(env._render_frame("rgb_array", state) for env, state in lanes)

    def _check_rendered(self) -> None:
        if not self._batch.is_ready:
            raise error.ResetNeeded("render: expected reset() before the first render()")

    def _show(self) -> None:
        """Show all lanes in the window of "human" mode, which is opened if necessary."""
        if self.render_mode != "human":
            return
        from gymcore.rendering.frames import Renderer, draw_frame

        frame = self.render_tiled()
        if self._window is None:
            sides = frame.shape[:2]
            scale = min(1.0, _MAX_WINDOW[0] / sides[0], _MAX_WINDOW[1] / sides[1])
            height, width = (max(1, round(side * scale)) for side in sides)
            title = repr(self) if self.spec is None else f"{self.spec.id} x {self.num_envs}"
            fps = self.metadata["render_fps"]
            self._window = Renderer(draw_frame, (width, height), fps, "human", title)
        self._window.render(frame)

    def close_extras(self, **kwargs: object) -> None:
        """Stop the threads and close the window."""
        self._batch.close()
        if self._window is not None:
            self._window.close()
            self._window = None
