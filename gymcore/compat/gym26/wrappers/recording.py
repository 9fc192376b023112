"""Rendering wrappers of Gym 0.26, and `Monitor` of Gym 0.21."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from gymcore import error, logger
from gymcore.base.arguments import count
from gymcore.base.new_file import NewFile
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.compat.gym26.core import Wrapper
from gymcore.compat.old_envs import modern_metadata
from gymcore.core import Env, Info, Options
from gymcore.rendering.recorder import (
    Recorder,
    capped_cubic_video_schedule,
    make_video_folder,
)
from gymcore.wrappers import rendering

__all__ = [
    "HumanRendering",
    "Monitor",
    "RecordVideo",
    "RenderCollection",
    "VideoRecorder",
    "capped_cubic_video_schedule",
]


class HumanRendering(rendering.HumanRendering, Wrapper):
    """Show the frames of an environment with render mode "rgb_array" in a window."""

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment and show the first frame."""
        result: tuple[object, Info] = self.env.reset(**kwargs)
        self._render_frame()
        return result


class RenderCollection(rendering.RenderCollection, Wrapper):
    """Collect a frame at each reset and step; `render` returns them as a list."""

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment and collect the first frame."""
        result: tuple[object, Info] = self.env.reset(**kwargs)
        self._collect_first()
        return result


class VideoRecorder:
    """Writes frames of an environment to an MP4 or GIF file, one per call of `capture_frame`.

    A JSON file with `metadata` is written next to the video. Each frame is encoded immediately.

    Attributes:
        path: Path of the video.
        metadata: Contents of the JSON file.
        metadata_path: Path of the JSON file.
        frames_per_sec: `env.metadata["render_fps"]`, or 30 if it is missing.
        broken: Whether `render` returned no frame.
    """

    def __init__(
        self,
        env: Any,
        path: str | None = None,
        metadata: Options = None,
        enabled: bool = True,
        base_path: str | None = None,
    ) -> None:
        """Open a file for an environment that renders images.

        Args:
            env: The environment; for a vector environment, the first lane is recorded.
            path: Path of the video, which ends in .mp4 or .gif.
            metadata: Entries of the JSON file.
            enabled: Whether to record at all.
            base_path: Path of the video without ".mp4", instead of `path`. If neither is given, the
                file is temporary.

        Raises:
            Error: If both paths are given, or `path` has another suffix.
        """
        self.env = env
        self.enabled = enabled
        self.broken = False
        self._recorder: Recorder | None = None
        if not enabled:
            return
        if path is not None and base_path is not None:
            raise error.Error("You can pass at most one of `path` or `base_path`.")
        if base_path is not None:
            path = f"{base_path}.mp4"
        elif path is None:
            handle, path = tempfile.mkstemp(suffix=".mp4")
            os.close(handle)
        self.path = str(path)
        base, suffix = os.path.splitext(self.path)
        if suffix not in (".mp4", ".gif"):
            raise error.Error(f"path: expected a name that ends in .mp4 or .gif, got {self.path!r}")
        self.frames_per_sec = self.output_frames_per_sec = modern_metadata(env.metadata).get(
            "render_fps", 30
        )
        self.metadata = {**(metadata or {}), "content_type": f"video/{suffix[1:]}"}
        self.metadata_path = f"{base}.meta.json"
        self._write_metadata()
        self._recorder = Recorder(fps=self.output_frames_per_sec)
        self._recorder.begin(self.path)

    @property
    def functional(self) -> bool:
        """Whether frames are recorded."""
        return self.enabled and not self.broken

    def capture_frame(self) -> None:
        """Render the environment and write the frame; raise an error after `close`."""
        if not self.functional:
            return
        if self._recorder is None:
            raise error.ClosedEnvironmentError(f"the video {self.path} is finished")
        frame = self._render()
        if isinstance(frame, tuple) and frame:  # from a vector environment
            frame = frame[0]
        if isinstance(frame, list):
            frame = frame[-1] if frame else None
        if frame is None:
            self.broken = True
            logger.warn(
                "Env returned None on `render()`. Disabling further rendering for video recorder "
                "by marking as disabled."
            )
            return
        self._recorder.add([frame])

    def _render(self) -> object:
        return self.env.render()

    def close(self) -> None:
        """Finish the file; further calls do nothing."""
        if self._recorder is None:
            return
        recorder, self._recorder = self._recorder, None
        if recorder.recorded_frames:
            recorder.finish()
        else:
            recorder.discard()
            self.metadata["empty"] = True
        if self.broken:
            self.metadata["broken"] = True
        self._write_metadata()

    def __getstate__(self) -> Info:
        """Return the attributes for a copy, which records nothing."""
        return {**self.__dict__, "enabled": False, "_recorder": None}

    def __del__(self) -> None:
        recorder = self.__dict__.get("_recorder")
        if recorder is not None:
            recorder.finish()

    def _write_metadata(self) -> None:
        with NewFile(self.metadata_path) as file:
            file.part.write_text(json.dumps(self.metadata))


class RecordVideo(Wrapper, RecordConstructorArgs):
    """Record videos of selected episodes, or starting at selected steps (Gym 0.26).

    A video ends in the step that ends its episode, or after `video_length` further frames. For a
    vector environment, the first lane is recorded. Videos of `gymcore.wrappers.RecordVideo`, which
    is Gymnasium's wrapper, end with the next reset.

    Attributes:
        video_recorder: The `VideoRecorder` of the current or last video, or None.
        recording: Whether a video is being recorded.
        recorded_frames: Number of frames in the current video.
        step_id: Number of steps so far.
        episode_id: Number of completed episodes.
    """

    _recorder_class: ClassVar[type[VideoRecorder]] = VideoRecorder
    _not_state = ("recording", "recorded_frames", "video_recorder")

    def __init__(
        self,
        env: Any,
        video_folder: str,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
    ) -> None:
        """Wrap an environment or vector environment that renders images.

        The arguments are those of `gymcore.wrappers.RecordVideo`, except that `video_length` counts
        the frames after the first. Giving both triggers raises `FailedCheck` (an
        `AssertionError`).
        """
        Wrapper.__init__(self, env)
        self.is_vector_env = getattr(env, "is_vector_env", False)
        self.video_length = count("video_length", video_length)
        if episode_trigger is not None and step_trigger is not None:
            raise error.FailedCheck("Must specify exactly one trigger, got two")
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        self.episode_trigger = episode_trigger
        self.step_trigger = step_trigger
        self.video_recorder: VideoRecorder | None = None
        self.video_folder = os.path.abspath(video_folder)
        make_video_folder(self.video_folder)
        self.name_prefix = name_prefix
        self.step_id = 0
        self.recording = False
        self.terminated = False
        self.truncated = False
        self.recorded_frames = 0
        self.episode_id = 0

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment, and begin a video if triggered."""
        result: tuple[object, Info] = self.env.reset(**kwargs)
        self.terminated = self.truncated = False
        if self.recording:
            self._capture()
        elif self._video_enabled():
            self.start_video_recorder()
        return result

    def step(self, action: object) -> Any:
        """Step the environment, and record a frame (for a batch, that of the first lane)."""
        result = self.env.step(action)
        if self.terminated or self.truncated:
            return result
        first, last = result[2], result[-2]  # terminated and truncated, or done twice
        if self.is_vector_env:  # autoreset has started the first lane's next episode
            ended = bool(first[0] or last[0])
        else:
            self.terminated, self.truncated = bool(first), bool(last)
            ended = self.terminated or self.truncated
        self.step_id += 1
        self.episode_id += ended
        if self.recording:
            if not self._capture() and ended and self.video_length <= 0:
                self.close_video_recorder()
        elif (not ended or self.step_trigger or self.is_vector_env) and self._video_enabled():
            self.start_video_recorder()
        return result

    def start_video_recorder(self) -> None:
        """Finish the current video, and begin one with the current frame."""
        self.close_video_recorder()
        number = f"step-{self.step_id}" if self.step_trigger else f"episode-{self.episode_id}"
        self.video_recorder = self._recorder_class(
            self.env,
            base_path=os.path.join(self.video_folder, f"{self.name_prefix}-{number}"),
            metadata={"step_id": self.step_id, "episode_id": self.episode_id},
        )
        self.video_recorder.capture_frame()
        self.recorded_frames = 1
        self.recording = True

    def close_video_recorder(self) -> None:
        """Finish the current video, if there is one."""
        recorder = self.__dict__.get("video_recorder")
        if self.__dict__.get("recording") and recorder is not None:
            recorder.close()
        self.recording = False
        self.recorded_frames = 1

    def close(self) -> None:
        """Finish the video and close the environment."""
        self.close_video_recorder()
        super().close()

    def _video_enabled(self) -> bool:
        """Return whether a recording starts now."""
        if self.step_trigger is not None:
            return self.step_trigger(self.step_id)
        return self.episode_trigger is not None and self.episode_trigger(self.episode_id)

    def _capture(self) -> bool:
        """Record a frame; return whether this completed `video_length`."""
        assert self.video_recorder is not None
        self.video_recorder.capture_frame()
        self.recorded_frames += 1
        if 0 < self.video_length < self.recorded_frames:
            self.close_video_recorder()
            return True
        return False


