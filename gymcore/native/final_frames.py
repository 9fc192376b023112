"""Frames of the last states of episodes that the compiled engine has ended and begun anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.vector.final_frames import add_final_frames
from gymcore.native.lanes import lane_envs
from gymcore.vector.vector_env import AutoresetMode

if TYPE_CHECKING:
    from gymcore.native.vector_env import NativeVectorEnv

__all__ = ["NativeFinalFrames"]


class NativeFinalFrames:
    """Takes a step in which lanes have ended once more in a twin batch, which does not reset them.

    A kernel has no place for the state that a reset overwrites, and does the same bits again from
    the same state and random stream. A step in which nothing ends costs a copy of the lanes.
    """

    def __init__(self, envs: NativeVectorEnv) -> None:
        """Make the twin of `envs`, which is left as it is."""
        kept = envs.__getstate__()
        kept["autoreset_mode"] = AutoresetMode.DISABLED
        kept["metadata"] = {**envs.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        kept["render_mode"] = "rgb_array"  # so that it knows its last actions, which some show
        kept["closed"] = kept["_same_step"] = kept["_reports"] = kept["episode_statistics"] = False
        self._twin: NativeVectorEnv = object.__new__(type(envs))
        self._twin.__setstate__(kept)
        self._before: npt.NDArray[Any] | None = None

    def before_step(self, envs: NativeVectorEnv) -> None:
        """Save the lanes, if they may be stepped."""
        self._before = envs.get_state() if envs._batch.is_ready else None

    def after_step(
        self, envs: NativeVectorEnv, infos: dict[str, Any], actions: Any, lanes: Any
    ) -> None:
        """Add the last frames to the infos of a step in which lanes have ended.

        Args:
            envs: The environment.
            infos: Of the step; changed.
            actions: Of the step.
            lanes: Which lanes it stepped, int64; None for all.
        """
        if self._before is None:
            return
        twin = self._twin
        twin.set_state(self._before)
        twin.step(actions, env_ids=lanes)
        states = twin.get_attr("state")
        ended = np.flatnonzero(infos["_final_obs"]).tolist()
        rows = {row if lanes is None else int(lanes[row]): row for row in ended}
        frames = {
            rows[lane]: env._picture("rgb_array", states[lane])
            for lane, env in enumerate(lane_envs(twin))
            if lane in rows
        }
        add_final_frames(infos, frames)

    def close(self) -> None:
        """Close the twin."""
        self._twin.close()
