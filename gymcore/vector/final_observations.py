"""Last observations and frames of ended episodes in the infos of a same-step batch.

Compiled environments return them as one array `[num_envs, ...]`, others as an object array with
None where no episode has ended. Wrappers that change observations change these as well, and work on
batches in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore.core import Info, ObsType
from gymcore.vector.utils.infos import split_rows
from gymcore.vector.utils.space_utils import concatenate, create_empty_array, iterate

if TYPE_CHECKING:
    from gymcore.spaces import Space
    from gymcore.vector.protocols import Batched

_FRAME_KEY = "final_frame"


def final_batch(infos: Info, observations: Any, env: Batched) -> Any:
    """Return the observations of `env.step` with the last observation of each lane that ended.

    The other rows are the rows of `observations`, so the batch is an element of the observation
    space. Return None if no episode ended in this step.
    """
    if "final_obs" not in infos:
        return None
    last, mask = infos["final_obs"], infos["_final_obs"]
    if last.dtype != object:
        return np.where(mask.reshape((-1,) + (1,) * (last.ndim - 1)), last, observations)
    rows = list(iterate(env.observation_space, observations))
    for i in np.flatnonzero(mask).tolist():
        rows[i] = last[i]
    space = env.single_observation_space
    return concatenate(space, rows, create_empty_array(space, len(rows)))


def put_final_batch(infos: Info, batch: object, space: Space) -> None:
    """Replace the last observations in the infos by the ended lanes' rows of a batch.

    If the infos have one array and the batch is one array, the result is one array with zeros in
    the other rows; otherwise an object array of copies. `space` is the batched observation space.
    """
    mask = infos["_final_obs"]
    if infos["final_obs"].dtype != object and isinstance(batch, np.ndarray):
        last = np.zeros_like(batch)
        last[mask] = batch[mask]
    else:
        rows = list(iterate(space, batch))
        last = np.full(len(mask), None, dtype=object)
        for i in np.flatnonzero(mask).tolist():
            last[i] = deepcopy(rows[i])
    replace_final_obs(infos, last)


def replace_final_obs(infos: Info, final_obs: np.ndarray) -> None:
    """Replace the last observations in the infos of a same-step batch, under every name."""
    infos["final_obs"] = final_obs
    if "final_observation" in infos:
        infos["final_observation"] = split_rows(final_obs, infos["_final_obs"])


def change_final_observations(
    infos: Info,
    observations: ObsType,
    env: Batched,
    change: Callable[[ObsType], object],
    space: Space,
) -> None:
    """Apply a function of batches to the last observations in the infos, if there are any.

    Args:
        infos: The infos that `env.step` returned; changed in place.
        observations: The observations that it returned; not changed.
        env: The environment that returned both.
        change: Maps a batch of `env.observation_space` to a batch of `space`. Rows of lanes that
            have not ended hold the current observation; their results are discarded.
        space: The batched observation space after the change.
    """
    batch = final_batch(infos, observations, env)
    if batch is not None:
        put_final_batch(infos, change(batch), space)


def final_frame_infos(frames: dict[int, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Return last frames (dict from row to array) as entries of a `final_info` of `count` rows."""
    first = next(iter(frames.values()))
    column = np.zeros((count, *first.shape), first.dtype)
    mask = np.zeros(count, np.bool_)
    for row, frame in frames.items():
        column[row] = frame
        mask[row] = True
    return {_FRAME_KEY: column, f"_{_FRAME_KEY}": mask}


def add_final_frames(infos: Info, frames: dict[int, np.ndarray]) -> None:
    """Add last frames (a dict from row to array) to a copy of `final_info` in `infos`."""
    entries = final_frame_infos(frames, len(infos["_final_info"]))
    infos["final_info"] = {**infos["final_info"], **entries}


def final_frames(infos: Info, frames: np.ndarray) -> np.ndarray:
    """Return frames in which each lane that has ended shows the last frame of its episode.

    `infos` come from a step after `keep_final_frames`; `frames` are the stacked results of `render`
    after this step, and are not changed. A lane whose worker process died gets a black frame.

    Examples:
        >>> import gymcore as gym
        >>> options = {"max_episode_steps": 1, "render_mode": "rgb_array"}
        >>> mode = {"autoreset_mode": "SameStep"}
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, vector_kwargs=mode, **options)
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
    if _FRAME_KEY in final_info:
        for row in np.flatnonzero(final_info[f"_{_FRAME_KEY}"]).tolist():
            last[row] = final_info[_FRAME_KEY][row]
    return last
