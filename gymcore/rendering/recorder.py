"""Recording of video files: selection of episodes and steps, file names and lengths."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.rendering.tiling import Tiling, columns_for
from gymcore.rendering.video_files import VIDEO_FORMATS, VideoWriter, as_rgb

Trigger = Callable[[int], bool]


def capped_cubic_video_schedule(episode_id: int) -> bool:
    """Return whether to record an episode: 0, 1, 8, 27, ... up to 729, then 1000, 2000, 3000, ...

    Args:
        episode_id: Index of the episode, at least 0.

    Examples:
        >>> [i for i in range(2500) if capped_cubic_video_schedule(i)]
        [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000]
    """
    if episode_id < 1000:
        return bool(round(episode_id ** (1.0 / 3)) ** 3 == episode_id)
    return episode_id % 1000 == 0


def always(episode: int) -> bool:
    """Return True."""
    return True


class RecordedFrames:
    """The frames of a video, which are in its file: only their number is known."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> NoReturn:
        raise error.ArgumentTypeError(
            "recorded_frames: frames go into the video file and are not kept; only len() is known"
        )


class Recorder:
    """Records one video after another, with only one frame in memory.

    A file appears under its name when it is complete. The frames of several lanes are arranged in a
    grid. Everything that records videos uses this class; the wrappers `RecordVideo` derive from it.

    Attributes:
        episode_trigger: Takes the number of an episode and returns whether to record it; or None.
        step_trigger: Takes the number of a step and returns whether to begin a video; or None.
        gc_trigger: Takes the number of an episode; returns whether to collect garbage after it.
        video_folder: Folder for the files, an absolute path.
        name_prefix: Prefix of the file names.
        video_length: A video ends when it has more frames than this; infinite for whole episodes.
        frames_per_sec: Frames per second of the videos.
        format: "mp4" or "gif".
        disable_logger: Whether to suppress printing the file names.
        recording: Whether a video is being recorded.
        step_id: Number of the last step of this recorder; -1 before the first.
        episode_id: Number of the current episode; -1 before the first.
        frame_cols: Number of columns in the grid of lanes; -1 before the first frame.
        frame_rows: Number of rows in the grid of lanes; -1 before the first frame.
    """

    recording = False
    _writer: VideoWriter | None = None
    _not_state: tuple[str, ...] = ("recording", "_writer")  # of an environment with this recorder

    def __init__(
        self,
        video_folder: str = ".",
        name_prefix: str = "rl-video",
        *,
        fps: float,
        format: str = "mp4",
        episode_trigger: Trigger | None = None,
        step_trigger: Trigger | None = None,
        gc_trigger: Trigger | None = None,
        video_length: float = 0,
        disable_logger: bool = True,
        overwrite: bool = True,
        aspect_ratio: float = 1.0,
        first_only: bool = False,
    ) -> None:
        """Check and store the arguments, most of which the attributes describe.

        If neither trigger is given, `capped_cubic_video_schedule` is used for episodes. A
        `video_length` of 0 means whole episodes. `overwrite` tells whether existing files are
        replaced. `aspect_ratio` is the desired ratio of width to height of the grid of lanes;
        `first_only` tells whether only the first lane is recorded.

        Raises:
            InvalidArgument: If the format is unknown, or the length is negative.
            ArgumentTypeError: If the length is not a number, or a trigger is not a function.
        """
        if format not in VIDEO_FORMATS:
            raise error.InvalidArgument(f"format: expected 'mp4' or 'gif', got {format!r}")
        if isinstance(video_length, bool) or not isinstance(video_length, (int, float)):
            raise error.ArgumentTypeError(f"video_length: expected int, got {type(video_length)}")
        if video_length < 0:
            raise error.InvalidArgument(f"video_length: expected at least 0, got {video_length}")
        triggers = {"episode": episode_trigger, "step": step_trigger, "gc": gc_trigger}
        for name, trigger in triggers.items():
            if trigger is not None and not callable(trigger):
                raise error.ArgumentTypeError(
                    f"{name}_trigger: expected a function of a number, or None, got {type(trigger)}"
                )
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.episode_trigger = episode_trigger
        self.step_trigger = step_trigger
        self.gc_trigger = gc_trigger
        self.disable_logger = disable_logger
        self.format = format
        self.video_folder = os.path.abspath(video_folder)
        self.name_prefix = name_prefix
        self.frames_per_sec = fps
        self.video_length = video_length if video_length != 0 else float("inf")
        self.step_id = self.episode_id = -1
        self.frame_cols = self.frame_rows = -1
        self._overwrite, self._aspect_ratio = overwrite, aspect_ratio
        self._lanes_recorded = 1 if first_only else None
        self._tiling: Tiling | None = None
        self._history: list[list[object]] = []  # frames taken from the lists of each lane

    @property
    def recorded_frames(self) -> RecordedFrames:
        """The frames of the current video, of which only the number is known."""
        return RecordedFrames(0 if self._writer is None else self._writer.frames)

    def begin_episode(self) -> None:
        """Count an episode: end the last episode's video, and begin one if triggered."""
        self.episode_id += 1
        if self.recording and self.video_length == float("inf"):
            self.stop_recording()
        if self.episode_trigger and self.episode_trigger(self.episode_id):
            self.start_recording(f"{self.name_prefix}-episode-{self.episode_id}")

    def count_step(self) -> None:
        """Count a step, and begin a video if triggered."""
        self.step_id += 1
        if self.step_trigger and self.step_trigger(self.step_id):
            self.start_recording(f"{self.name_prefix}-step-{self.step_id}")

    def start_recording(self, video_name: str) -> None:
        """Begin a video with this name, without suffix. A video being recorded is finished."""
        self.begin(os.path.join(self.video_folder, f"{video_name}.{self.format}"))

    def begin(self, path: str | os.PathLike[str]) -> None:
        """Begin a video at a path with the suffix .mp4 or .gif. A video being recorded is finished.

        Raises the same errors as `VideoWriter`.
        """
        self.finish()
        self._writer = VideoWriter(path, self.frames_per_sec, overwrite=self._overwrite)
        self.recording = True

    def stop_recording(self) -> None:
        """Finish the video file; without frames there is no file."""
        if not self.recording or self._writer is None:
            raise error.FailedCheck("stop_recording was called, but no recording was started")
        writer, self._writer = self._writer, None
        self.recording = False
        if not writer.frames:
            logger.warn("Ignored saving a video as there were zero frames to save.")
        writer.close()
        if writer.frames and not self.disable_logger:
            print(f"Saved {writer.path} ({writer.frames} frames)")
        if self.gc_trigger and self.gc_trigger(self.episode_id):
            gc.collect()

    def finish(self) -> None:
        """Finish the file, if a video is being recorded."""
        if self.recording:
            self.stop_recording()

    def discard(self) -> None:
        """Abort the current video, if any, without leaving a file."""
        writer, self._writer = self._writer, None
        self.recording = False
        if writer is not None:
            writer.discard()

    def record(self, lanes: Sequence[object]) -> None:
        """Add a frame as `add` does, and end the video if it is long enough.

        A frame that cannot be recorded ends the video with a warning instead of an error.
        """
        try:
            self.add(lanes)
        except (error.InvalidArgument, error.ArgumentTypeError) as exc:
            if not self.recording:
                raise
            self.stop_recording()
            logger.warn(f"Recording stopped: {exc}")
        if len(self.recorded_frames) > self.video_length:
            self.stop_recording()

    def add(self, lanes: Sequence[object]) -> None:
        """Add one frame to the video: the frames of all lanes in a grid.

        Args:
            lanes: Result of `render` for each lane: a frame for `as_rgb`, or a list. The last frame
                of a list is recorded; `with_history` returns all of them later.

        Raises:
            FailedCheck: If no video is being recorded.
            ArgumentTypeError: If a lane has no array of numbers. The video can be continued.
            InvalidArgument: If frames have another shape, or other sizes than before.
            VideoEncodingFailed: If the file cannot be written. The recording has ended.
        """
        if self._writer is None:
            raise error.FailedCheck("Cannot capture a frame, recording wasn't started.")
        lists = [lane for lane in lanes if isinstance(lane, list)]
        if len(lists) == len(lanes):
            if not all(lists):
                logger.warn(
                    "Trying to capture render frame but 'env.render()' has just been called. "
                    "The frame cannot be captured."
                )
                return
            self._history = self.with_history(lists)
            lanes = [lane[-1] for lane in lists]
        frames = []
        for frame in lanes[: self._lanes_recorded]:
            if not isinstance(frame, np.ndarray):
                raise error.ArgumentTypeError(
                    "expected type of frame returned by render to be a numpy array, got instead "
                    f"{type(frame)}."
                )
            frames.append(as_rgb(frame))
        image = self._side_by_side(frames)
        try:
            self._writer.write(image)
        except (error.InvalidArgument, error.ArgumentTypeError):
            raise
        except BaseException:
            self.recording, self._writer = False, None
            raise

    def with_history(self, lanes: Sequence[list[object]]) -> list[list[object]]:
        """Return the frames of each lane, preceded by those that recording took from its lists."""
        history, self._history = self._history or [[] for _ in lanes], []
        return [before + lane for before, lane in zip(history, lanes, strict=True)]

    def _side_by_side(self, frames: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
        if len(frames) == 1:
            self.frame_cols = self.frame_rows = 1
            return frames[0]
        sizes = {frame.shape[:2] for frame in frames}
        if len(sizes) > 1:
            raise error.InvalidArgument(f"lanes have frames of different sizes: {sorted(sizes)}")
        ((height, width),) = sizes
        tiling = self._tiling
        if tiling is None or (tiling.height, tiling.width) != (height, width):
            columns = columns_for(len(frames), height, width, self._aspect_ratio)
            tiling = self._tiling = Tiling(len(frames), height, width, columns)
            self.frame_cols, self.frame_rows = tiling.columns, tiling.rows
        return tiling(frames)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes for a copy, which records nothing until its next video begins."""
        return {**self.__dict__, "recording": False, "_writer": None}

    def __del__(self) -> None:
        """Finish the file, and warn that its owner should have done so."""
        writer = self._writer
        if self.recording and writer is not None and not writer.closed:
            try:
                self.stop_recording()
            finally:
                if writer.frames:
                    warnings.warn(
                        f"{type(self).__name__} was deleted while it recorded {writer.path}, which "
                        f"has been saved with {writer.frames} frames. Did you call close()?",
                        stacklevel=2,
                    )


def make_video_folder(folder: str) -> None:
    """Create a folder for videos; if it exists, warn that its files may be replaced."""
    if os.path.isdir(folder):
        logger.warn(
            f"Overwriting existing videos at {folder} folder (try specifying a different "
            "`video_folder` for the `RecordVideo` wrapper if this is not desired)"
        )
    os.makedirs(folder, exist_ok=True)
