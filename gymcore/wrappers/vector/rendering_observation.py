"""Batches of observations with pictures of the lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, ObsType, WrapperObsType
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.utils import batch_space
from gymcore.vector.vector_env import ArrayType, AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorObservationWrapper
from gymcore.wrappers.observation_images import (
    check_render_keys,
    check_render_mode,
    frame_space,
    join_frames,
)

__all__ = ["AddRenderObservation"]


class AddRenderObservation(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType], RecordConstructorArgs
):
    """Observe what `render` returns for each lane, alone or beside the observations.

    The modes NEXT_STEP and DISABLED are served. In SAME_STEP an environment has been reset by the
    time its batch can be rendered, so there is no frame for the last observation of an episode, and
    one of another moment in `final_obs` would be wrong without a sign of it. The wrapper refuses
    that mode; there, wrap the environments before they are batched::

        wrapper = gymcore.wrappers.AddRenderObservation
        gymcore.make_vec(id, 8, "sync", {"autoreset_mode": "SameStep"}, [wrapper], ...)

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
            FailedCheck: if the autoreset mode is SAME_STEP, the render mode None or "human", or
                there is something under `render_key` already (a `ValueError`).
            FailedTypeCheck: if `render` returns something else (a `TypeError`).
        """
        VectorObservationWrapper.__init__(self, env)
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if AutoresetMode(mode) is AutoresetMode.SAME_STEP:
            raise error.FailedCheck(
                "AddRenderObservation: expected autoreset_mode to be NEXT_STEP or DISABLED, got "
                "SAME_STEP, where an ended episode cannot be rendered any more. Wrap the "
                'environments instead: make_vec(..., vectorization_mode="sync", '
                "wrappers=[gymcore.wrappers.AddRenderObservation])"
            )
        check_render_mode(env.render_mode)
        space = env.single_observation_space
        if not render_only:
            check_render_keys(space, render_key, obs_key)
        RecordConstructorArgs.__init__(
            self, render_only=render_only, render_key=render_key, obs_key=obs_key
        )
        env.reset()
        frames = frame_space(self._frames()[0])
        keys = render_only, render_key, obs_key
        joined, self._join = join_frames(space, frames, *keys)
        self.single_observation_space = joined
        self.observation_space = batch_space(joined, self.num_envs)
        # Batches have the order of their space.
        self._order = None if render_only else tuple(joined.spaces)

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the observations with the current frames, which are new arrays."""
        joined: Any = self._join(observations, self._frames())
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
