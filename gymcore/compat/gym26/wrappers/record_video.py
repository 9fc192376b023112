"""`RecordVideo` of Gym 0.26, of environments and of batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, SupportsFloat

import numpy.typing as npt

from gymcore import error, logger
from gymcore.compat.forwarding import Forwarding, LegacyVectorWrapper, VectorTwin
from gymcore.compat.gym26.wrappers.checks import checked_count
from gymcore.compat.gym26.wrappers.video_recorder import VideoRecorder
from gymcore.core import Env, Wrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.utils.save_video import capped_cubic_video_schedule
from gymcore.vector import VectorEnv

__all__ = ["RecordVideo", "capped_cubic_video_schedule"]


class _Recording:
    """What both forms of `RecordVideo` do: when a recording begins, and when it ends."""

    env: Any
    restarts: ClassVar[bool]
    """Whether the frame after an end is the next episode's."""

    def _prepare(
        self,
        video_folder: str,
        episode_trigger: Callable[[int], bool] | None,
        step_trigger: Callable[[int], bool] | None,
        video_length: int,
        name_prefix: str,
    ) -> None:
        video_length = checked_count("video_length", video_length, 0)
        if episode_trigger is None and step_trigger is None:
            episode_trigger = capped_cubic_video_schedule
        if episode_trigger is not None and step_trigger is not None:
            raise error.FailedCheck("Must specify exactly one trigger, got two")
        self.episode_trigger = episode_trigger
        self.step_trigger = step_trigger
        self.video_recorder: VideoRecorder | None = None
        self.video_folder = os.path.abspath(video_folder)
        if os.path.isdir(self.video_folder):
            logger.warn(
                f"Overwriting existing videos at {self.video_folder} folder "
                "(try specifying a different `video_folder` for the `RecordVideo` wrapper if this "
                "is not desired)"
            )
        os.makedirs(self.video_folder, exist_ok=True)
        self.name_prefix = name_prefix
        self.step_id = 0
        self.video_length = video_length
        self.recording = False
        self.recorded_frames = 0
        self.episode_id = 0

    def _video_enabled(self) -> bool:
        """Whether a recording begins now."""
        if self.step_trigger is not None:
            return bool(self.step_trigger(self.step_id))
        return self.episode_trigger is not None and bool(self.episode_trigger(self.episode_id))

    def start_video_recorder(self) -> None:
        """Begin a video with the frame of now, and end the one before."""
        self.close_video_recorder()
        number = f"step-{self.step_id}" if self.step_trigger else f"episode-{self.episode_id}"
        self.video_recorder = VideoRecorder(
            self.env,
            base_path=os.path.join(self.video_folder, f"{self.name_prefix}-{number}"),
            metadata={"step_id": self.step_id, "episode_id": self.episode_id},
        )
        self.video_recorder.capture_frame()
        self.recorded_frames = 1
        self.recording = True

    def close_video_recorder(self) -> None:
        """Finish the video, if there is one."""
        recorder = self.__dict__.get("video_recorder")
        if self.__dict__.get("recording") and recorder is not None:
            recorder.close()
        self.recording = False
        self.recorded_frames = 1

    def _capture(self) -> bool:
        """Add a frame; return whether the video has its length."""
        assert self.video_recorder is not None
        self.video_recorder.capture_frame()
        self.recorded_frames += 1
        if 0 < self.video_length < self.recorded_frames:
            self.close_video_recorder()
            return True
        return False

    def _after_reset(self) -> None:
        if self.recording:
            self._capture()
        elif self._video_enabled():
            self.start_video_recorder()

    def _after_step(self, ended: bool) -> None:
        self.step_id += 1
        self.episode_id += ended
        if self.recording:
            if not self._capture() and ended and self.video_length <= 0:
                self.close_video_recorder()
        elif (not ended or self.step_trigger or self.restarts) and self._video_enabled():
            self.start_video_recorder()


class _VectorRecordVideo(_Recording, LegacyVectorWrapper):
    """`RecordVideo` of a batch: records its first lane."""

    restarts = True

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        video_folder: str,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            video_folder=video_folder,
            episode_trigger=episode_trigger,
            step_trigger=step_trigger,
            video_length=video_length,
            name_prefix=name_prefix,
        )
        LegacyVectorWrapper.__init__(self, env)
        self.is_vector_env = True
        self._prepare(video_folder, episode_trigger, step_trigger, video_length, name_prefix)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments; perhaps begin a video."""
        result = self.env.reset(seed=seed, options=options)
        self._after_reset()
        return result

    def step(
        self, actions: Any
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Step the environments, and record the first one's frame."""
        result = self.env.step(actions)
        self._after_step(bool(result[2][0] or result[3][0]))
        return result

    def close(self, **kwargs: Any) -> None:
        """Finish the video and close the environments."""
        self.close_video_recorder()
        super().close(**kwargs)


class RecordVideo(
    VectorTwin, _Recording, Forwarding, Wrapper[Any, Any, Any, Any], RecordConstructorArgs
):
    """Record videos of some episodes, or from some steps on (Gym 0.26).

    A video ends in the step that ends its episode, or after `video_length` further frames. Of a
    vector environment the first lane is recorded. `gymcore.wrappers.RecordVideo` is Gymnasium's,
    whose videos end with the next reset.

    Attributes:
        video_recorder: Writes the current video.
        recording: Whether there is one.
        recorded_frames: Its frames.
        step_id: Steps so far.
        episode_id: Episodes that have ended.
    """

    vector_twin = _VectorRecordVideo
    restarts = False

    def __init__(
        self,
        env: Env[Any, Any],
        video_folder: str,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
    ) -> None:
        """Wrap `env`.

        Args:
            env: An environment, or a vector environment, that renders pictures.
            video_folder: Where the videos go; made if it is not there.
            episode_trigger: Whether to record an episode, by its number; without either trigger
                `capped_cubic_video_schedule`.
            step_trigger: Whether to begin a video, by the number of steps.
            video_length: Frames after the first in a video; 0 for whole episodes.
            name_prefix: Of the files, followed by `-episode-N.mp4` or `-step-N.mp4`.

        Raises:
            ArgumentTypeError: if `video_length` is no integer.
            InvalidArgument: if it is negative.
            FailedCheck: (also an `AssertionError`) if both triggers are given.
        """
        RecordConstructorArgs.__init__(
            self,
            video_folder=video_folder,
            episode_trigger=episode_trigger,
            step_trigger=step_trigger,
            video_length=video_length,
            name_prefix=name_prefix,
        )
        Wrapper.__init__(self, env)
        self.is_vector_env = False
        self.terminated = False
        self.truncated = False
        self._prepare(video_folder, episode_trigger, step_trigger, video_length, name_prefix)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; perhaps begin a video."""
        result = self.env.reset(seed=seed, options=options)
        self.terminated = self.truncated = False
        self._after_reset()
        return result

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and record its frame."""
        result = self.env.step(action)
        if not (self.terminated or self.truncated):
            self.terminated, self.truncated = bool(result[2]), bool(result[3])
            self._after_step(self.terminated or self.truncated)
        return result

    def close(self) -> None:
        """Finish the video and close the environment."""
        self.close_video_recorder()
        super().close()
