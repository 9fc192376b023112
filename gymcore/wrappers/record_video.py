"""RecordVideo: films an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

import numpy as np

from gymcore import logger
from gymcore.core import ActType, Env, ObsType, Wrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.utils.save_video import capped_cubic_video_schedule
from gymcore.wrappers.legacy_calls import HandsOver
from gymcore.wrappers.video_recording import VideoRecording, always

__all__ = ["RecordVideo", "capped_cubic_video_schedule"]


class RecordVideo(
    VideoRecording, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs, HandsOver
):
    """Film episodes of an environment, or stretches of steps, into mp4 or GIF files.

    Frames go to the encoder as they come: the memory needed is that of one frame, however long the
    video. Files are called `{name_prefix}-episode-{number}.mp4` or `{name_prefix}-step-...` and
    appear when they are whole. `close` finishes the last one; so do an exception in `step`, the
    end of the program, and the deletion of the wrapper, which warns.

    Gym 0.26: given a vector environment, this makes `gymcore.wrappers.legacy.RecordVideo`, which
    films its first lane.

    Attributes:
        render_history: Frames that a render mode ending in "_list" has collected for `render`.

    For the other attributes see `gymcore.wrappers.video_recording.VideoRecording`.

    Example:
        >>> import gymcore
        >>> env = RecordVideo(gymcore.make("CartPole-v1", render_mode="rgb_array"), "films")
        >>> observation, info = env.reset(seed=1)
        >>> for _ in range(5):
        ...     result = env.step(env.action_space.sample())
        >>> len(env.recorded_frames)
        6
        >>> env.close()
        >>> import os
        >>> os.listdir("films")
        ['rl-video-episode-0.mp4']
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        video_folder: str,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: int | None = None,
        disable_logger: bool = True,
        gc_trigger: Callable[[int], bool] | None = always,
        format: str = "mp4",
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a render mode that returns pictures.
            video_folder: Where the files go; made if it is not there.
            episode_trigger: Takes the number of an episode and says whether to film it. Without
                either trigger, episodes 0, 1, 8, 27, ... k**3 and every thousandth are filmed.
            step_trigger: Takes the number of a step and says whether to begin a video with it.
            video_length: Frames after which a video ends, the first one not counted; it may go on
                over several episodes. 0: it ends with its episode.
            name_prefix: How the files' names begin.
            fps: Frames per second; None takes `metadata["render_fps"]`, or 30.
            disable_logger: Do not print the name of every file.
            gc_trigger: Takes the number of an episode and says whether to collect garbage when its
                video is finished.
            format: "mp4" or "gif".

        Raises:
            InvalidArgument: if the render mode returns no pictures, or an argument is impossible.
            DependencyNotInstalled: if imageio-ffmpeg is missing.
        """
        RecordConstructorArgs.__init__(
            self,
            video_folder=video_folder,
            episode_trigger=episode_trigger,
            step_trigger=step_trigger,
            video_length=video_length,
            name_prefix=name_prefix,
            fps=fps,
            disable_logger=disable_logger,
            gc_trigger=gc_trigger,
            format=format,
        )
        Wrapper.__init__(self, env)
        self._prepare_recording(
            env,
            video_folder,
            episode_trigger,
            step_trigger,
            video_length,
            name_prefix,
            fps,
            disable_logger,
            gc_trigger,
            format,
        )
        self.render_history: list[Any] = []

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, and film it if it is time to."""
        try:
            result = self.env.step(action)
        except BaseException:
            self._stop_after_error()
            raise
        self._step_made()
        if self.recording:
            self._capture_frame()
            self._stop_if_long_enough()
        return result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environment, and film it if it is time to."""
        result = self.env.reset(seed=seed, options=options)
        if self.render_history and getattr(self.env, "reset_clean", False):
            # The collector below would have forgotten them too.
            self.render_history = []
        self._episode_began()
        if self.recording:
            self._capture_frame()
            self._stop_if_long_enough()
        return result

    def render(self) -> Any:
        """Render the environment; with a "_list" mode, add the frames that filming has taken."""
        frames = self.env.render()
        if self.render_history and isinstance(frames, list):
            frames = self.render_history + frames
            self.render_history = []
        return frames

    def _capture_frame(self) -> None:
        """Add the current frame to the video."""
        frame: Any = self.env.render()
        if isinstance(frame, list):
            if not frame:  # somebody has rendered since the step
                return
            self.render_history += frame
            frame = frame[-1]
        if isinstance(frame, np.ndarray):
            self._add_frame(frame)
            return
        self.stop_recording()
        logger.warn(
            "Recording stopped: expected type of frame returned by render to be a numpy array, "
            f"got instead {type(frame)}."
        )

    def close(self) -> None:
        """Finish the video and close the environment."""
        try:
            super().close()
        finally:
            if self.recording:
                self.stop_recording()
