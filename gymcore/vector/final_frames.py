"""Frames of episodes that SAME_STEP has ended, in the infos of the step; see `VectorEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["add_final_frames", "final_frames"]

KEY = "final_frame"


def add_final_frames(infos: dict[str, Any], frames: dict[int, Any]) -> None:
    """Put last frames into `final_info`, which others may have: it is replaced.

    Args:
        infos: Of a same-step step in which lanes have ended; changed.
        frames: The frames, by row; arrays of one shape and dtype.
    """
    count = len(infos["_final_info"])
    first: Any = next(iter(frames.values()))
    column = np.zeros((count, *first.shape), first.dtype)
    mask = np.zeros(count, np.bool_)
    for row, frame in frames.items():
        column[row] = frame
        mask[row] = True
    infos["final_info"] = {**infos["final_info"], KEY: column, f"_{KEY}": mask}


def final_frames(infos: dict[str, Any], frames: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return frames in which those of lanes that have ended are the last ones of their episodes.

    A lane whose worker process died has none: its row is black.

    Args:
        infos: What a step returned after `keep_final_frames`.
        frames: What `render` returned after it, stacked; not changed.

    Example:
        >>> import gymcore as gym
        >>> options = {"autoreset_mode": "SameStep"}
        >>> envs = gym.make_vec(
        ...     "CartPole-v1",
        ...     num_envs=2,
        ...     vector_kwargs=options,
        ...     max_episode_steps=1,
        ...     render_mode="rgb_array",
        ... )
        >>> _ = envs.reset(seed=1)
        >>> envs.keep_final_frames()
        >>> infos = envs.step([0, 1])[4]
        >>> now = np.stack(envs.render())
        >>> bool((final_frames(infos, now) != now).any())
        True
    """
    ended = infos.get("_final_obs")
    if ended is None or not ended.any():
        return frames
    last = frames.copy()
    last[ended] = 0
    final_info = infos["final_info"]
    if KEY in final_info:
        for row in np.flatnonzero(final_info[f"_{KEY}"]).tolist():
            last[row] = final_info[KEY][row]
    return last
