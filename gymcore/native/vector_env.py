"""The vector environment over compiled physics: `make_vec`'s engine for the built-in ids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.native.final_frames import NativeFinalFrames
from gymcore.native.infos import add_reports
from gymcore.native.lanes import call_lanes, set_lanes, shown
from gymcore.native.pictures import Pictures
from gymcore.native.rollout import Rollout, rollout_arrays
from gymcore.native.seeds import LaneSeeds
from gymcore.native.state import load_lanes, save_lanes
from gymcore.spaces.batching import batch_space
from gymcore.utils import seeding
from gymcore.utils.arguments import lane_indices, seeds_per_env, split_reset_mask
from gymcore.vector.engine_options import (
    check_threads,
    check_worker_options,
    positive,
    received_rows,
    thread_count,
)
from gymcore.vector.episode_ends import ended_mask
from gymcore.vector.partial_batches import Lanes, PartialBatches, StepResult
from gymcore.vector.vector_env import AutoresetMode, VectorEnv

if TYPE_CHECKING:
    from gymcore.native.env import NativeEnv
    from gymcore.spaces import Space
    from gymcore_ext.engine.step_arrays import StepArrays

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Observations = Any  # an array, or a tuple of arrays: a batch of the observation space

# The engine's numbers for the modes (gymcore_ext/engine/step.pxd).
_MODES = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}

# What lane memory can be asked for, and what its step counters hold.
_MOST_LANES, _MOST_STEPS = 2**40, 2**31 - 1


class NativeVectorEnv(PartialBatches, VectorEnv[Observations, npt.NDArray[Any], npt.NDArray[Any]]):
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
        >>> observations, rewards, *flags, infos = envs.step(envs.action_space.sample())
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
        num_workers: int | None = None,
        batch_size: int | None = None,
        on_worker_death: str = "raise",
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
                use for large batches, as long as sharing is faster.
            copy: whether returned arrays are the caller's to keep.
            episode_statistics: report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).
            num_workers: for `AsyncVectorEnv`, without effect here: programs change engines.
            batch_size: how many results `recv` returns; None for all.
            on_worker_death: for `AsyncVectorEnv`.
            **parameters: physics parameters of the environment, each one value or one a lane.

        Raises:
            InvalidArgument: a value out of range, or not one a lane.
            ArgumentTypeError: an argument that neither the engine nor the physics has.
        """
        self.num_envs = positive("num_envs", num_envs, _MOST_LANES)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.copy = copy
        asked_threads = check_threads(num_threads)
        check_worker_options(num_workers, on_worker_death)
        rows = received_rows(batch_size, self.num_envs)
        limit = None if max_episode_steps in (None, -1) else max_episode_steps
        self.max_episode_steps = None if limit is None else positive("max_episode_steps", limit)
        known = {*self.env_class.parameters, *self.env_class.arguments}
        if unknown := sorted(parameters.keys() - known):
            text = f"got unexpected arguments {unknown}; its parameters are {sorted(known)}"
            raise error.ArgumentTypeError(f"{type(self).__name__}: {text}")
        if render_mode is not None and render_mode not in self.env_class.metadata["render_modes"]:
            raise error.UnsupportedMode(
                f"render_mode: expected None or one of {self.env_class.metadata['render_modes']}, "
                f"got {render_mode!r}"
            )
        self.render_mode = render_mode
        self.episode_statistics = bool(episode_statistics)
        self._same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        self._reports = self.episode_statistics or self._same_step
        self._last_actions: npt.NDArray[Any] | None = None
        self._pictures = Pictures()
        self._ends: NativeFinalFrames | None = None
        # What lanes share: spaces, and what follows from arguments that are no parameters.
        shared = parameters.keys() & set(self.env_class.arguments)
        self._model = self.env_class(**{name: parameters.pop(name) for name in shared})
        self.metadata = {**self._model.metadata, "autoreset_mode": self.autoreset_mode}
        self._facts = self._model.kernel_facts()
        self.single_observation_space = self._model.observation_space
        self.single_action_space = self._model.action_space
        self.num_threads, self._helpers = self._thread_count(asked_threads)
        self._make_batch()
        self._start_partial(rows)
        for name, value in parameters.items():
            self.set_attr(name, value)

    def _thread_count(self, num_threads: int | None) -> tuple[int, int]:
        """How many threads step the batch, and how many others are woken (-1: all, always)."""
        return thread_count(num_threads, self.num_envs * self._facts["nanoseconds"])

    def _make_batch(self) -> None:
        self._batch = self._model.make_batch(
            self.num_envs,
            limit=min(self.max_episode_steps or 0, _MOST_STEPS),
            mode=_MODES[self.autoreset_mode],
            num_threads=self.num_threads,
            helpers=self._helpers,
            reuse=not self.copy,
            statistics=self.episode_statistics,
            **self._model.batch_options(),
        )
        self._seeds = LaneSeeds(self._batch)

    # The bounds of a batch's spaces take as much memory as its lanes: made at first use.

    @cached_property
    def observation_space(self) -> Space[Any]:  # type: ignore[override]
        """Space of a batch of observations."""
        return batch_space(self.single_observation_space, self.num_envs)

    @cached_property
    def action_space(self) -> Space[Any]:  # type: ignore[override]
        """Space of a batch of actions."""
        return batch_space(self.single_action_space, self.num_envs)

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
            ResetNeeded: a mask that leaves lanes out in the first reset.
            ClosedEnvironmentError: after close.
        """
        if self.closed:
            raise error.ClosedEnvironmentError(f"{self} was closed; make a new one")
        env_options, mask = split_reset_mask(options, self.num_envs)
        bounds = self._model.reset_bounds(env_options)
        if mask is not None and not mask.all():
            self._check_none_sent("reset")
        if mask is not None and not self._batch.is_ready and not mask.all():
            raise error.ResetNeeded(
                "options['reset_mask']: the first reset must include every lane, got a mask "
                f"without lanes {shown(np.flatnonzero(~mask))}"
            )
        if seed is None:
            self._seeds.ensure()
        elif mask is None and not isinstance(seed, (Sequence, np.ndarray)):
            self._seeds.seed_all(seeding.checked_seed(seed))
        else:
            self._seeds.seed_lanes(seeds_per_env(seed, self.num_envs), mask)
        observations = self._batch.reset(mask, bounds)
        if self._sent_count or self._received is not None:
            self._forget_sent()
        if self.render_mode == "human":
            self.render()
        return observations, self._batch.arrays.infos or {}

    def step(
        self, actions: npt.NDArray[Any], env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[Observations, Floats, Bools, Bools, dict[str, Any]]:
        """Step every lane, or some of them.

        Args:
            actions: int64 [num_envs] or float32 [num_envs, size]; other integers and floats are
                converted. Values outside a continuous action space are clipped by the physics.
            env_ids: lanes to step, indices or a mask; None for all. Actions and results have a row
                for each of them, in this order, and `infos["env_id"]` int64 names them.

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
        if env_ids is not None:
            return self._step_some(actions, env_ids)
        if self._ends is not None:
            self._ends.before_step(self)
        observations, rewards, terminated, truncated, ended = self._batch.step(actions)
        infos = self._infos(self._batch.arrays, ended, actions)
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
        if self._ends is not None:
            self._ends.before_step(self)
        ended = self._batch.step_into(actions, observations, rewards, terminated, truncated)
        infos = self._infos(self._batch.arrays, ended, actions)
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
        arrays = rollout_arrays(
            actions,
            self.num_envs,
            self._facts,
            observations=observations,
            rewards=rewards,
            terminated=terminated,
            truncated=truncated,
            final_observations=final_observations,
        )
        self._batch.rollout(actions, *arrays)
        return arrays

    def _infos(
        self, arrays: StepArrays, ended: int, actions: Any, lanes: Lanes | None = None
    ) -> dict[str, Any]:
        """The infos of a step in which that many episodes ended."""
        infos = arrays.infos or {}
        if ended and self._reports:
            add_reports(infos, arrays, self._same_step, self.episode_statistics)
            if self._ends is not None:
                self._ends.after_step(self, infos, actions, lanes)
        return infos

    # --- partial batches -----------------------------------------------------------------------

    def _check_steppable(self, lanes: Lanes | None) -> None:
        if self.closed:
            raise error.ClosedEnvironmentError(f"{self} was closed; make a new one")
        if not self._batch.is_ready:
            raise error.ResetNeeded("step: expected reset() before the first step()")
        if lanes is not None:
            self._batch.check_lanes(lanes)

    def end_episodes(self, mask: Bools) -> None:
        """End episodes, as if the last step had; see `VectorEnv.end_episodes`."""
        self._check_steppable(None)
        self._batch.view_lifecycle()[0][ended_mask(self, mask)] = True

    def _note_sent(self, count: int) -> None:
        self._batch.hold(count)  # `step` asks nobody else

    def _single_actions(self, actions: Any, count: int) -> npt.NDArray[Any]:
        checked: npt.NDArray[Any] = self._batch.checked_actions(actions, count)
        return checked

    def _step_lanes(self, actions: npt.NDArray[Any], lanes: Lanes) -> StepResult:
        if self._ends is not None:
            self._ends.before_step(self)
        results = self._batch.step_lanes(actions, lanes)
        observations, rewards, terminated, truncated, ended, arrays = results
        infos = self._infos(arrays, ended, actions, lanes)
        infos["env_id"] = lanes.copy()
        if self.render_mode is not None:
            whole = np.zeros((self.num_envs, *actions.shape[1:]), actions.dtype)
            if self._last_actions is not None:
                whole[:] = self._last_actions
            whole[lanes] = actions
            self._acted(whole)
        return observations, rewards, terminated, truncated, infos

    # --- random streams ------------------------------------------------------------------------

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of every lane; -1 for a lane whose stream came from elsewhere."""
        return self._seeds.as_tuple()

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """A generator over the random stream of every lane: drawing from it moves the stream."""
        self._seeds.ensure()
        return tuple(self._batch.generator(lane) for lane in range(self.num_envs))

    # --- attributes and state ------------------------------------------------------------------

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Read an attribute of every lane, or call a method of it.

        Raises:
            InvalidArgument: `reset`, `step` and `close`, which are for the batch.
            AttributeError: lanes have no such attribute.
        """
        return call_lanes(self, name, args, kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every lane: a physics parameter, `state`, `np_random`, ..."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set a physics parameter, `state` or `np_random` of the lanes.

        Args:
            name: the attribute.
            values: a list, tuple or array with one value a lane, or one value for all.

        Raises:
            InvalidArgument: not one value a lane, or a value out of range; nothing has changed.
            ArgumentTypeError: a value of the wrong type; nothing has changed.
            AttributeError: lanes have no such attribute, or it is not theirs to set.
        """
        set_lanes(self, name, values)

    def get_state(self, lanes: Sequence[int] | None = None) -> npt.NDArray[Any]:
        """Everything that decides what lanes do next, random streams included.

        Args:
            lanes: indices or a mask; None for all.

        Returns:
            A structured array with one record a lane (`gymcore.native.state.lane_dtype`), a
            copy.
        """
        self._seeds.ensure()
        return save_lanes(self._batch, self._facts, lane_indices(lanes, self.num_envs))

    def set_state(self, state: npt.NDArray[Any], lanes: Sequence[int] | None = None) -> None:
        """Continue lanes from records of `get_state`, bit for bit, wherever they were saved.

        Args:
            state: one record for each of the lanes.
            lanes: indices or a mask; None for all.

        Raises:
            InvalidArgument: records of another environment, or another number of them.
        """
        self._check_none_sent("set_state")
        indices = lane_indices(lanes, self.num_envs)
        load_lanes(self._batch, self._facts, state, indices)
        self._seeds.forget(indices)

    def __getstate__(self) -> dict[str, Any]:
        """Settings, and the lanes as an array: copies and pickles continue bit for bit, apart."""
        apart = ("_batch", "_seeds", "_pictures", "_ends")
        kept = {name: one for name, one in self.__dict__.items() if name not in apart}
        kept["_keeps_frames"] = self._ends is not None
        kept["_saved"] = self.get_state(), self._seeds.known
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Make the batch again and put the lanes back."""
        kept = dict(kept)
        saved, seeds = kept.pop("_saved")
        keeps_frames = kept.pop("_keeps_frames")
        self.__dict__.update(kept)
        self._pictures, self._ends = Pictures(), None
        self._make_batch()
        load_lanes(self._batch, self._facts, saved, lane_indices(None, self.num_envs))
        self._note_sent(self._sent_count)
        self._seeds.restore(seeds)
        if self.closed:
            self._batch.close()
        self.keep_final_frames(keeps_frames)

    # --- pictures ------------------------------------------------------------------------------

    def keep_final_frames(self, keep: bool = True) -> None:
        """Draw last states in SAME_STEP; see `VectorEnv.keep_final_frames`."""
        if not (keep and self._same_step):
            self._ends = None
        elif self._ends is None:
            self._ends = NativeFinalFrames(self)

    def _acted(self, actions: npt.NDArray[Any]) -> None:
        self._last_actions = np.array(actions) if self.single_action_space.shape else None
        if self.render_mode == "human":
            self.render()

    def render(self) -> tuple[Any, ...] | None:
        """A frame [height, width, 3] uint8 of every lane, or a str, or the window for "human"."""
        return self._pictures.rendered(self)

    def render_tiled(self, columns: int | None = None) -> npt.NDArray[np.uint8]:
        """All lanes in one picture [height, width, 3] uint8, `columns` in a row (None: enough)."""
        return self._pictures.tiled(self, columns)

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads and close the window."""
        self._batch.close()
        self._pictures.close()
