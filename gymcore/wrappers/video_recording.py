"""What the two RecordVideo wrappers share: when a video begins and ends, and its file."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gymcore import error, logger
from gymcore.utils.save_video import capped_cubic_video_schedule
from gymcore.rendering.video_files import VIDEO_FORMATS, VideoWriter, find_ffmpeg

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["RecordedFrames", "VideoRecording", "always"]

Trigger = Callable[[int], bool]


def always(episode: int) -> bool:
    """Return True."""
    return True


class RecordedFrames:
    """How many frames the video has so far: they went to the encoder, and only this was kept.

    Example:
        >>> len(RecordedFrames(3)), bool(RecordedFrames(0))
        (3, False)
    """

    def __init__(self, count: int) -> None:
        """Keep the number of frames."""
        self._count = count

    def __len__(self) -> int:
        """Return the number of frames."""
        return self._count

    def __iter__(self) -> Any:
        raise error.ArgumentTypeError(
            "recorded_frames: frames go into the video file and are not kept; only len() is known"
        )

    def __getitem__(self, index: Any) -> Any:
        iter(self)

    def __repr__(self) -> str:
        return f"<{self._count} frames in the video file>"


class VideoRecording:
    """A mixin that writes the frames it is given to one video after another.

    Attributes:
        episode_trigger: Says whether to record an episode, by its number.
        step_trigger: Says whether to begin a video at a step, by its number.
        video_folder: Where the files go, an absolute path.
        name_prefix: How their names begin.
        video_length: A video ends when it has more frames than that; infinite for whole episodes.
        frames_per_sec: Of the videos.
        format: "mp4" or "gif".
        recording: Whether a video is being recorded.
        step_id: Number of the last step since the wrapper was made; -1 before the first.
        episode_id: Number of the current episode.
    """

    recording = False
    _writer: VideoWriter | None = None

    def _prepare_recording(
        self,
        env: Any,
        video_folder: str,
        episode_trigger: Trigger | None,
        step_trigger: Trigger | None,
        video_length: int,
        name_prefix: str,
        fps: int | None,
        disable_logger: bool,
        gc_trigger: Trigger | None,
        format: str,
    ) -> None:
        """Check and keep the arguments, and make the folder."""
        if env.render_mode in {None, "human", "ansi"}:
            raise error.InvalidArgument(
                f"Render mode is {env.render_mode}, which is incompatible with RecordVideo. "
                "Initialize your environment with a render_mode that returns an image, such as "
                "rgb_array."
            )
        if format not in VIDEO_FORMATS:
            raise error.InvalidArgument(f"format: expected 'mp4' or 'gif', got {format!r}")
        if isinstance(video_length, bool) or not isinstance(video_length, (int, float)):
            raise error.ArgumentTypeError(f"video_length: expected int, got {type(video_length)}")
        if video_length < 0:
            raise error.InvalidArgument(f"video_length: expected at least 0, got {video_length}")
        for name, trigger in (
            ("episode_trigger", episode_trigger),
            ("step_trigger", step_trigger),
            ("gc_trigger", gc_trigger),
        ):
            if trigger is not None and not callable(trigger):
                raise error.ArgumentTypeError(
                    f"{name}: expected a function of a number, or None, got {type(trigger)}"
                )
        find_ffmpeg()
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.episode_trigger = episode_trigger
        self.step_trigger = step_trigger
        self.disable_logger = disable_logger
        self.gc_trigger = gc_trigger
        self.format = format
        self.video_folder = os.path.abspath(video_folder)
        if os.path.isdir(self.video_folder):
            logger.warn(
                f"Overwriting existing videos at {self.video_folder} folder (try specifying a "
                "different `video_folder` for the `RecordVideo` wrapper if this is not desired)"
            )
        os.makedirs(self.video_folder, exist_ok=True)
        self.frames_per_sec = env.metadata.get("render_fps", 30) if fps is None else fps
        self.name_prefix = name_prefix
        self._video_name: str | None = None
        self.video_length = video_length if video_length != 0 else float("inf")
        self.recording = False
        self.step_id = -1
        self.episode_id = -1

    @property
    def recorded_frames(self) -> RecordedFrames:
        """The frames of the current video: only how many there are is known."""
        return RecordedFrames(0 if self._writer is None else self._writer.frames)

    def _add_frame(self, frame: npt.NDArray[np.uint8]) -> None:
        """Write a frame, and end the video if it is long enough."""
        assert self._writer is not None
        try:
            self._writer.write(frame)
        except (error.InvalidArgument, error.ArgumentTypeError) as exc:
            self.stop_recording()
            logger.warn(f"Recording stopped: {exc}")
        except BaseException:
            self.recording, self._writer, self._video_name = False, None, None
            raise

    def _stop_if_long_enough(self) -> None:
        """End the video once it has more than `video_length` frames."""
        if self.recording and len(self.recorded_frames) > self.video_length:
            self.stop_recording()

    def _episode_began(self) -> None:
        """Count an episode; end the last one's video and begin another if triggered."""
        self.episode_id += 1
        if self.recording and self.video_length == float("inf"):
            self.stop_recording()
        if self.episode_trigger and self.episode_trigger(self.episode_id):
            self.start_recording(f"{self.name_prefix}-episode-{self.episode_id}")

    def _step_made(self) -> None:
        """Count a step; begin a video if triggered."""
        self.step_id += 1
        if self.step_trigger and self.step_trigger(self.step_id):
            self.start_recording(f"{self.name_prefix}-step-{self.step_id}")

    def start_recording(self, video_name: str) -> None:
        """Begin a video. If one is being recorded, it ends.

        Args:
            video_name: Name of the file, without its suffix.
        """
        if self.recording:
            self.stop_recording()
        path = os.path.join(self.video_folder, f"{video_name}.{self.format}")
        self._writer = VideoWriter(path, self.frames_per_sec)
        self.recording = True
        self._video_name = video_name

    def stop_recording(self) -> None:
        """End the video and finish its file.

        Raises:
            FailedCheck: (also an `AssertionError`) if none is being recorded.
            VideoEncodingFailed: if ffmpeg has failed.
        """
        if not self.recording or self._writer is None:
            raise error.FailedCheck("stop_recording was called, but no recording was started")
        writer, self._writer = self._writer, None
        self.recording = False
        self._video_name = None
        if not writer.frames:
            logger.warn("Ignored saving a video as there were zero frames to save.")
        writer.close()
        if writer.frames and not self.disable_logger:
            print(f"Saved {writer.path} ({writer.frames} frames)")
        if self.gc_trigger and self.gc_trigger(self.episode_id):
            gc.collect()

    def _stop_after_error(self) -> None:
        """Finish the file of an environment that has just raised: nothing may follow."""
        if self.recording:
            self.stop_recording()

    def __del__(self) -> None:
        """Finish the file, and say that `close` should have done it."""
        if self.recording and self._writer is not None and not self._writer.closed:
            path, frames = self._writer.path, self._writer.frames
            try:
                self.stop_recording()
            finally:
                if frames:
                    warnings.warn(
                        f"RecordVideo was deleted while it recorded {path}, which has been saved "
                        f"with {frames} frames. Did you call close()?",
                        stacklevel=2,
                    )
