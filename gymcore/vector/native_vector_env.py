"""The vector environment over compiled physics: `make_vec`'s engine for the built-in ids."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.envs.native_parameters import write_parameter
from gymcore.envs.native_state import lane_indices, load_lanes, save_lanes
from gymcore.utils import seeding
from gymcore.vector.utils.arguments import seeds_per_env, split_reset_mask
from gymcore.vector.utils.batch_spaces import batch_space
from gymcore.vector.vector_env import AutoresetMode, VectorEnv

if TYPE_CHECKING:
    from gymcore.envs.native import NativeEnv

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Observations = npt.NDArray[np.float32]

# The engine's numbers for the modes (gymcore_ext/engine.pxd).
_MODES = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}

# Lanes a thread should have at least, before waking another one pays.
_LANES_PER_THREAD = 8192


class Rollout(NamedTuple):
    """What `NativeVectorEnv.rollout` writes: arrays with leading axes [T, num_envs]."""

    observations: Observations
    rewards: Floats
    terminated: Bools
    truncated: Bools
    final_observations: Observations | None


class NativeVectorEnv(VectorEnv[Observations, npt.NDArray[Any], npt.NDArray[Any]]):
    """Steps a batch of compiled environments in one call, without Python objects per lane.

    Lane `i` of `reset(seed=s)` is what `make(id).reset(seed=s + i)` is, bit for bit, at any batch
    size, number of threads and instruction set. Arrays that `reset` and `step` return belong to
    the caller: their memory is used again only after nobody holds them (or a view of them) any
    more. With `copy=False` they are the same buffers at every call.

    One thread at a time may use an environment; another one gets `ConcurrentUseError`. After an
    error nothing has changed.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=3)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        >>> observations.shape, rewards
        ((3, 4), array([1., 1., 1.]))
        >>> envs.set_attr("length", [0.4, 0.5, 0.6])
        >>> envs.get_attr("length")
        (0.4, 0.5, 0.6)
        >>> envs.close()
    """

    env_class: ClassVar[type[NativeEnv[Any]]]

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
        **parameters: Any,
    ) -> None:
        """Make the batch.

        Args:
            num_envs: number of lanes.
            max_episode_steps: steps after which an episode is truncated; None or -1 for none.
            render_mode: None, "rgb_array" (`render` returns a frame a lane) or "human" (one window
                with all lanes).
            autoreset_mode: when an ended lane begins a new episode.
            num_threads: threads that share a step. None is one, and as many as the process may
                use for batches large enough to gain from them.
            copy: whether returned arrays are the caller's to keep.
            episode_statistics: report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).
            **parameters: physics parameters of the environment, each one value or one a lane.

        Raises:
            InvalidArgument: a value out of range, or not one a lane.
            ArgumentTypeError: an argument that neither the engine nor the physics has.
        """
        self.num_envs = _positive("num_envs", num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.copy = copy
        self.num_threads = _threads(num_threads, self.num_envs)
        self.max_episode_steps = (
            None if max_episode_steps in (None, -1) else _positive("max_episode_steps", max_episode_steps)
        )
        if unknown := sorted(parameters.keys() - self.env_class.parameters.keys()):
            raise error.ArgumentTypeError(
                f"{type(self).__name__}: got unexpected arguments {unknown}; its parameters are "
                f"{sorted(self.env_class.parameters)}"
            )
        if render_mode is not None and render_mode not in self.env_class.metadata["render_modes"]:
            raise error.UnsupportedMode(
                f"render_mode: expected None or one of {self.env_class.metadata['render_modes']}, "
                f"got {render_mode!r}"
            )
        self.render_mode = render_mode
        self.metadata = {**self.env_class.metadata, "autoreset_mode": self.autoreset_mode}
        self._facts = self.env_class.kernel_facts()
        self._batch = self.env_class.make_batch(
            self.num_envs,
            limit=self.max_episode_steps or 0,
            mode=_MODES[self.autoreset_mode],
            num_threads=self.num_threads,
            reuse=not copy,
            statistics=episode_statistics,
        )
        self._statistics = episode_statistics
        self._same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._reports = episode_statistics or self._same_step
        self._seeds: int | list[int] | None = None
        self._window: Any = None
        self._last_actions: npt.NDArray[Any] | None = None

        single = self.env_class()
        self.single_observation_space = single.observation_space
        self.single_action_space = single.action_space
        self.observation_space = batch_space(single.observation_space, self.num_envs)
        self.action_space = batch_space(single.action_space, self.num_envs)
        for name, value in parameters.items():
            self.set_attr(name, value)

    # --- stepping ------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: an int s seeds lane i with s + i; a sequence gives one seed, or None, a lane; None
                lets the random streams go on (the first time: the system's entropy).
            options: `reset_mask` bool [num_envs] selects the lanes to reset; bounds of the initial
                state as the environment names them. The dict is not changed.

        Returns:
            Observations float32 [num_envs, size] (lanes left alone keep theirs), and an empty info.

        Raises:
            InvalidArgument: a bad seed, mask or bound.
            ArgumentTypeError: one of the wrong type.
            ClosedEnvironmentError: after close.
        """
        if self.closed:
            raise error.ClosedEnvironmentError(f"{self} was closed; make a new one")
        env_options, mask = split_reset_mask(options, self.num_envs)
        bounds = self.env_class.reset_bounds(env_options)
        if isinstance(seed, (int, np.integer)) and mask is None:
            self._seed_all(seeding.checked_seed(seed))
        elif seed is not None or self._seeds is None:
            seeds = seeds_per_env(seed, self.num_envs)
            if self._seeds is None:
                self._seed_all(seeding.np_random()[1])
            self._seed_lanes(seeds, mask)
        observations = self._batch.reset(mask, bounds)
        if self.render_mode == "human":
            self._last_actions = None
            self.render()
        return observations, {}

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[Observations, Floats, Bools, Bools, dict[str, Any]]:
        """Step every lane.

        Args:
            actions: int64 [num_envs] or float32 [num_envs, size]; other integers and floats are
                converted. Values outside a continuous action space are clipped by the physics.

        Returns:
            observations float32 [num_envs, size], rewards float64 [num_envs], terminated and
            truncated bool [num_envs], and infos: in same-step mode `final_obs` float32
            [num_envs, size] (rows of `_final_obs`, zeros elsewhere) and `final_info`; with
            `episode_statistics` `episode`. Empty when no episode ended.

        Raises:
            InvalidAction: wrong shape or type, a discrete action out of range, nan.
            ResetNeeded: before `reset`, or an ended lane when autoreset is disabled.
            ClosedEnvironmentError: after close.
            ConcurrentUseError: another thread is stepping this environment.
        """
        observations, rewards, terminated, truncated, ended = self._batch.step(actions)
        infos = self._infos() if ended and self._reports else {}
        if self.render_mode is not None:
            self._acted(actions)
        return observations, rewards, terminated, truncated, infos

    def step_into(
        self,
        actions: npt.NDArray[Any],
        *,
        observations: Observations,
        rewards: Floats,
        terminated: Bools,
        truncated: Bools,
    ) -> dict[str, Any]:
        """Step every lane and write the results into arrays of the caller.

        Args:
            actions: as for `step`.
            observations: float32 [num_envs, size], C-contiguous, as all of these.
            rewards: float64 [num_envs].
            terminated: bool [num_envs].
            truncated: bool [num_envs].

        Returns:
            The infos that `step` would return.
        """
        ended = self._batch.step_into(actions, observations, rewards, terminated, truncated)
        infos = self._infos() if ended and self._reports else {}
        if self.render_mode is not None:
            self._acted(actions)
        return infos

    def rollout(
        self,
        actions: npt.NDArray[Any],
        *,
        observations: Observations | None = None,
        rewards: Floats | None = None,
        terminated: Bools | None = None,
        truncated: Bools | None = None,
        final_observations: Observations | bool | None = None,
    ) -> Rollout:
        """Step every lane through T batches of actions, with the GIL released for the whole call.

        Args:
            actions: [T, num_envs] or [T, num_envs, size].
            observations: float32 [T, num_envs, size] to write into; like the others made new if
                None. `observations[t]` is what `step(actions[t])` returns.
            rewards: float64 [T, num_envs].
            terminated: bool [T, num_envs].
            truncated: bool [T, num_envs].
            final_observations: float32 [T, num_envs, size], or True for a new one: the last
                observations of episodes that ended, zeros elsewhere. Same-step autoreset only.

        Returns:
            The five arrays; the last one is None if it was not asked for.

        Raises:
            InvalidArgument: an array of the wrong dtype, shape or layout, or autoreset disabled.
            InvalidAction: any action of the T batches is no action; nothing was stepped.
        """
        shape = np.shape(actions)[:2]
        wide = (*shape, self._facts["observation_size"])
        observations = np.empty(wide, np.float32) if observations is None else observations
        rewards = np.empty(shape, np.float64) if rewards is None else rewards
        terminated = np.empty(shape, np.bool_) if terminated is None else terminated
        truncated = np.empty(shape, np.bool_) if truncated is None else truncated
        if isinstance(final_observations, bool):
            final_observations = np.empty(wide, np.float32) if final_observations else None
        self._batch.rollout(actions, observations, rewards, terminated, truncated, final_observations)
        return Rollout(observations, rewards, terminated, truncated, final_observations)

    def _infos(self) -> dict[str, Any]:
        """The infos of a step in which episodes ended, as Gymnasium lays them out."""
        batch = self._batch
        infos: dict[str, Any] = {}
        if self._same_step:
            infos["final_obs"] = batch.final_observations
            infos["_final_obs"] = batch.ended
            infos["final_info"] = {}
            infos["_final_info"] = batch.ended
        if self._statistics:
            infos["episode"] = {
                "r": batch.episode_returns,
                "l": batch.episode_lengths,
                "t": batch.episode_times,
            }
            infos["_episode"] = batch.ended
        return infos

    # --- random streams ------------------------------------------------------------------------

    def _seed_all(self, first: int) -> None:
        self._batch.seed(first, 0, self.num_envs)
        self._seeds = first

    def _seed_lanes(self, seeds: list[int | None], mask: Bools | None) -> None:
        """Seed the lanes of the mask (None for all) that have a seed."""
        current = list(self.np_random_seed)
        for lane, one in enumerate(seeds):
            if one is not None and (mask is None or mask[lane]):
                self._batch.seed(one, lane, lane + 1)
                current[lane] = one
        self._seeds = current

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of every lane; -1 for a lane whose stream came from elsewhere."""
        if self._seeds is None:
            self._seed_all(seeding.np_random()[1])
        if isinstance(self._seeds, int):
            return tuple(range(self._seeds, self._seeds + self.num_envs))
        return tuple(self._seeds or ())

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """A generator over the random stream of every lane: drawing from it moves the stream."""
        if self._seeds is None:
            self._seed_all(seeding.np_random()[1])
        return tuple(self._batch.generator(lane) for lane in range(self.num_envs))

    # --- attributes and state ------------------------------------------------------------------

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Read an attribute of every lane, or call a method of it.

        Raises:
            InvalidArgument: `reset`, `step` and `close`, which are for the batch.
            AttributeError: lanes have no such attribute.
        """
        if name in ("reset", "step", "close", "set_state"):
            raise error.InvalidArgument(f"name: call {name}() of the vector environment, not of its lanes")
        if name in self.env_class.parameters:
            parameter = self.env_class.parameters[name]
            values = self._batch.get_parameters()[parameter.rows(self._facts)]
            return tuple(
                parameter.decode(column)
                for column in np.broadcast_to(values, (len(values), self.num_envs)).T.tolist()
            )
        found = [getattr(self._lane_env(lane), name) for lane in range(self.num_envs)]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every lane: a physics parameter, `state`, `np_random`, ..."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set a physics parameter (or `state`) of the lanes.

        Args:
            name: the attribute.
            values: a list, tuple or array with one value a lane, or one value for all.

        Raises:
            InvalidArgument: not one value a lane, or a value out of range.
            AttributeError: lanes have no such attribute, or it is not theirs to set.
        """
        if isinstance(values, (list, tuple, np.ndarray)) and np.ndim(values) > 0:
            if len(values) != self.num_envs:
                raise error.InvalidArgument(
                    f"Values must be a list or tuple with length equal to the number of environments. Got "
                    f"`{len(values)}` values for {self.num_envs} environments."
                )
            per_lane = list(values)
        else:
            per_lane = [values] * self.num_envs
        if name in self.env_class.parameters:
            parameter = self.env_class.parameters[name]
            write_parameter(self._batch, self._facts, parameter, per_lane, range(self.num_envs))
        elif name in ("state", "np_random") or name in self.env_class.derived:
            for lane, value in enumerate(per_lane):
                setattr(self._lane_env(lane), name, value)
        else:
            raise AttributeError(
                f"lanes of {self} have no attribute {name!r} to set; they have "
                f"{sorted(self.env_class.parameters)} and 'state'"
            )

    def get_state(self, lanes: Sequence[int] | None = None) -> npt.NDArray[Any]:
        """Everything that decides what lanes do next, random streams included.

        Args:
            lanes: indices or a mask; None for all.

        Returns:
            A structured array with one record a lane (`gymcore.envs.native_state.lane_dtype`); a copy.
        """
        if self._seeds is None:
            self._seed_all(seeding.np_random()[1])
        return save_lanes(self._batch, self._facts, lane_indices(lanes, self.num_envs))

    def set_state(self, state: npt.NDArray[Any], lanes: Sequence[int] | None = None) -> None:
        """Continue lanes from records of `get_state`, bit for bit, wherever they were saved.

        Args:
            state: one record for each of the lanes.
            lanes: indices or a mask; None for all.

        Raises:
            InvalidArgument: records of another environment, or another number of them.
        """
        indices = lane_indices(lanes, self.num_envs)
        load_lanes(self._batch, self._facts, state, indices)
        seeds = list(self.np_random_seed) if self._seeds is not None else [-1] * self.num_envs
        for lane in indices.tolist():
            seeds[lane] = -1
        self._seeds = seeds

    def _lane_env(self, lane: int) -> NativeEnv[Any]:
        env = self.env_class.lane_of(self, lane)
        if self._last_actions is not None:
            env._acted(self._last_actions[lane])
        return env

    # --- pictures ------------------------------------------------------------------------------

    def _acted(self, actions: npt.NDArray[Any]) -> None:
        self._last_actions = np.array(actions) if self.single_action_space.shape else None
        if self.render_mode == "human":
            self.render()

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:  # type: ignore[override]
        """A frame [height, width, 3] uint8 of every lane, or the window for "human"."""
        if self.render_mode is None:
            raise error.UnsupportedMode(f"render: {self} was made without a render_mode")
        if self.render_mode == "human":
            self._show(self.render_tiled())
            return None
        return self._frames()

    def render_tiled(self, columns: int | None = None) -> npt.NDArray[np.uint8]:
        """All lanes in one picture, row by row: [rows * height, columns * width, 3] uint8.

        Args:
            columns: lanes in a row; None for about as many as rows.
        """
        from gymcore.envs.rendering import tile_frames

        return tile_frames(self._frames(), columns)

    def _frames(self) -> tuple[npt.NDArray[np.uint8], ...]:
        if not self._batch.is_ready:
            raise error.ResetNeeded("render: expected reset() before the first render()")
        lanes = (self._lane_env(lane) for lane in range(self.num_envs))
        return tuple(env._picture("rgb_array", env.state) for env in lanes)  # type: ignore[misc, arg-type]

    def _show(self, frame: npt.NDArray[np.uint8]) -> None:
        from gymcore.envs.rendering import Renderer, draw_frame

        if self._window is None:
            height, width = frame.shape[:2]
            title = f"{self.spec.id} x {self.num_envs}" if self.spec is not None else repr(self)
            fps = self.metadata["render_fps"]
            self._window = Renderer(draw_frame, (width, height), fps, "human", title)
        self._window.render(frame)

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads and close the window."""
        if self._window is not None:
            self._window.close()
            self._window = None
        self._batch.close()


def _positive(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise error.ArgumentTypeError(f"{name}: expected an integer, got {value!r} ({type(value)})") from None
    if number < 1:
        raise error.InvalidArgument(f"{name}: expected at least 1, got {number}")
    return number


def _threads(num_threads: int | None, num_envs: int) -> int:
    if num_threads is not None:
        return _positive("num_threads", num_threads)
    if num_envs < 2 * _LANES_PER_THREAD:
        return 1
    from gymcore.utils.cpus import usable_cpus

    return min(usable_cpus(), num_envs // _LANES_PER_THREAD)
