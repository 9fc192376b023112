"""`VideoRecorder` of Gym 0.26, which writes one video file."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from gymcore import error, logger
from gymcore.compat.done_api import DoneEnv
from gymcore.rendering.video_files import VideoWriter
from gymcore.vector import VectorEnv

__all__ = ["VideoRecorder"]


class VideoRecorder:
    """Writes what an environment renders to an mp4 file, a frame for each `capture_frame`.

    Beside the video there is a JSON file with `metadata`. Frames are encoded while they come.

    Attributes:
        env: The environment.
        path: Of the video.
        metadata: What goes into the JSON file.
        metadata_path: Of the JSON file.
        enabled: Whether this records.
        frames_per_sec: From `env.metadata["render_fps"]`, else 30.
        broken: Whether there was no frame when one was to be captured.
    """

    def __init__(
        self,
        env: Any,
        path: str | None = None,
        metadata: dict[str, Any] | None = None,
        enabled: bool = True,
        base_path: str | None = None,
    ) -> None:
        """Prepare a file.

        Args:
            env: An environment with a render mode that returns pictures; of a vector environment
                the first lane is recorded.
            path: Of the video; its suffix has to be .mp4 (or .gif).
            metadata: What to write beside it.
            enabled: Whether to record; otherwise nothing happens.
            base_path: The path without the suffix.

        Raises:
            Error: if both paths are given, or `path` has another suffix.
        """
        self.env = env
        self.enabled = enabled
        self.broken = False
        self._writer: VideoWriter | None = None
        # With the interface of Gym 0.21 a picture has to be asked for.
        self._mode = {"mode": "rgb_array"} if isinstance(env, DoneEnv) else {}
        if not enabled:
            return
        if path is not None and base_path is not None:
            raise error.Error("You can pass at most one of `path` or `base_path`.")
        if path is None:
            if base_path is None:
                handle, path = tempfile.mkstemp(suffix=".mp4")
                os.close(handle)
            else:
                path = f"{base_path}.mp4"
        self.path = str(path)
        base, suffix = os.path.splitext(self.path)
        if suffix not in (".mp4", ".gif"):
            raise error.Error(f"path: expected a name that ends in .mp4, got {self.path!r}")
        self.frames_per_sec = env.metadata.get("render_fps", 30)
        self.output_frames_per_sec = env.metadata.get("render_fps", self.frames_per_sec)
        self.metadata = {**(metadata or {}), "content_type": f"video/{suffix[1:]}"}
        self.metadata_path = f"{base}.meta.json"
        self._write_metadata()
        self._writer = VideoWriter(self.path, self.output_frames_per_sec)

    @property
    def functional(self) -> bool:
        """Whether frames are recorded."""
        return self.enabled and not self.broken

    def capture_frame(self) -> None:
        """Render the environment and write the frame.

        Raises:
            ClosedEnvironmentError: after `close`.
        """
        if not self.functional:
            return
        if self._writer is None:
            raise error.ClosedEnvironmentError(f"the video {self.path} is finished")
        frame = self.env.render(**self._mode)
        if isinstance(self.env, VectorEnv) and isinstance(frame, tuple) and frame:
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
        self._writer.write(frame)

    def close(self) -> None:
        """Finish the file; again does nothing."""
        if not self.enabled or self._writer is None:
            return
        writer, self._writer = self._writer, None
        writer.close()
        if not writer.frames:
            self.metadata["empty"] = True
        if self.broken:
            self.metadata["broken"] = True
        self._write_metadata()

    def _write_metadata(self) -> None:
        Path(self.metadata_path).write_text(json.dumps(self.metadata))
