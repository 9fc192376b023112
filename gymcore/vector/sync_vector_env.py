"""A vector environment that steps Python environments one after another, in this process."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore import error
from gymcore.base.arguments import seeds_per_env
from gymcore.core import ActType, Env, Info, ObsType, Options, RenderFrame, without_mode
from gymcore.error import StateNotSupported
from gymcore.foreign import adopt, make_adopted
from gymcore.spaces import Space
from gymcore.spaces.layouts import layout_of
from gymcore.vector.engine import Lanes, Mask, StepResult, VectorEngine
from gymcore.vector.engine_options import adopt_spaces, checked_functions, values_per_env
from gymcore.vector.lane_episodes import AUTORESET_NUMBERS, AutoresetMode
from gymcore.vector.lane_states import LaneState, check_state, load_env, save_env
from gymcore.vector.protocols import EnvFn
from gymcore.vector.utils.space_utils import create_empty_array
from gymcore.vector.vector_env import VectorEnv
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.env_loop import EPISODE_STATS_LAYOUT, REWARD_AND_END_LAYOUT, EnvLoop
from gymcore_ext.python_envs.infos import copied

if TYPE_CHECKING:
    from gymcore.vector.workers.shared_memory import AddInfo

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(VectorEngine[ObsType, ActType]):
    """Vector environment that steps a list of environments in order.

    If `reset` or `step` of an environment raises, the exception becomes an `EnvironmentFailed` that
    is also an instance of the exception's own class, and the next call must be a `reset` of all
    environments.

    A subclass may define a `step` in Python that writes Gymnasium's buffers: `_rewards`,
    `_terminations`, `_truncations`, `_autoreset_envs`, `_observations` and `_env_obs`.

    Attributes:
        envs: The environments. An environment or its methods may be replaced between two calls.

    Examples:
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
        env_fns: Iterable[EnvFn],
        copy: bool = True,
        observation_mode: str | tuple[Space, Space] = "same",
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
            copy: Whether `reset` and `step` return copies of the observations. If False, they
                return one buffer, which the next call overwrites.
            observation_mode: "same" if all environments have the same observation space;
                "different" if only shape and dtype are the same and bounds differ; or a tuple
                `(observation_space, single_observation_space)` of the spaces to use.
            autoreset_mode: When an ended environment is reset.
            num_workers: An option of `AsyncVectorEnv`. Options of other engines have no effect
                here; they are accepted so that a program can switch engines by changing one word.
            batch_size: Number of results that `recv` returns; None for all.
            on_worker_death: An option of `AsyncVectorEnv`; "restart" causes a warning here.
            episode_statistics: Whether to report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).
            num_threads: An option of the compiled engine.

        Raises:
            InvalidArgument: If there are no functions or an option is invalid (a `ValueError`).
            ArgumentTypeError: If a function or space has the wrong type (a `TypeError`).
            SpaceMismatch: If the environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: If a constructor raises; the environments made before are closed.
        """
        self.env_fns = checked_functions(env_fns)
        self._set_options(
            len(self.env_fns),
            autoreset_mode,
            copy=copy,
            batch_size=batch_size,
            episode_statistics=episode_statistics,
            num_threads=num_threads,
            num_workers=num_workers,
            on_worker_death=on_worker_death,
        )
        self.observation_mode = observation_mode
        self._final_frames = False

        self._envs: list[Env] = []
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
        self._create_loop()
        if type(self).step is not SyncVectorEnv.step:
            self._make_step_buffers()

    def _make_step_buffers(self) -> None:
        """Allocate the buffers of Gymnasium's `step`, for a subclass whose `step` writes them."""
        self._env_obs: list[object] = [None] * self.num_envs
        self._observations = create_empty_array(self.single_observation_space, self.num_envs)
        self._rewards = np.zeros(self.num_envs)
        self._terminations = np.zeros(self.num_envs, np.bool_)
        self._truncations = np.zeros(self.num_envs, np.bool_)
        self._autoreset_envs = np.zeros(self.num_envs, np.bool_)

    def _create_loop(self) -> None:
        """Create the loop over the environments."""
        self._find_action_layout()
        layout, n = layout_of(self.single_observation_space, copy=self.copy), self.num_envs
        self._loop = EnvLoop(
            self._envs,
            BatchBuffer(layout, n, reuse=not self.copy),
            BatchBuffer(REWARD_AND_END_LAYOUT, n),
            BatchBuffer(EPISODE_STATS_LAYOUT, n) if self.episode_statistics else None,
            mode=AUTORESET_NUMBERS[self.autoreset_mode],
            add_info=self._info_merger(),
            errors=error,
        )
        self._loop.final_frames = self._final_frames

    def _info_merger(self) -> AddInfo | None:
        """Return the function that merges infos, or None if it is `VectorEnv._add_info`."""
        if type(self)._add_info is VectorEnv._add_info:
            return None
        owner = weakref.proxy(self)  # the loop must not keep its owner alive
        return lambda infos, info, lane: owner._add_info(infos, info, lane)

    # --- stepping ------------------------------------------------------------------------------

    @property
    def _needs_reset(self) -> bool:
        return self._loop.needs_reset()

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Mask | None
    ) -> tuple[ObsType, Info]:
        seeds = seeds_per_env(seed, self.num_envs)
        lanes = None
        if mask is not None:
            lanes = np.flatnonzero(mask).tolist()
            seeds = [seeds[lane] for lane in lanes]
        try:
            results: tuple[ObsType, Info] = self._loop.reset(lanes, seeds, options)
        except Exception as problem:
            self._raise_if_lane_failed(problem)
            raise
        if type(self).step is not SyncVectorEnv.step:
            for ended in (self._terminations, self._truncations, self._autoreset_envs):
                ended[slice(None) if mask is None else mask] = False
        return results

    def _ended_lanes(self) -> Mask:
        return self._loop.ended_lanes()

    def _step_engine(self, actions: list[object], lanes: Lanes | None) -> StepResult[ObsType]:
        try:
            results: StepResult[ObsType]
            results = self._loop.step(actions, None if lanes is None else lanes.tolist())
            return results
        except Exception as problem:
            self._raise_if_lane_failed(problem)
            raise

    def _raise_if_lane_failed(self, problem: Exception) -> None:
        """Raise `EnvironmentFailed` if `problem` was raised by an environment."""
        if self._loop.failed_lane >= 0:
            from gymcore.vector.workers.failures import environment_error

            lanes, call = [self._loop.failed_lane], str(self._loop.failed_call)
            raise environment_error(lanes, call, problem) from problem

    def _end_lanes(self, mask: Mask) -> None:
        self._loop.mark_ended(np.flatnonzero(mask).tolist())

    # --- environments --------------------------------------------------------------------------

    @property
    def envs(self) -> list[Env]:
        """The environments. An environment or its methods may be replaced between two calls."""
        return self._envs

    @envs.setter
    def envs(self, envs: Iterable[Env]) -> None:
        self._envs[:] = map(adopt, envs)

    @without_mode
    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each environment; arrays are copies."""
        self._check_call("render")
        frames = []
        for lane, env in enumerate(self.envs):
            with _naming_lane(lane, "render"):
                frame = env.render()
            frames.append(copied(frame) if isinstance(frame, np.ndarray) else frame)
        return tuple(frames)

    def _call_lanes(
        self, name: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> list[object]:
        attributes = []
        for lane, env in enumerate(self.envs):
            with _naming_lane(lane, name):
                attributes.append(env.get_wrapper_attr(name))
        results = []
        for lane, value in enumerate(attributes):
            with _naming_lane(lane, name):
                results.append(value(*args, **kwargs) if callable(value) else value)
        return results

    def _set_lanes_attr(self, name: str, values: object) -> None:
        values = values_per_env(values, self.num_envs)
        for lane, (env, value) in enumerate(zip(self.envs, values, strict=True)):
            with _naming_lane(lane, "set_attr"):
                env.set_wrapper_attr(name, value)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of each environment's generator."""
        return tuple(env.np_random_seed for env in self.envs)

    def lane_generators(self, lanes: Sequence[int]) -> list[np.random.Generator]:
        """Return the generators of some environments."""
        return [self.envs[lane].np_random for lane in lanes]

    def keep_final_frames(self, keep: bool = True) -> None:
        """Render before resets in SAME_STEP; see `VectorEnv.keep_final_frames`."""
        self._check_call("keep_final_frames")
        self._final_frames = self._loop.final_frames = bool(keep)

    # --- states --------------------------------------------------------------------------------

    def _save_lanes(self, lanes: Lanes) -> list[LaneState]:
        states = []
        for lane in lanes.tolist():
            with _naming_lane(lane, "get_state"):
                env, wrappers = save_env(self.envs[lane], lane)
            states.append(LaneState(env, wrappers, *self._loop.save_lane(lane)))
        return states

    def _load_lanes(self, states: Sequence[LaneState], lanes: Lanes) -> None:
        for lane, state in zip(lanes.tolist(), states, strict=True):
            check_state(self.envs[lane], state, lane)
        for lane, state in zip(lanes.tolist(), states, strict=True):
            with _naming_lane(lane, "set_state"):
                load_env(self.envs[lane], state)
            self._loop.load_lane(lane, state[2:])
        self._loop.mark_ready()

    # --- copies --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, object]:
        """Return the environments and the state of their episodes."""
        state = {name: value for name, value in self.__dict__.items() if name != "_loop"}
        loop, lanes = self._loop, range(self.num_envs)
        state["_lanes"] = None if loop.needs_reset() else [loop.save_lane(lane) for lane in lanes]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Create the loop again; the durations of episodes restart."""
        state = dict(state)
        lanes = state.pop("_lanes")
        self.__dict__.update(state)
        self._create_loop()
        if lanes is not None:
            for lane, saved in enumerate(lanes):
                self._loop.load_lane(lane, saved)
            self._loop.mark_ready()

    # --- closing -------------------------------------------------------------------------------

    def close_extras(self, **kwargs: object) -> None:
        """Close every environment, even if `close` of another one fails.

        Raises:
            EnvironmentFailed: If an environment's `close` raises. Everything is closed anyway.
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
            if not isinstance(other, Exception):  # an interrupt is not a failure of the environment
                raise other
        if failures:
            from gymcore.vector.workers.failures import environment_error

            first = next(iter(failures.values()))
            raise environment_error(list(failures), "close", first) from first


@contextlib.contextmanager
def _naming_lane(lane: int, call: str) -> Iterator[None]:
    """Raise an environment's exception as one that names the environment and the call."""
    try:
        yield
    except StateNotSupported:
        raise  # names the environment itself
    except Exception as problem:
        from gymcore.vector.workers.failures import environment_error

        raise environment_error([lane], call, problem) from problem
