"""Videos from lists of frames, and the default schedule of recorded episodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymcore import error
from gymcore.rendering.video_files import VideoWriter

__all__ = ["capped_cubic_video_schedule", "save_video"]


def capped_cubic_video_schedule(episode_id: int) -> bool:
    """Return whether to record an episode: 0, 1, 8, 27, ... up to 729, then 1000, 2000, 3000, ...

    Args:
        episode_id: Index of the episode, at least 0.

    Example:
        >>> [i for i in range(2500) if capped_cubic_video_schedule(i)]
        [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000]
    """
    if episode_id < 1000:
        return round(episode_id ** (1.0 / 3)) ** 3 == episode_id
    return episode_id % 1000 == 0


def save_video(
    frames: list[Any],
    video_folder: str,
    episode_trigger: Callable[[int], bool] | None = None,
    step_trigger: Callable[[int], bool] | None = None,
    video_length: int | None = None,
    name_prefix: str = "rl-video",
    episode_index: int = 0,
    step_starting_index: int = 0,
    save_logger: str | None = None,
    **kwargs: Any,
) -> None:
    """Write the frames of one episode to mp4 files.

    Call it at the end of an episode of an environment with `render_mode="rgb_array_list"`. The
    wrapper `RecordVideo` does not need a list of frames.

    Args:
        frames: A list of frames, uint8 [height, width, 3].
        video_folder: The folder of the files, which is created if necessary. A file of the same
            name is replaced.
        episode_trigger: Says for `episode_index` whether to write
            `{name_prefix}-episode-{episode_index}.mp4`. Without either trigger, it is
            `capped_cubic_video_schedule`.
        step_trigger: Says for the number of a step whether to write
            `{name_prefix}-step-{number}.mp4`, which begins with that step's frame.
        video_length: Maximum number of frames of a video; None for all.
        name_prefix: Prefix of the files' names.
        episode_index: Index of the episode.
        step_starting_index: Number of the first frame's step.
        save_logger: Any string, such as "bar", prints the files' names; None does not.
        **kwargs: `fps`, frames per second; or `durations`, a list of equal durations of frames in
            seconds.

    Raises:
        ArgumentTypeError: `frames` is not a list, or there is another keyword.
        InvalidArgument: There are no frames, or neither `fps` nor `durations`.

    Example:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array_list")
        >>> observation, info = env.reset(seed=1)
        >>> for _ in range(5):
        ...     result = env.step(env.action_space.sample())
        >>> save_video(env.render(), "videos", fps=env.metadata["render_fps"])
        >>> import os
        >>> os.listdir("videos")
        ['rl-video-episode-0.mp4']
    """
    if not isinstance(frames, list):
        raise error.ArgumentTypeError(
            f"frames: Expected a list of frames, got a {type(frames)} instead."
        )
    fps = _frames_per_second(dict(kwargs))
    if episode_trigger is None and step_trigger is None:
        episode_trigger = capped_cubic_video_schedule
    path_prefix = f"{os.path.abspath(video_folder)}/{name_prefix}"
    os.makedirs(os.path.abspath(video_folder), exist_ok=True)
    stretches: list[tuple[str, int]] = []
    if episode_trigger is not None and episode_trigger(episode_index):
        stretches.append((f"{path_prefix}-episode-{episode_index}.mp4", 0))
    if step_trigger is not None:
        for k in range(len(frames)):
            if step_trigger(step_starting_index + k):
                stretches.append((f"{path_prefix}-step-{step_starting_index + k}.mp4", k))
    if stretches and not frames:
        raise error.InvalidArgument("frames: expected at least one frame, got an empty list")
    for path, first in stretches:
        last = len(frames) if video_length is None else first + video_length
        with VideoWriter(path, fps) as video:
            for frame in frames[first:last]:
                video.write(frame)
        if save_logger is not None:
            print(f"Saved {path} ({video.frames} frames)")


def _frames_per_second(kwargs: dict[str, Any]) -> float:
    """Return the frame rate, given the keywords of `save_video`."""
    fps, durations = kwargs.pop("fps", None), kwargs.pop("durations", None)
    if kwargs:
        raise error.ArgumentTypeError(
            f"save_video() got an unexpected keyword argument {next(iter(kwargs))!r}"
        )
    if fps is not None:
        return float(fps)
    if durations is None:
        raise error.InvalidArgument("Please provide either 'fps' or 'durations'.")
    if not isinstance(durations, (Sequence, np.ndarray)) or not len(durations):
        raise error.ArgumentTypeError(f"durations: expected a list of seconds, got {durations!r}")
    if not np.allclose(durations, durations[0]):
        raise error.InvalidArgument("durations: expected the same duration for every frame")
    return 1.0 / float(durations[0])
