"""Videos from lists of frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import positive
from gymcore.rendering.recorder import Recorder, capped_cubic_video_schedule
from gymcore.specs.env_spec import Kwargs

__all__ = ["capped_cubic_video_schedule", "save_video"]


def save_video(
    frames: list[npt.NDArray[np.uint8]],
    video_folder: str,
    episode_trigger: Callable[[int], bool] | None = None,
    step_trigger: Callable[[int], bool] | None = None,
    video_length: int | None = None,
    name_prefix: str = "rl-video",
    episode_index: int = 0,
    step_starting_index: int = 0,
    save_logger: str | None = None,
    **kwargs: object,
) -> None:
    """Write the frames of one episode to MP4 files.

    Call it at the end of an episode of an environment with `render_mode="rgb_array_list"`. The
    wrapper `RecordVideo` does not need a list of frames.

    Args:
        frames: A list of frames, uint8 [height, width, 3].
        video_folder: Folder for the files, created if missing. A file of the same name is
            replaced.
        episode_trigger: Takes `episode_index` and returns whether to write
            `{name_prefix}-episode-{episode_index}.mp4`. If neither trigger is given, it is
            `capped_cubic_video_schedule`.
        step_trigger: Takes the number of a step and returns whether to write
            `{name_prefix}-step-{number}.mp4`, which begins with that step's frame.
        video_length: Maximum number of frames of a video; None for all.
        name_prefix: Prefix of the file names.
        episode_index: Index of the episode.
        step_starting_index: Step number of the first frame.
        save_logger: A string, such as "bar", to print the file names; None to print nothing.
        **kwargs: `fps`, the frames per second; or `durations`, a list of equal durations of
            frames in seconds.

    Raises:
        ArgumentTypeError: If `frames` is not a list, or there is another keyword.
        InvalidArgument: If there are no frames, or neither `fps` nor `durations` is given, or
            `video_length` is less than 1.

    Examples:
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
    if video_length is not None:
        video_length = positive("video_length", video_length)
    recorder = Recorder(
        video_folder,
        name_prefix,
        fps=_frames_per_second(kwargs),
        episode_trigger=episode_trigger,
        step_trigger=step_trigger,
        disable_logger=save_logger is None,
    )
    os.makedirs(recorder.video_folder, exist_ok=True)
    videos: list[tuple[str, int]] = []
    if recorder.episode_trigger is not None and recorder.episode_trigger(episode_index):
        videos.append((f"{name_prefix}-episode-{episode_index}", 0))
    if step_trigger is not None:
        for k in range(len(frames)):
            if step_trigger(step_starting_index + k):
                videos.append((f"{name_prefix}-step-{step_starting_index + k}", k))
    if videos and not frames:
        raise error.InvalidArgument("frames: expected at least one frame, got an empty list")
    for name, first in videos:
        last = len(frames) if video_length is None else first + video_length
        recorder.start_recording(name)
        try:
            for frame in frames[first:last]:
                recorder.add([frame])
        finally:
            recorder.finish()


def _frames_per_second(kwargs: Kwargs) -> float:
    """Return the frame rate for the keyword arguments of `save_video`."""
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
