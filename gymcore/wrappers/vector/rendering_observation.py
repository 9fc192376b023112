"""Batches of observations with pictures of the lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, ObsType, WrapperObsType
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.final_frames import final_frames
from gymcore.vector.final_observations import change_final_observations
from gymcore.vector.utils import batch_space
from gymcore.vector.vector_env import ArrayType, AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorObservationWrapper
from gymcore.wrappers.observation_images import (
    check_render_keys,
    check_render_mode,
    frame_space,
    join_frames,
)
from gymcore.wrappers.vector.lane_infos import replace_final_obs

__all__ = ["AddRenderObservation"]


class AddRenderObservation(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType], RecordConstructorArgs
):
    """Observe what `render` returns for each lane, alone or beside the observations.

    In SAME_STEP the last observations of episodes have frames of the last states: the engine takes
    them before it resets (`VectorEnv.keep_final_frames`), and `infos["final_info"]` has them too.
    Only a lane whose worker process died (`worker_restarted`) has none: its frame is black.

    Gymnasium has this for single environments only.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = AddRenderObservation(envs, render_only=False)
        >>> observations, infos = envs.reset(seed=1)
        >>> {key: value.shape for key, value in observations.items()}
        {'pixels': (2, 400, 600, 3), 'state': (2, 4)}
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        render_only: bool = True,
        render_key: str = "pixels",
        obs_key: str = "state",
    ) -> None:
        """Wrap `env`, and reset it to see what it renders.

        Args:
            env: A vector environment whose `render` returns an array a lane, all of one shape.
            render_only: Observe the frames alone. Otherwise `Dict` observations have the frames
                added, and any others become the dict `{obs_key: observations, render_key:
                frames}`.
            render_key: Key of the frames.
            obs_key: Key of the observations, unless they are of a `Dict`.

        Raises:
            ArgumentTypeError: if `env` is no vector environment (a `TypeError`).
            FailedCheck: if the render mode is None or "human", or there is something under
                `render_key` already (a `ValueError`).
            UnsupportedMode: in SAME_STEP, an engine that does not render before it resets, as
                `AsyncVectorEnv` with a `worker` of your own.
            FailedTypeCheck: if `render` returns something else (a `TypeError`).
        """
        VectorObservationWrapper.__init__(self, env)
        check_render_mode(env.render_mode)
        space = env.single_observation_space
        if not render_only:
            check_render_keys(space, render_key, obs_key)
        RecordConstructorArgs.__init__(
            self, render_only=render_only, render_key=render_key, obs_key=obs_key
        )
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if AutoresetMode(mode) is AutoresetMode.SAME_STEP:
            env.keep_final_frames()
        env.reset()
        frames = frame_space(self._frames()[0])
        keys = render_only, render_key, obs_key
        joined, self._join = join_frames(space, frames, *keys)
        self.single_observation_space = joined
        self.observation_space = batch_space(joined, self.num_envs)
        # Batches have the order of their space.
        self._order = None if render_only else tuple(joined.spaces)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Do nothing: the infos always have them, as this wrapper needs them itself.

        Args:
            keep: Not used.
        """

    def step(
        self, actions: ActType
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step, and return observations with frames; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        frames = self._frames()
        if "final_obs" in infos:
            self._add_last(infos, observations, final_frames(infos, frames))
        joined = self._joined(observations, frames)
        return joined, rewards, terminations, truncations, infos

    def _add_last(
        self, infos: dict[str, Any], observations: ObsType, frames: npt.NDArray[Any]
    ) -> None:
        """Add last frames to the last observations of episodes in the infos."""
        last = infos["final_obs"]
        if last.dtype != object:
            change_final_observations(
                infos,
                observations,
                self.env,
                lambda batch: self._join(batch, frames),
                self.observation_space,
            )
            return
        joined = np.full(len(last), None, object)
        for row in np.flatnonzero(infos["_final_obs"]).tolist():
            joined[row] = self._join(last[row], frames[row].copy())
        replace_final_obs(infos, joined)

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the observations with the current frames, which are new arrays."""
        return self._joined(observations, self._frames())

    def _joined(self, observations: ObsType, frames: npt.NDArray[Any]) -> WrapperObsType:
        joined: Any = self._join(observations, frames)
        if self._order is not None:
            joined = {key: joined[key] for key in self._order}
        return cast("WrapperObsType", joined)

    def _frames(self) -> npt.NDArray[Any]:
        """Return the frames of all lanes, `[num_envs, height, width, 3]` uint8."""
        frames: Any = self.env.render()
        if not isinstance(frames, Sequence) or len(frames) != self.num_envs:
            raise error.FailedTypeCheck(
                f"AddRenderObservation expects env.render() to return {self.num_envs} arrays, one "
                f"a lane, got {type(frames)}"
            )
        if not all(isinstance(frame, np.ndarray) for frame in frames):
            raise error.FailedTypeCheck(
                "AddRenderObservation expects env.render() to return a numpy array for each lane, "
                f"got {[type(frame) for frame in frames]}"
            )
        first = frames[0]
        if any(one.shape != first.shape or one.dtype != first.dtype for one in frames):
            raise error.FailedCheck(
                "AddRenderObservation expects frames of one shape and dtype from all lanes, got "
                f"{[(one.shape, str(one.dtype)) for one in frames]}"
            )
        return np.stack(frames)