FILE_PREFIX = "openaigym"


class Monitor(Wrapper, RecordConstructorArgs):
    """Write videos of selected episodes, and returns and lengths of all, to a folder (Gym 0.21).

    `step` may return four or five values, which are passed through unchanged.

    The files are `openaigym.video.N.PID.videoNNNNNN.mp4`, each with a `.meta.json` file, and
    `openaigym.episode_batch.N.PID.stats.json`, which `close` writes if an episode was started.
    Gym's manifest file, which was needed for uploads to its website, is not written.

    Examples:
        >>> import gymcore as gym
        >>> env = Monitor(gym.make("CartPole-v1"), "run", video_callable=False)
        >>> observation, info = env.reset(seed=1)
        >>> result = env.step(0)
        >>> env.close()
        >>> env.get_episode_lengths(), env.get_total_steps()
        ([1], 1)
    """

    _recorder_class: ClassVar[type[VideoRecorder]] = VideoRecorder
    _not_state = ("video_recorder",)

    def __init__(
        self,
        env: Env,
        directory: str,
        video_callable: Callable[[int], bool] | bool | None = None,
        force: bool = False,
        resume: bool = False,
        write_upon_reset: bool = False,
        uid: str | None = None,
        mode: str | None = None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment, which must render images if videos are recorded.
            directory: Folder for the files, created if missing.
            video_callable: Takes the number of an episode and returns whether to record it. None
                for `capped_cubic_video_schedule`, False for no videos.
            force: Whether to remove the files of an earlier run.
            resume: Whether to keep the files of an earlier run.
            write_upon_reset: Whether to write the statistics at each reset as well.
            uid: Part of the file names, instead of the process id.
            mode: "training" (the default) or "evaluation"; stored in the statistics.

        Raises:
            Error: If the folder contains files of an earlier run, and neither `force` nor `resume`
                is set.
            InvalidArgument: If `mode` is unknown.
            ArgumentTypeError: If `video_callable` is not a function.
        """
        Wrapper.__init__(self, env)
        if mode not in (None, "evaluation", "training"):
            raise error.InvalidArgument(
                f"mode: expected 'evaluation', 'training' or None, got {mode!r}"
            )
        if video_callable is None:
            video_callable = capped_cubic_video_schedule
        elif video_callable is not False and not callable(video_callable):
            raise error.ArgumentTypeError(
                f"video_callable: expected a function, None or False, got {video_callable!r}"
            )
        self.directory = os.path.abspath(directory)
        self.video_callable = video_callable
        self.write_upon_reset = write_upon_reset
        folder = Path(self.directory)
        folder.mkdir(parents=True, exist_ok=True)
        old = sorted(folder.glob(f"{FILE_PREFIX}.*"))
        if old and force:
            for file in old:
                file.unlink()
        elif old and not resume:
            raise error.Error(
                f"Trying to write to monitor directory {directory} with existing monitor files: "
                f"{', '.join(file.name for file in old[:3])}.\n\n You should use a unique "
                "directory for each training run, or use 'force=True' to automatically clear "
                "previous monitor files."
            )
        self.file_infix = f"{len(old) if resume else 0}.{uid or os.getpid()}"
        self.videos: list[tuple[str, str]] = []
        self.video_recorder: VideoRecorder | None = None
        self.episode_id = 0
        self._reward = 0.0
        self._steps: int | None = None  # in the current episode
        self._type = (mode or "training")[0]
        self._statistics: Info = {
            "initial_reset_timestamp": time.time(),
            "timestamps": [],
            "episode_lengths": [],
            "episode_rewards": [],
            "episode_types": [],
        }

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment, and begin a video if triggered."""
        self._end_episode()
        result: tuple[object, Info] = self.env.reset(**kwargs)
        self._steps, self._reward = 0, 0.0
        if self.write_upon_reset:
            self._write()
        if self.video_callable and self.video_callable(self.episode_id):
            name = f"{FILE_PREFIX}.video.{self.file_infix}.video{self.episode_id:06}"
            self.video_recorder = self._recorder_class(
                self.env,
                base_path=os.path.join(self.directory, name),
                metadata={"episode_id": self.episode_id},
            )
            self.videos.append((self.video_recorder.path, self.video_recorder.metadata_path))
            self.video_recorder.capture_frame()
        return result

    def step(self, action: object) -> Any:
        """Step the environment."""
        result = self.env.step(action)
        if self._steps is not None:
            self._steps += 1
            self._reward += float(result[1])
            if self.video_recorder is not None:
                self.video_recorder.capture_frame()
            if any(result[2:-1]):
                self._end_episode()
        return result

    def close(self) -> None:
        """Finish the video, write the statistics and close the environment."""
        if "_statistics" in self.__dict__:
            self._end_episode()
            if self._statistics["episode_lengths"]:
                self._write()
        super().close()

    def get_total_steps(self) -> int:
        """Return the number of steps so far."""
        return sum(self._statistics["episode_lengths"]) + (self._steps or 0)

    def get_episode_rewards(self) -> list[float]:
        """Return the returns of the episodes so far."""
        return list(self._statistics["episode_rewards"])

    def get_episode_lengths(self) -> list[int]:
        """Return the lengths of the episodes so far."""
        return list(self._statistics["episode_lengths"])

    def _end_episode(self) -> None:
        """Record an episode that has ended or was cut short."""
        if self.video_recorder is not None:
            self.video_recorder.close()
            self.video_recorder = None
        if self._steps:
            statistics = self._statistics
            statistics["episode_lengths"].append(self._steps)
            statistics["episode_rewards"].append(self._reward)
            statistics["timestamps"].append(time.time())
            statistics["episode_types"].append(self._type)
            self.episode_id += 1
        self._steps = None

    def _write(self) -> None:
        name = f"{FILE_PREFIX}.episode_batch.{self.file_infix}.stats.json"
        with NewFile(Path(self.directory, name)) as file:
            file.part.write_text(json.dumps(self._statistics))
