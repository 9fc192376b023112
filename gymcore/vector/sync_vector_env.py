"""A vector environment that steps Python environments one after another, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.core import ActType, Env, ObsType, RenderFrame
from gymcore.error import (
    ArgumentTypeError,
    ClosedEnvironmentError,
    InvalidAction,
    InvalidArgument,
    ResetNeeded,
)
from gymcore.spaces import Space
from gymcore.vector.engine_options import thread_count
from gymcore.vector.episode_statistics import EpisodeStatistics
from gymcore.vector.utils.arguments import seeds_per_env, split_reset_mask
from gymcore.vector.utils.batch_spaces import batch_differing_spaces, batch_space
from gymcore.vector.utils.space_checks import check_equal_spaces, check_equivalent_spaces
from gymcore.vector.utils.space_utils import concatenate, create_empty_array, iterate
from gymcore.vector.vector_env import AutoresetMode, VectorEnv

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(VectorEnv[ObsType, ActType, npt.NDArray[Any]]):
    """Steps a list of environments in order.

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
        num_threads: int | None = None,
        episode_statistics: bool = False,
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
            num_threads: For the compiled engine; without effect here, where environments are
                stepped one after another. Taken so that a program can change engines by one word.
            episode_statistics: Report ended episodes in `info["episode"]`, as
                `wrappers.vector.RecordEpisodeStatistics` does: "r", "l" and "t" (s).

        Raises:
            InvalidArgument: No functions, or an unknown mode (a `ValueError`).
            ArgumentTypeError: Something that is no function or no space (a `TypeError`).
            SpaceMismatch: The environments' spaces cannot be batched (a `RuntimeError`).
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
        thread_count(num_threads, len(self.env_fns))  # only to refuse what other engines refuse

        self.envs: list[Env[Any, Any]] = []
        try:
            for env_fn in self.env_fns:
                self.envs.append(env_fn())
            self._adopt(self.envs[0])
        except BaseException:
            with contextlib.suppress(Exception):
                self._close_envs()
            raise

        self._observations = create_empty_array(self.single_observation_space, self.num_envs)
        self._env_obs: list[Any] | None = None  # the last observation of each, None before reset
        self._autoreset_envs = np.zeros(self.num_envs, dtype=np.bool_)
        self.episode_statistics = bool(episode_statistics)
        self._statistics = EpisodeStatistics(self.num_envs) if episode_statistics else None

    def _adopt(self, first: Env[Any, Any]) -> None:
        """Take metadata and single spaces from the first environment; check the others' spaces."""
        self.num_envs = len(self.envs)
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode

        action_spaces = [env.action_space for env in self.envs]
        self.single_action_space = first.action_space
        check_equal_spaces("action", first.action_space, action_spaces, type(self).__name__)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

        spaces = [env.observation_space for env in self.envs]
        mode = self.observation_mode
        if isinstance(mode, tuple) and len(mode) == 2:
            for space in mode:
                if not isinstance(space, Space):
                    raise ArgumentTypeError(
                        "observation_mode: Expected both elements of observation_mode to be "
                        f"Spaces, got {type(mode[0])} and {type(mode[1])}"
                    )
            self.observation_space, self.single_observation_space = mode
        elif isinstance(mode, str) and mode in ("same", "different"):
            self.single_observation_space = first.observation_space
            if mode == "same":
                check_equal_spaces(
                    "observation", first.observation_space, spaces, type(self).__name__
                )
                self.observation_space = batch_space(first.observation_space, self.num_envs)
            else:
                self.observation_space = batch_differing_spaces(spaces)
        else:
            raise InvalidArgument(
                "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of single "
                f"and batch observation space, actual got {mode}"
            )
        if mode != "same":
            check_equivalent_spaces(self.single_observation_space, spaces, type(self).__name__)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset all environments, or those that `options["reset_mask"]` selects.

        Args:
            seed: None; an integer `s`, for environment `i` `s + i`; or one seed or None for each.
            options: Passed on to the environments, without `reset_mask` (the dict itself is left as
                it is). `reset_mask` `[num_envs] bool` selects which ones to reset.

        Returns:
            The observations, with the last ones of environments not reset, and the merged infos of
            those that were.

        Raises:
            ClosedEnvironmentError: After `close`.
            ResetNeeded: A mask leaves out environments that have never been reset.
            InvalidArgument: A bad seed or mask (a `ValueError`), nothing was reset.
            ArgumentTypeError: One of the wrong type (a `TypeError`), nothing was reset.
        """
        if self.closed:
            raise ClosedEnvironmentError(f"reset: {self} is closed")
        seeds = seeds_per_env(seed, self.num_envs)
        env_options, mask = split_reset_mask(options, self.num_envs)
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        if self._env_obs is None and not mask.all():
            raise ResetNeeded(
                "options['reset_mask']: the first reset must include every environment, "
                f"got a mask without environments {np.flatnonzero(~mask).tolist()}"
            )

        env_obs = [None] * self.num_envs if self._env_obs is None else self._env_obs
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(mask).tolist():
            env_obs[i], info = self.envs[i].reset(seed=seeds[i], options=env_options)
            if info:
                infos = self._add_info(infos, info, i)
        self._env_obs = env_obs
        self._autoreset_envs = self._autoreset_envs & ~mask
        if self._statistics is not None:
            self._statistics.begin(mask)
        return self._batch(env_obs), infos

    def step(
        self, actions: ActType
    ) -> tuple[
        ObsType,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Step every environment; see `VectorEnv.step`.

        Raises:
            ClosedEnvironmentError: After `close`.
            ResetNeeded: Before `reset`, or, when autoreset is disabled, on an ended episode.
            InvalidAction: Not one action for each environment.
        """
        if self.closed:
            raise ClosedEnvironmentError(f"step: {self} is closed")
        if self._env_obs is None:
            raise ResetNeeded(f"step: call reset() of {self} first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._autoreset_envs.any():
            ended = np.flatnonzero(self._autoreset_envs).tolist()
            raise ResetNeeded(
                f"step: environments {ended} have ended their episodes and autoreset is disabled; "
                "call reset(options={'reset_mask': terminations | truncations})"
            )
        env_actions = list(iterate(self.action_space, actions))
        if len(env_actions) != self.num_envs:
            raise InvalidAction(
                f"actions: expected one for each of the {self.num_envs} environments, "
                f"got {len(env_actions)}"
            )

        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        infos: dict[str, Any] = {}
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        env_obs = self._env_obs
        reset_first = self._autoreset_envs.tolist()
        for i, (env, action) in enumerate(zip(self.envs, env_actions, strict=True)):
            if reset_first[i]:
                env_obs[i], info = env.reset()
            else:
                env_obs[i], rewards[i], terminations[i], truncations[i], info = env.step(action)
                if same_step and (terminations[i] or truncations[i]):
                    # Copies: the environment may use the same objects again in reset.
                    final = {"final_obs": deepcopy(env_obs[i]), "final_info": dict(info)}
                    env_obs[i], info = env.reset()
                    infos = self._add_info(infos, final, i)
            if info:
                infos = self._add_info(infos, info, i)
        ended = terminations | truncations
        if self._statistics is not None:
            self._count(self._statistics, rewards, ended, infos)
        if not same_step:
            self._autoreset_envs = ended
        return self._batch(env_obs), rewards, terminations, truncations, infos

    def _count(
        self,
        statistics: EpisodeStatistics,
        rewards: npt.NDArray[np.float64],
        ended: npt.NDArray[np.bool_],
        infos: dict[str, Any],
    ) -> None:
        """Count the step, and report the episodes that ended in it."""
        statistics.count(rewards)
        # Where this step was a reset (`_autoreset_envs` is still the last step's), nothing counts.
        statistics.begin(self._autoreset_envs)
        statistics.report(infos, ended)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            statistics.begin(ended)

    def _batch(self, env_obs: list[Any]) -> ObsType:
        """Return the observations of all environments as one batch."""
        self._observations = concatenate(self.single_observation_space, env_obs, self._observations)
        return deepcopy(self._observations) if self.copy else self._observations

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Return the frame of each environment."""
        return tuple(env.render() for env in self.envs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or get an attribute.

        Args:
            name: Name of a method or attribute of the environment or of one of its wrappers.
            *args: For the method.
            **kwargs: For the method.

        Returns:
            One result for each environment.

        Raises:
            AttributeError: There is no such attribute.
        """
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

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
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise InvalidArgument(
                "Values must be a list or tuple with length equal to the number of environments. "
                f"Got `{len(values)}` values for {self.num_envs} environments."
            )
        for env, value in zip(self.envs, values, strict=True):
            env.set_wrapper_attr(name, value)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each environment."""
        return tuple(env.np_random for env in self.envs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each environment's generator."""
        return tuple(env.np_random_seed for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment; one that fails does not keep the others open."""
        self._close_envs()

    def _close_envs(self) -> None:
        first_error: Exception | None = None
        for env in self.envs:
            try:
                env.close()
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error
