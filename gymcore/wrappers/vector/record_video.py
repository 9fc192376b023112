"""RecordVideo for vector environments: films all lanes in one picture, or the first one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymcore import error, logger
from gymcore.core import ActType, ObsType
from gymcore.utils import RecordConstructorArgs
from gymcore.rendering.video_files import as_rgb
from gymcore.vector.vector_env import ArrayType, AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.rendering.tiling import Tiling, columns_for
from gymcore.wrappers.vector.lane_episodes import LaneEpisodes
from gymcore.wrappers.video_recording import VideoRecording, always

__all__ = ["RecordVideo"]


class RecordVideo(
    VideoRecording,
    VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType],
    RecordConstructorArgs,
):
    """Film a vector environment into mp4 or GIF files, all lanes side by side or the first alone.

    Episodes are those of the first lane. Everything else is as in `gymcore.wrappers.RecordVideo`:
    frames go to the encoder as they come, and files appear when they are whole.

    With same-step autoreset a video of an episode ends with the frame that the engine takes before
    it resets (`VectorEnv.keep_final_frames`); the other lanes show that frame only if their
    episodes end in the same step. Where an engine cannot do so, a warning says that the frame is
    missing, as it always is in Gymnasium. After a reset of some lanes (`options["reset_mask"]`) a
    new episode begins if the first lane is one of them; either way the batch is filmed.

    Attributes:
        frame_cols: Lanes in a row of the picture; -1 before the first frame.
        frame_rows: Rows; -1 before the first frame.
        autoreset_mode: Of the environment.
        has_autoreset: Whether the next step resets the first lane.
        render_history: For each lane, the frames that a render mode ending in "_list" has collected
            for `render`.

    For the other attributes see `gymcore.wrappers.video_recording.VideoRecording`.

    Example:
        >>> import gymcore
        >>> envs = gymcore.make_vec("CartPole-v1", num_envs=4, render_mode="rgb_array")
        >>> envs = RecordVideo(envs, "films", video_aspect_ratio=(16, 9))
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.frame_cols, envs.frame_rows
        (2, 2)
        >>> envs.close()
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        video_folder: str,
        video_aspect_ratio: tuple[int, int] = (1, 1),
        record_first_only: bool = False,
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
            env: A vector environment with a render mode that returns pictures.
            video_folder: Where the files go; made if it is not there.
            video_aspect_ratio: Width and height that the whole picture should have, up to a factor;
                it gets as near as whole frames allow. Gymnasium's ends up with one long row for
                five or seven lanes.
            record_first_only: Film the first lane alone.
            episode_trigger: Takes the number of an episode of the first lane and says whether to
                film it. Without either trigger, episodes 0, 1, 8, 27, ... k**3 and every
                thousandth are filmed.
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
            video_aspect_ratio=video_aspect_ratio,
            record_first_only=record_first_only,
            episode_trigger=episode_trigger,
            step_trigger=step_trigger,
            video_length=video_length,
            name_prefix=name_prefix,
            fps=fps,
            disable_logger=disable_logger,
            gc_trigger=gc_trigger,
            format=format,
        )
        VectorWrapper.__init__(self, env)
        try:
            across, down = (float(side) for side in video_aspect_ratio)
        except (TypeError, ValueError):
            across = down = 0.0
        if not (0 < across < float("inf") and 0 < down < float("inf")):
            raise error.InvalidArgument(
                "video_aspect_ratio: expected two positive numbers, width and height, got "
                f"{video_aspect_ratio!r}"
            )
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
        self._episodes = LaneEpisodes(env)
        self.autoreset_mode = self._episodes.mode
        # Whether last frames can be had, are being taken, and are wanted by a wrapper further out.
        self._can_keep = self._keeps = self._wanted = False
        if self._episodes.same_step:
            self._can_keep = self._try_to_keep()
            if not self._can_keep:
                logger.warn(
                    "Vector environment's autoreset mode is same-step. Recorded episodes will not "
                    "contain the last frame of the episode."
                )
        self.record_first_only = record_first_only
        self.video_aspect_ratio = video_aspect_ratio
        self.frame_cols = self.frame_rows = -1
        self._ratio = across / down
        self._tiling: Tiling | None = None
        self.render_history: list[list[Any]] = []

    @property
    def has_autoreset(self) -> bool:
        """Whether the next step resets the first lane."""
        return self.autoreset_mode is AutoresetMode.NEXT_STEP and bool(self._episodes.ended[0])

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environments, and film them if it is time to."""
        result = self.env.reset(seed=seed, options=options)
        if self._episodes.reset(options)[0]:
            self._episode_began()
        self._film()
        return result

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step the environments, and film them if it is time to."""
        self._keep_while_recording()
        try:
            result = self.env.step(actions)
        except BaseException:
            self._stop_after_error()
            raise
        _, _, terminations, truncations, infos = result
        begun, _ = self._episodes.step(np.asarray(terminations), np.asarray(truncations))
        if begun[0]:
            if self._keeps and self._films_an_episode:
                self._capture_frame(infos.get("final_info"))
            self._episode_began()
        self._step_made()
        self._film()
        return result

    def render(self) -> Any:
        """Render the environments; with a "_list" mode, add the frames that filming has taken."""
        frames: Any = self.env.render()
        if self.render_history and frames is not None:
            frames = tuple(
                taken + lane for taken, lane in zip(self.render_history, frames, strict=True)
            )
            self.render_history = []
        return frames

    def keep_final_frames(self, keep: bool = True) -> None:
        """Let the environment do so, also while nothing is filmed; see `VectorEnv`.

        Args:
            keep: Whether to do so from now on.
        """
        if not self._can_keep:
            self.env.keep_final_frames(keep)
        self._wanted = keep
        self._keep_while_recording()

    def _try_to_keep(self) -> bool:
        """Whether last frames can be had; rendering for them must not take frames from a list."""
        if str(self.env.render_mode).endswith("_list"):
            return False
        try:
            self.env.keep_final_frames(False)
        except error.UnsupportedMode:
            return False
        return True

    @property
    def _films_an_episode(self) -> bool:
        return self.recording and self.video_length == float("inf")

    def _keep_while_recording(self) -> None:
        keeps = self._can_keep and (self._wanted or self._films_an_episode)
        if keeps != self._keeps:
            self.env.keep_final_frames(keeps)
            self._keeps = keeps

    def _film(self) -> None:
        """Add the current picture to the video if there is one."""
        if self.recording:
            self._capture_frame()
            self._stop_if_long_enough()

    def _capture_frame(self, final_infos: dict[str, Any] | None = None) -> None:
        """Add the lanes' current frames to the video, as one picture; last frames where given."""
        rendered: Any = self.env.render()
        frames = list(rendered if rendered is not None else ())
        if final_infos and "final_frame" in final_infos:
            for lane in np.flatnonzero(final_infos["_final_frame"]).tolist():
                frames[lane] = final_infos["final_frame"][lane]
        if frames and all(isinstance(frame, list) for frame in frames):
            if not all(frames):  # somebody has rendered since the step
                return
            if not self.render_history:
                self.render_history = [[] for _ in frames]
            for taken, lane in zip(self.render_history, frames, strict=True):
                taken += lane
            frames = [lane[-1] for lane in frames]
        if self.record_first_only:
            frames = frames[:1]
        wrong = [frame for frame in frames if not isinstance(frame, np.ndarray)]
        if wrong or not frames:
            self.stop_recording()
            logger.warn(
                "Recording stopped: expected type of frame returned by render to be a numpy array, "
                f"got instead {type(wrong[0] if wrong else rendered)}."
            )
            return
        try:
            pixels = [as_rgb(frame) for frame in frames]
            shapes = {frame.shape[:2] for frame in pixels}
            if len(shapes) > 1:
                raise error.InvalidArgument(
                    f"lanes have frames of different sizes: {sorted(shapes)}"
                )
        except (error.InvalidArgument, error.ArgumentTypeError) as exc:
            self.stop_recording()
            logger.warn(f"Recording stopped: {exc}")
            return
        self._add_frame(self._tiled(pixels))

    def _tiled(self, frames: list[Any]) -> Any:
        """Return the frames side by side."""
        height, width = frames[0].shape[:2]
        if self._tiling is None or (self._tiling.height, self._tiling.width) != (height, width):
            columns = columns_for(len(frames), height, width, self._ratio)
            self._tiling = Tiling(len(frames), height, width, columns)
            self.frame_cols, self.frame_rows = self._tiling.columns, self._tiling.rows
        return frames[0] if len(frames) == 1 else self._tiling(frames)

    def close(self, **kwargs: Any) -> None:
        """Finish the video and close the environments.

        Args:
            **kwargs: For the wrapped environment's `close`.
        """
        try:
            super().close(**kwargs)
        finally:
            if self.recording:
                self.stop_recording()
