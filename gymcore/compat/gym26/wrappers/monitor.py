"""`Monitor` of Gym 0.21: videos and statistics of a training run in one folder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.compat.gym26.wrappers.record_video import capped_cubic_video_schedule
from gymcore.compat.gym26.wrappers.video_recorder import VideoRecorder
from gymcore.core import Env, Wrapper
from gymcore.utils import RecordConstructorArgs

__all__ = ["Monitor"]

FILE_PREFIX = "openaigym"


class Monitor(Forwarding, Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Write videos of some episodes, and the returns and lengths of all, into a folder (Gym 0.21).

    Steps may have four values or five; what comes from the environment is handed on as it is.

    Files are `openaigym.video.N.PID.videoNNNNNN.mp4` (with `.meta.json` beside it) and
    `openaigym.episode_batch.N.PID.stats.json`, which `close` writes if there were episodes. Gym's
    manifest file, which uploads to a website needed, is not written.

    Example:
        >>> import gymcore as gym
        >>> env = Monitor(gym.make("CartPole-v1"), "run", video_callable=False)
        >>> observation, info = env.reset(seed=1)
        >>> result = env.step(0)
        >>> env.close()
        >>> env.get_episode_lengths(), env.get_total_steps()
        ([1], 1)
    """

    def __init__(
        self,
        env: Env[Any, Any],
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
            env: The environment; for videos one that renders pictures.
            directory: The folder, made if it is not there.
            video_callable: Whether to record an episode, by its number; None for
                `capped_cubic_video_schedule`, False for no videos.
            force: Remove the files of an earlier run.
            resume: Keep the files of an earlier run.
            write_upon_reset: Write the statistics at every reset too.
            uid: Part of file names, in place of the process id.
            mode: "evaluation" or "training", noted in the statistics.

        Raises:
            Error: if there are files of an earlier run, and neither `force` nor `resume`.
            InvalidArgument: for another mode.
            ArgumentTypeError: if `video_callable` is no function.
        """
        RecordConstructorArgs.__init__(
            self,
            directory=directory,
            video_callable=video_callable,
            force=force,
            resume=resume,
            write_upon_reset=write_upon_reset,
            uid=uid,
            mode=mode,
        )
        Wrapper.__init__(self, env)
        if mode not in (None, "evaluation", "training"):
            raise error.InvalidArgument(
                f"mode: expected 'evaluation', 'training' or None, got {mode!r}"
            )
        if video_callable is None:
            video_callable = capped_cubic_video_schedule
        elif video_callable is False:
            video_callable = _never
        elif not callable(video_callable):
            raise error.ArgumentTypeError(
                f"video_callable: expected a function, None or False, got {video_callable!r}"
            )
        self.directory = os.path.abspath(directory)
        self.video_callable = video_callable
        self.write_upon_reset = write_upon_reset
        self._mode = mode or "training"
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
        first = len(old) if resume else 0
        self.file_infix = f"{first}.{uid or os.getpid()}"
        self.videos: list[tuple[str, str]] = []
        self.video_recorder: VideoRecorder | None = None
        self.episode_id = 0
        self._started = time.time()
        self._reward = 0.0
        self._steps: int | None = None  # of the current episode
        self._lengths: list[int] = []
        self._rewards: list[float] = []
        self._timestamps: list[float] = []
        self._types: list[str] = []

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment, and begin a video if it is time for one."""
        self._end_episode()
        result = self.env.reset(**kwargs)
        self._steps, self._reward = 0, 0.0
        if self.write_upon_reset:
            self._write()
        if self.video_callable(self.episode_id):
            name = f"{FILE_PREFIX}.video.{self.file_infix}.video{self.episode_id:06}"
            self.video_recorder = VideoRecorder(
                self.env,
                base_path=os.path.join(self.directory, name),
                metadata={"episode_id": self.episode_id},
            )
            self.videos.append((self.video_recorder.path, self.video_recorder.metadata_path))
            self.video_recorder.capture_frame()
        return result

    def step(self, action: Any) -> Any:
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
        if "_lengths" in self.__dict__:
            self._end_episode()
            if self._lengths:
                self._write()
        super().close()

    def get_total_steps(self) -> int:
        """Return the number of steps so far."""
        return sum(self._lengths) + (self._steps or 0)

    def get_episode_rewards(self) -> list[float]:
        """Return the returns of the episodes so far."""
        return list(self._rewards)

    def get_episode_lengths(self) -> list[int]:
        """Return the lengths of the episodes so far."""
        return list(self._lengths)

    def _end_episode(self) -> None:
        """Note an episode that has ended, or that is broken off."""
        if self.video_recorder is not None:
            self.video_recorder.close()
            self.video_recorder = None
        if not self._steps:
            self._steps = None
            return
        self._lengths.append(self._steps)
        self._rewards.append(self._reward)
        self._timestamps.append(time.time())
        self._types.append(self._mode[0])
        self._steps = None
        self.episode_id += 1

    def _write(self) -> None:
        """Write the statistics."""
        content = {
            "initial_reset_timestamp": self._started,
            "timestamps": self._timestamps,
            "episode_lengths": self._lengths,
            "episode_rewards": self._rewards,
            "episode_types": self._types,
        }
        name = f"{FILE_PREFIX}.episode_batch.{self.file_infix}.stats.json"
        Path(self.directory, name).write_text(json.dumps(content))


def _never(episode_id: int) -> bool:
    """Record nothing."""
    return False
