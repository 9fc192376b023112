"""`AsyncVectorEnv(worker=...)`: a process for each environment, with a loop of the user's own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidArgument, UnsupportedMode
from gymcore.utils.arguments import seeds_per_env, split_reset_mask
from gymcore.vector.async_calls import check_call, values_per_env
from gymcore.vector.async_options import AsyncOptions, checked_timeout
from gymcore.vector.async_state import AsyncState
from gymcore.vector.async_vector_env import AsyncVectorEnv
from gymcore.vector.sub_envs import adopt_spaces
from gymcore.vector.workers.custom_loop import CustomWorkerEngine

__all__ = ["CustomAsyncVectorEnv"]


class CustomAsyncVectorEnv(AsyncVectorEnv[Any, Any]):
    """What `AsyncVectorEnv` makes when it is given a `worker`.

    The protocol that the loop has to speak is described in `gymcore.vector.workers.custom_loop`.
    What belongs to the engine's own workers is not there: partial batches, steps of some
    environments, restarts, saved states, episode statistics.
    """

    steps_some_lanes = False

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """Not with a loop of the user's own.

        Raises:
            UnsupportedMode: Always.
        """
        raise UnsupportedMode("end_episodes: a `worker` of your own ends its episodes itself")

    def keep_final_frames(self, keep: bool = True) -> None:
        """Not with a loop of the user's own.

        Raises:
            UnsupportedMode: Always.
        """
        raise UnsupportedMode("keep_final_frames: a `worker` of your own does not render")

    def _start(self, options: AsyncOptions, start_timeout: float | None) -> None:
        for name, asked in (
            ("batch_size", self.batch_size != self.num_envs),
            ("on_worker_death='restart'", self._restarts),
            ("episode_statistics", self.episode_statistics),
        ):
            if asked:
                raise InvalidArgument(f"{name}: does not go with a `worker` of your own")
        self.num_workers = self.num_envs
        self._look_at_spaces()
        self._engine = CustomWorkerEngine(
            self.env_fns,
            self.worker,  # type: ignore[arg-type]
            multiprocessing.get_context(self.context),
            daemon=self.daemon,
            single_observation_space=self.single_observation_space,
            single_action_space=self.single_action_space,
            observation_mode=self.observation_mode,
            shared_memory=self.shared_memory,
            copy=self.copy,
            autoreset_mode=self.autoreset_mode,
            max_concurrency=self.max_concurrency,
            start_timeout=start_timeout,
        )
        self._end_with(self._engine)

    def _look_at_spaces(self) -> None:
        """Take spaces and metadata from environments that are made here and closed again."""
        different = self.observation_mode == "different"
        envs: list[Any] = []
        try:
            for env_fn in self.env_fns if different else self.env_fns[:1]:
                envs.append(env_fn())
            self.metadata = {**envs[0].metadata, "autoreset_mode": self.autoreset_mode}
            self.render_mode = envs[0].render_mode
            missing = 0 if different else self.num_envs - 1
            adopt_spaces(
                self,
                [env.observation_space for env in envs] + [envs[0].observation_space] * missing,
                [env.action_space for env in envs] + [envs[0].action_space] * missing,
            )
        finally:
            for env in envs:
                env.close()

    @property
    def processes(self) -> list[Any]:
        """The `multiprocessing.Process` of each environment."""
        return self._engine.processes

    def _check_workers(self) -> None:
        pass

    def _check_outstanding(self, method: str) -> None:
        pass

    def _revive(self) -> None:
        pass

    def reset_async(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Begin a reset; see `AsyncVectorEnv.reset_async`."""
        self._begin("reset_async", "")
        seeds = seeds_per_env(seed, self.num_envs)
        env_options, mask = split_reset_mask(options, self.num_envs)
        self._engine.reset_async(seeds, env_options, mask)
        self._state = AsyncState.WAITING_RESET

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """Return the results of `reset_async`; see `AsyncVectorEnv.reset_wait`."""
        timeout = checked_timeout(timeout)
        self._pending(AsyncState.WAITING_RESET)
        try:
            observations, infos = self._engine.reset_wait(timeout)
        finally:
            self._state = AsyncState.DEFAULT
        return observations, self._merged(infos)

    def step(
        self, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None = None
    ) -> tuple[
        Any,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Step every environment; see `VectorEnv.step`."""
        if env_ids is not None:
            raise UnsupportedMode("step: a `worker` of your own steps all environments at once")
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        """Begin a step; see `AsyncVectorEnv.step_async`."""
        self._begin("step_async")
        self._engine.step_async(self._single_actions(actions, self.num_envs))
        self._state = AsyncState.WAITING_STEP

    def step_wait(
        self, timeout: float | None = None
    ) -> tuple[
        Any,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Return the results of `step_async`; see `AsyncVectorEnv.step_wait`."""
        timeout = checked_timeout(timeout)
        self._pending(AsyncState.WAITING_STEP)
        try:
            *arrays, infos = self._engine.step_wait(timeout)
        finally:
            self._state = AsyncState.DEFAULT
        observations, rewards, terminations, truncations = arrays
        return observations, rewards, terminations, truncations, self._merged(infos)

    def _merged(self, env_infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for lane, info in enumerate(env_infos):
            if info:
                infos = self._add_info(infos, info, lane)
        return infos

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Begin a call; see `AsyncVectorEnv.call_async`."""
        self._begin("call_async")
        check_call(name)
        self._engine.call_async(name, args, kwargs)
        self._state = AsyncState.WAITING_CALL

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return the results of `call_async`; see `AsyncVectorEnv.call_wait`."""
        timeout = checked_timeout(timeout)
        self._pending(AsyncState.WAITING_CALL)
        try:
            return tuple(self._engine.call_wait(timeout))
        finally:
            self._state = AsyncState.DEFAULT

    def set_attr(self, name: str, values: list[Any] | tuple[Any, ...] | Any) -> None:
        """Set an attribute of every environment; see `AsyncVectorEnv.set_attr`."""
        self._begin("set_attr")
        self._engine.set_attr(name, values_per_env(values, self.num_envs))

    def send(self, actions: Any, env_ids: Any = None) -> None:
        """Not with a loop of the user's own.

        Raises:
            UnsupportedMode: Always.
        """
        raise UnsupportedMode("send: a `worker` of your own steps all environments at once")

    def recv(self, timeout: float | None = None) -> Any:
        """Not with a loop of the user's own.

        Raises:
            UnsupportedMode: Always.
        """
        raise UnsupportedMode("recv: a `worker` of your own steps all environments at once")

    def get_state(self, lanes: Any = None) -> list[Any]:
        """Not with a loop of the user's own.

        Raises:
            UnsupportedMode: Always.
        """
        raise UnsupportedMode("get_state: use call('get_state')")

    def set_state(self, state: Any, lanes: Any = None) -> None:
        """Not with a loop of the user's own.

        Raises:
            UnsupportedMode: Always.
        """
        raise UnsupportedMode("set_state: use call('set_state', ...)")
